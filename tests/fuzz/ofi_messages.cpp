// What a peer says over ofi: where its endpoints are, over TCP, and messages with the token that it was given, in their
// order, early, twice or damaged. The transport is a real one over the fake libfabric, made anew for each input; the
// peer knows the secret, does the next right thing or anything else, and meanwhile this side sends, puts, gets and
// flushes, and calls of the library fail.
//
// As in verbs_messages, the calls go over real TCP: something found may take some runs to show again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "machine/ofi/transport.h"
#include "machine/tcp/meeting.h"
#include "machine/ucx-like/range_key.h"
#include "machine/ucx-like/transport_base.h"
#include "tests/fuzz/careless.h"
#include "tests/fuzz/fuzz.h"
#include "tests/ofi/fake_fabric.h"

namespace periapt::fuzz {
namespace {

using ofi::Here;
using ofi::Prefix;
using ucx::Accepted;

const fake_fabric::InPlace in_place;
fake_fabric::Faults& faults() { return fake_fabric::faults(); }

constexpr std::size_t kMemory = 20000;
constexpr ucx::PeerId kOwn = 1000;

/// The other worker, written out: its endpoints, and what it has heard.
class Peer final : private tcp::Meeting::Guest {
 public:
  Peer(const ofi::Choice& choice, const ucx::OpenRequest& request, ucx::Transport& other)
      : domain(ofi::library().value(), choice), memory(kMemory), link(other, request.self) {
    expect(domain.open().ok() && meeting.open(request).ok(), "the peer opens");
    if (!choice.provider.memory) return;
    region.reset(*domain.register_memory(memory.data(), memory.size()));
    ucx::RangeKey range{reinterpret_cast<std::uint64_t>(memory.data()), memory.size(), ::fi_mr_key(region.get())};
    key = ucx::pack(range);
  }

  std::vector<std::byte> address(const std::vector<std::byte>& like) const {
    std::vector<std::byte> bytes(like.begin(), like.begin() + sizeof(ofi::Address));
    const std::vector<std::byte> met = meeting.address();
    bytes.insert(bytes.end(), met.begin(), met.end());
    return bytes;
  }
  void connect(Bytes to) {
    ucx::Link* link = *meeting.connect(kOwn, to.subspan(sizeof(ofi::Address)));
    if (link->user == nullptr) tcp::Meeting::take_seat(seat, *link, this);
  }
  Here here() const {
    Here call;
    call.messages_bytes = static_cast<std::uint16_t>(domain.messages_name().size());
    call.memory_bytes = static_cast<std::uint16_t>(domain.memory_name().size());
    call.token = 77;
    return call;
  }
  std::vector<std::byte> names() const {
    std::vector<std::byte> both = domain.messages_name();
    both.insert(both.end(), domain.memory_name().begin(), domain.memory_name().end());
    return both;
  }
  void tell(std::vector<std::byte> head, std::vector<std::byte> rest) {
    head.resize(std::min(head.size(), ucx::kHeaderBytes));
    if (seat.link != nullptr) seat.calls.push_back({std::move(head), std::move(rest)});
  }
  /// The next right message.
  Prefix next(Prefix::Kind kind) {
    Prefix prefix;
    prefix.token = theirs.token;
    prefix.number = sent;
    prefix.kind = kind;
    return prefix;
  }
  void post(Bytes message) {
    std::uint32_t slot = 0;
    if (to == FI_ADDR_UNSPEC || message.size() > ofi::kSlotBytes || !domain.take_slot(0, &slot)) return;
    if (!message.empty()) std::memcpy(domain.slot(slot), message.data(), message.size());
    if (domain.send(to, slot, message.size(), link, ofi::Request::Kind::send) != 0) domain.give_slot(slot);
  }
  /// Says where it is, once; answers what it was asked.
  void step() {
    if (!std::exchange(told, true)) return tell(ucx::packed(here()), names());
    if (question == 0) return;
    std::vector<std::byte> whole = ucx::packed(next(Prefix::Kind::flushed));
    const std::vector<std::byte> number = ucx::packed(std::exchange(question, 0));
    whole.insert(whole.end(), number.begin(), number.end());
    post(whole);
    ++sent;
  }
  void look() {
    meeting.look(true);
    const auto take = [this](ofi::Request& request, std::size_t bytes) {
      if (request.kind != ofi::Request::Kind::receive) return domain.give_slot(request.slot);
      take_message({domain.slot(request.slot), std::min(bytes, ofi::kSlotBytes)});
      domain.give_receive(request.slot);
    };
    const auto fail = [this](ofi::Request* request, int, const std::string&) {
      if (request == nullptr) return;
      request->kind == ofi::Request::Kind::receive ? domain.give_receive(request->slot)
                                                   : domain.give_slot(request->slot);
    };
    while (domain.look(take, fail) > 0) continue;
    static_cast<void>(domain.post_receives());
    if (seat.link != nullptr) meeting.say_all(seat);
  }

  ofi::Domain domain;
  tcp::Meeting meeting{*this};
  tcp::Seat seat;
  std::vector<std::byte> memory;
  ofi::Held<fid_mr> region;
  std::vector<std::byte> key;
  ofi::OfiLink link;  ///< of what it sends; nothing else is told of it
  Here theirs;
  fi_addr_t to = FI_ADDR_UNSPEC;
  std::uint32_t sent = 0, question = 0;
  bool told = false;

 private:
  void take_call(ucx::Link& from, ucx::Header head, Bytes rest) override {
    if (seat.link == nullptr) tcp::Meeting::take_seat(seat, from, this);
    expect(ucx::unpack(head, &theirs) && theirs.magic == ofi::kMagic, "calls are whole");
    expect(rest.size() == std::size_t{theirs.messages_bytes} + theirs.memory_bytes, "names are whole");
    to = *domain.address_of(rest.first(theirs.messages_bytes));
  }
  void left(void*, const std::string& reason) override {
    expect(!reason.empty(), "a loss has a reason");
    seat.link = nullptr;
    seat.calls.clear();
    // The next one has a token of its own.
    to = FI_ADDR_UNSPEC;
    sent = question = 0;
    told = false;
  }
  void take_message(Bytes message) {
    Prefix prefix;
    if (message.size() < sizeof prefix) return;
    std::memcpy(&prefix, message.data(), sizeof prefix);
    if (prefix.kind == Prefix::Kind::flush) ucx::unpack(message.subspan(sizeof prefix), &question);
  }
};

class Scene {
 public:
  explicit Scene(Input now) : input_(now) {
    faults() = {};
    faults().registers_all = input_.flag();
    faults().without_memory = input_.below(8) == 7;
    faults().late_one_in = input_.below(4) == 3 ? 3 : 0;
    ucx::OpenRequest request = request_of(kOwn);
    request.receiver = &receiver_;
    const std::vector<ofi::Choice> choices = ofi::choices_for(request);
    expect(choices.size() == 1 && choices.front().device.usable, "the provider is there");
    ucx::OpenRequest theirs = request_of(peer_id_ = kOwn + (input_.flag() ? 1 : -1));
    own_ = std::move(*ofi::factory.open(choices.front().device, request));
    peer_ = std::make_unique<Peer>(choices.front(), theirs, *own_);
    handle_ = *own_->register_memory(memory_.data(), memory_.size(), ucx::MemoryKind::host);
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  void run() {
    for (int acts = 0; input_.more() && acts < 600; ++acts) {
      act();
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
    request.option = [](const std::string& name) {
      return std::string(name == "+net-devices" ? "127.0.0.1" : name == "+ofi-provider" ? "fake" : "");
    };
    return request;
  }
  void progress() {
    own_->progress();
    peer_->look();
  }
  // Calls over TCP are looked for now and then.
  void see_the_news() {
    for (int looks = 0; looks < 65; ++looks) progress();
  }

  void act() {
    switch (input_.below(12)) {
      case 0:
        return peer_->connect(own_->address());
      case 1: {
        const Result<ucx::Link*> link = own_->connect(peer_id_, peer_->address(own_->address()));
        if (link) receiver_.know(**link);
        return;
      }
      case 2: {
        Here call = peer_->here();
        if (input_.flag()) (input_.flag() ? call.messages_bytes : call.memory_bytes) = input_.number<std::uint16_t>();
        std::vector<std::byte> head = ucx::packed(call), names = peer_->names();
        if (input_.below(4) == 3) input_.damage(head);
        if (input_.flag()) input_.damage(names);
        peer_->told = true;
        return peer_->tell(std::move(head), std::move(names));
      }
      case 3:
      case 4:
        return peer_->post(message());
      case 5:
      case 6:
        return operate();
      case 7:
        return happen();
      case 8:
      case 9:
        return see_the_news();
      default:
        return peer_->step();
    }
  }

  // In its turn, or not; whole, or not.
  std::vector<std::byte> message() {
    Prefix prefix = peer_->next(static_cast<Prefix::Kind>(input_.below(5)));
    const std::size_t turn = input_.below(8);
    if (turn < 4) {
      ++peer_->sent;
    } else if (turn < 6) {
      prefix.number += static_cast<std::uint32_t>(input_.below(6)) - 2;
    } else if (turn == 6) {
      prefix.number = input_.number<std::uint32_t>();
    } else {
      prefix.token = input_.number<std::uint64_t>();
    }
    const bool is_message = prefix.kind == Prefix::Kind::message;
    std::vector<std::byte> rest(is_message ? input_.below(ofi::kPayloadMax + 64) : 4, std::byte{3});
    if (!is_message) rest[0] = input_.number<std::byte>();
    prefix.header_bytes = static_cast<std::uint8_t>(input_.below(70));
    std::vector<std::byte> whole = ucx::packed(prefix);
    whole.insert(whole.end(), rest.begin(), rest.end());
    if (input_.below(8) == 7) input_.damage(whole);
    return whole;
  }

  void operate() {
    if (receiver_.links.empty()) return;
    ucx::Link& link = *receiver_.links[input_.below(receiver_.links.size())];
    switch (input_.below(6)) {
      case 0: {
        const std::vector<std::byte> payload(input_.flag() ? input_.below(100) : input_.below(ofi::kPayloadMax));
        for (std::size_t count = 1 + input_.below(40); count > 0; --count)
          if (own_->send_inline(link, Bytes(memory_).first(16), payload) != Accepted::done) return;
        return;
      }
      case 1:
        return took(own_->flush(link, ended_.emplace_back()));
      case 2:
        static_cast<void>(own_->handed_over(link));
        return;
      case 3:
        return receiver_.close(link);
      default: {
        std::vector<std::byte> packed = peer_->key;
        if (input_.flag()) input_.damage(packed);
        Result<ucx::RemoteKey> key = own_->unpack_key(link, packed);
        if (!key || own_->device().can.max_put == 0) return;
        const std::uint64_t remote = reinterpret_cast<std::uint64_t>(peer_->memory.data()) + input_.below(kMemory + 2);
        const std::size_t size = input_.below(9000);
        Ended& one = ended_.emplace_back();
        took(input_.flag() ? own_->put(link, Bytes(memory_).first(size), &handle_, remote, *key, one)
                           : own_->get(link, std::span(memory_).first(size), &handle_, remote, *key, one));
        own_->release_key(*key);
      }
    }
  }
  void took(Accepted answer) { ended_.back().taken = answer == Accepted::pending; }

  // Calls of either side fail, the next ones.
  void happen() {
    constexpr int kErrors[] = {FI_EAGAIN, FI_EIO, FI_ECONNRESET, FI_ENOTCONN, FI_EACCES, FI_ENOMEM};
    const int error = kErrors[input_.below(std::size(kErrors))];
    switch (input_.below(8)) {
      case 0:
        return faults().next_sends.push_back(error == FI_EAGAIN ? 0 : error);
      case 1:
        return faults().next_operations.push_back(error == FI_EAGAIN ? 0 : error);
      case 2:
        faults().nameless = !faults().nameless;
        return;
      case 3:
        return peer_->meeting.leave(peer_->seat);
      default: {
        constexpr const char* kCalls[] = {"fi_send",     "fi_inject",  "fi_recv",
                                          "fi_writemsg", "fi_readmsg", "fi_cq_readerr"};
        faults().fails[kCalls[input_.below(std::size(kCalls))]] = {0, error, 0, 1};
      }
    }
  }

  // The peer goes: all that was begun ends, and each link is lost. Then the transport goes.
  void end() {
    faults().fails.clear();
    faults().next_sends.clear();
    faults().next_operations.clear();
    peer_->region.reset();
    peer_.reset();
    const auto have_ended = [&] {
      return std::all_of(ended_.begin(), ended_.end(), [](const Ended& one) { return one.told == one.taken; });
    };
    for (int rounds = 0; rounds < 3000 && !(receiver_.links.empty() && have_ended()); ++rounds) own_->progress();
    expect(receiver_.links.empty(), "each link is lost");
    expect(have_ended(), "what was taken has ended");
    own_->deregister_memory(handle_);
    own_.reset();
    expect(fake_fabric::alive() == 0, "all that was opened is closed");
  }

  Input input_;
  std::string secret_ = "s";
  ucx::PeerId peer_id_ = 0;
  std::vector<std::byte> memory_ = std::vector<std::byte>(kMemory);
  std::deque<Ended> ended_;  ///< or will end: each has a place of its own
  Careless receiver_{input_};
  ucx::MemoryHandle handle_;
  std::unique_ptr<ucx::Transport> own_;
  std::unique_ptr<Peer> peer_;
};

}  // namespace

void target(Input input) {
  Scene scene(input);
  scene.run();
}

}  // namespace periapt::fuzz
