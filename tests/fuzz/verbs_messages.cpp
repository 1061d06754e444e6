// What a peer says over verbs: calls over TCP, slots and batches over queue pairs, datagrams, the way around a broken
// queue pair and back, keys of memory. The transport is a real one with two rails over the fake libibverbs, made anew
// for each input; the peer knows the secret, does the next right thing or anything else, and meanwhile this side sends,
// puts, gets and flushes, and its adapters go and come back.
//
// Unlike other targets it does not do quite the same for the same bytes: the calls go over real TCP, and what takes
// time goes by the real clock. What is in the corpus does what its name says in ten of ten runs; something found may
// take some runs to show again.
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "machine/verbs/transport.h"
#include "tests/fuzz/careless.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/verbs_peer.h"
#include "tests/verbs/fake_verbs.h"

/// For soft RoCE the transport gives its core up to the kernel's threads. There are none here, and on busy cores each
/// time would cost some milliseconds.
extern "C" int sched_yield() noexcept { return 0; }

namespace periapt::fuzz {
namespace {

using ucx::Accepted;

const fake_verbs::InPlace in_place;

constexpr std::size_t kRails = 2;
constexpr std::size_t kMemory = 20000;

class Scene {
 public:
  explicit Scene(Input now) : input_(now) {
    fake_verbs::faults() = {};
    fake_verbs::faults().devices = kRails;
    fake_verbs::faults().timeout_ms = 1;
    fake_verbs::faults().soft_roce = input_.below(8) == 7;
    datagrams_ = input_.flag();
    patient_ = input_.flag();
    rests_ = input_.below(8) == 7 ? 2 : 0;
    ucx::OpenRequest request = request_of(VerbsPeer::kOther);
    request.receiver = &receiver_;
    const std::vector<verbs::Choice> choices = verbs::choices_for(request);
    expect(choices.size() == kRails, "both adapters are there");
    ucx::OpenRequest theirs = request_of(VerbsPeer::kOther + (input_.flag() ? 1 : -1));
    for (const verbs::Choice& choice : choices) {
      own_.push_back(std::move(*verbs::factory.open(choice.device, request)));
      peer_.push_back(std::make_unique<VerbsPeer>(choice, theirs));
      handles_.push_back(*own_.back()->register_memory(memory_.data(), memory_.size(), ucx::MemoryKind::host));
    }
    peer_id_ = theirs.self;
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  void run() {
    for (int acts = 0; input_.more() && acts < 600; ++acts) {
      act(input_.below(kRails));
      progress();
    }
    end();
  }

 private:
  ucx::OpenRequest request_of(ucx::PeerId self) {
    ucx::OpenRequest request;
    request.self = self;
    request.secret = std::as_bytes(std::span(secret_));
    request.host = "here";
    request.option = [this](const std::string& name) {
      if (name == "+net-devices") return std::string("127.0.0.1");
      if (name == "+verbs-datagrams-from") return std::string(datagrams_ ? "0" : "");
      if (name == "+verbs-connect-after") return std::string("9");
      if (name == "+verbs-return-after") return std::string("0");
      if (name == "+verbs-patience") return std::string(patient_ ? "" : "0");
      return std::string();
    };
    return request;
  }

  void progress() {
    for (auto& transport : own_) transport->progress();
    for (auto& peer : peer_) peer->look();
  }

  // Calls over TCP and an adapter's own news are looked for now and then.
  void see_the_news() {
    for (int looks = 0; looks < 65; ++looks)
      for (auto& transport : own_) transport->progress();
  }

  void act(std::size_t rail) {
    VerbsPeer& peer = *peer_[rail];
    switch (input_.below(16)) {
      case 0:
        return peer.connect(own_[rail]->address());
      case 1: {
        const Result<ucx::Link*> link = own_[rail]->connect(peer_id_, peer.address());
        if (link) receiver_.know(**link);
        return;
      }
      case 2:
        return call(peer);
      case 3:
        return peer.post(input_.flag() ? peer.messages.get() : peer.next.get(), message());
      case 4: {
        verbs::Datagram head = peer.datagram(static_cast<std::uint32_t>(input_.below(3)));
        if (input_.flag()) head.received = input_.number<std::uint32_t>();
        std::vector<std::byte> packed = ucx::packed(head);
        input_.damage(packed);
        if (packed.size() == sizeof head) ucx::unpack(packed, &head);
        return peer.post_datagram(head, message());
      }
      case 5:
      case 6:
        return operate(rail);
      case 7:
        happen(rail, peer);
        return see_the_news();
      case 8:
        if (own_[rail]->arm()) own_[rail]->disarm();
        return;
      case 9:
      case 10:
        return see_the_news();
      default:
        return peer.step();
    }
  }

  // ---- what the peer says

  std::vector<std::byte> message() {
    Prefix prefix;
    prefix.kind = static_cast<Prefix::Kind>(input_.below(9));
    std::vector<std::byte> header(input_.below(48), std::byte{1});
    std::vector<std::byte> payload(input_.flag() ? input_.below(80) : input_.below(verbs::kPayloadMax + 200));
    if (prefix.kind == Prefix::Kind::beside) header = ucx::packed(some_call()), payload = rest();
    if (prefix.kind == Prefix::Kind::batch) {
      header.clear();
      payload.clear();
      for (std::size_t count = input_.below(6); count > 0; --count) {
        const std::size_t head = input_.below(20), bytes = input_.below(600);
        Prefix one;
        one.header_bytes = static_cast<std::uint8_t>(head);
        one.number = static_cast<std::uint32_t>(bytes);
        const std::vector<std::byte> packed = ucx::packed(one);
        payload.insert(payload.end(), packed.begin(), packed.end());
        payload.resize(payload.size() + (head + bytes + 7) / 8 * 8, std::byte{2});
      }
    }
    prefix.header_bytes = static_cast<std::uint8_t>(header.size());
    prefix.number = input_.flag() ? static_cast<std::uint32_t>(input_.below(4)) : input_.number<std::uint32_t>();
    std::vector<std::byte> whole = ucx::packed(prefix);
    whole.insert(whole.end(), header.begin(), header.end());
    whole.insert(whole.end(), payload.begin(), payload.end());
    if (input_.below(4) == 3) input_.damage(whole);
    return whole;
  }
  Call some_call() {
    VerbsPeer& peer = *peer_[input_.below(kRails)];
    Call call = peer.call_of(static_cast<Call::Kind>(input_.below(static_cast<std::size_t>(Call::kLastKind) + 1)),
                             static_cast<Queue>(input_.below(16) == 15 ? 2 : input_.below(2)));
    switch (input_.below(6)) {
      case 0:
        call.generation += static_cast<std::uint32_t>(input_.below(3));
        break;
      case 1:
        call.generation = input_.number<std::uint32_t>();
        break;
      case 2:
        call.received = input_.number<std::uint16_t>();
        break;
      case 3:
        call.first_packet = static_cast<std::uint32_t>(input_.below(4));
        break;
      default:
        break;
    }
    return call;
  }
  // Behind a call: a piece of a put or get, near the memory or far from it, with its bytes; or a seat of datagrams.
  std::vector<std::byte> rest() {
    if (input_.below(8) == 7) return ucx::packed(verbs::DatagramSeat{7, 77, 99});
    DetourHeader piece;
    piece.remote = reinterpret_cast<std::uint64_t>(memory_.data()) + input_.below(kMemory + 2);
    if (input_.below(4) == 3) piece.remote = input_.number<std::uint64_t>();
    piece.bytes = input_.flag() ? input_.below(kMemory) : input_.number<std::uint64_t>();
    const ucx::MemoryHandle& handle = handles_[input_.below(handles_.size())];
    piece.key = input_.below(4) == 3 ? input_.number<std::uint32_t>() : static_cast<std::uint32_t>(handle.id);
    piece.outcome = static_cast<std::uint32_t>(input_.below(10));
    std::vector<std::byte> bytes = ucx::packed(piece);
    bytes.resize(bytes.size() + (input_.flag() ? input_.below(64) : input_.below(kMemory)), std::byte{3});
    if (input_.below(4) == 3) input_.damage(bytes);
    return bytes;
  }
  void call(VerbsPeer& peer) {
    const Call call = some_call();
    std::vector<std::byte> head = ucx::packed(call);
    if (input_.below(8) == 7) input_.damage(head);
    const bool carries = call.kind == Call::Kind::carried;
    peer.tell(std::move(head), carries                           ? message()
                               : call.kind < Call::Kind::carried ? std::vector<std::byte>()
                                                                 : rest());
  }

  // ---- what this side does

  void operate(std::size_t rail) {
    if (receiver_.links.empty()) return;
    ucx::Link& link = *receiver_.links[input_.below(receiver_.links.size())];
    ucx::Transport& transport = link.transport();
    std::size_t at = 0;
    while (own_[at].get() != &transport) ++at;
    switch (input_.below(6)) {
      case 0: {
        const std::vector<std::byte> payload(input_.flag() ? input_.below(100) : input_.below(verbs::kPayloadMax));
        for (std::size_t count = 1 + input_.below(40); count > 0; --count)
          if (transport.send_inline(link, Bytes(memory_).first(16), payload) != Accepted::done) return;
        return;
      }
      case 1:
        return took(transport.flush(link, next()));
      case 2:
        static_cast<void>(transport.handed_over(link));
        static_cast<void>(transport.describe(link));
        return;
      case 3:
        return receiver_.close(link);
      default: {
        std::vector<std::byte> packed = own_[rail]->pack_key(handles_[rail]);
        input_.damage(packed);
        Result<ucx::RemoteKey> key = transport.unpack_key(link, packed);
        if (!key) return;
        const std::uint64_t remote = reinterpret_cast<std::uint64_t>(memory_.data()) + input_.below(kMemory + 2);
        const std::size_t size = input_.below(9000);
        if (input_.flag()) {
          took(transport.put(link, Bytes(memory_).first(size), &handles_[at], remote, *key, next()));
        } else {
          took(transport.get(link, std::span(into_).first(size), &into_handle(at), remote, *key, next()));
        }
        transport.release_key(*key);
      }
    }
  }
  ucx::MemoryHandle& into_handle(std::size_t rail) {
    while (into_handles_.size() <= rail) {
      auto& transport = *own_[into_handles_.size()];
      into_handles_.push_back(*transport.register_memory(into_.data(), into_.size(), ucx::MemoryKind::host));
    }
    return into_handles_[rail];
  }
  Ended& next() { return ended_.emplace_back(); }
  void took(Accepted answer) { ended_.back().taken = answer == Accepted::pending; }

  void happen(std::size_t rail, VerbsPeer& peer) {
    auto& faults = fake_verbs::faults();
    const int device = static_cast<int>(rail);
    switch (input_.below(8)) {
      case 0:
        faults.ports_down |= 1u << rail, faults.ports_inactive |= 1u << rail;
        return fake_verbs::raise(IBV_EVENT_PORT_ERR, device);
      case 1:
        faults.ports_down &= ~(1u << rail), faults.ports_inactive &= ~(1u << rail);
        return fake_verbs::raise(IBV_EVENT_PORT_ACTIVE, device);
      case 2:
        return fake_verbs::raise(IBV_EVENT_DEVICE_FATAL, device);
      case 3:
        return peer.give_up(peer.messages);
      case 4:
        return peer.give_up(peer.memory);
      case 5:
        faults.next_sends = {IBV_WC_RETRY_EXC_ERR};
        return;
      case 6:
        if (rests_-- > 0) ::usleep(21'000);  // what goes around looks for its way back so often
        return;
      default:
        return peer.meeting.leave(peer.seat);
    }
  }

  // The peer goes: all that was begun ends, and each link is lost. Then the transports go.
  void end() {
    fake_verbs::faults().next_sends.clear();
    peer_.clear();
    const auto have_ended = [&] {
      return std::all_of(ended_.begin(), ended_.end(), [](const Ended& one) { return one.told == one.taken; });
    };
    for (int rounds = 0; rounds < 3000 && !(receiver_.links.empty() && have_ended()); ++rounds) progress();
    expect(receiver_.links.empty(), "each link is lost");
    expect(have_ended(), "what was taken has ended");
    for (auto* handles : {&handles_, &into_handles_})
      for (std::size_t i = 0; i < handles->size(); ++i) own_[i]->deregister_memory((*handles)[i]);
    own_.clear();
  }

  Input input_;
  std::string secret_ = "s";
  bool datagrams_ = false, patient_ = false;
  int rests_ = 0;
  ucx::PeerId peer_id_ = 0;
  std::vector<std::byte> memory_ = std::vector<std::byte>(kMemory), into_ = std::vector<std::byte>(kMemory);
  std::deque<Ended> ended_;  ///< or will end: each has a place of its own
  Careless receiver_{input_};
  std::vector<ucx::MemoryHandle> handles_, into_handles_;
  std::vector<std::unique_ptr<ucx::Transport>> own_;
  std::vector<std::unique_ptr<VerbsPeer>> peer_;
};

}  // namespace

void target(Input input) {
  Scene scene(input);
  scene.run();
}

}  // namespace periapt::fuzz
