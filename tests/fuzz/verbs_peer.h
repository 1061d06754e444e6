// A peer of the verbs transport that says what it is told to: two workers' rails with the fake libibverbs, of which
// this side is written out here, step by step. It can do the next right thing, so that few bytes of an input lead far
// into the protocol, and anything else.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "machine/tcp/meeting.h"
#include "machine/ucx-like/transport_base.h"
#include "machine/verbs/queue_pair.h"
#include "tests/fuzz/fuzz.h"
#include "tests/verbs/fake_verbs.h"

namespace periapt::fuzz {

using verbs::Call;
using verbs::Prefix;
using verbs::Queue;
using verbs::QueuePair;

/// As detour.cpp has it in front of the bytes of puts and gets that go around.
struct DetourHeader {
  std::uint64_t remote = 0, bytes = 0;
  std::uint32_t key = 0, outcome = 0;
};

/// One rail of the peer. What the other side has said, as far as an answer needs it, and what this side has.
class VerbsPeer final : private tcp::Meeting::Guest {
 public:
  VerbsPeer(const verbs::Choice& choice, const ucx::OpenRequest& request) : adapter(*verbs::library(), choice, {}) {
    expect(adapter.open().ok() && meeting.open(request).ok(), "the peer opens");
    leads = request.self < kOther;
  }
  ~VerbsPeer() override {
    if (way != nullptr) adapter.verbs.destroy_ah(way);
  }

  static constexpr ucx::PeerId kOther = 1000;

  std::vector<std::byte> address() const {
    std::vector<std::byte> bytes =
        ucx::packed(verbs::Address{.link_layer = std::uint8_t{IBV_LINK_LAYER_ETHERNET}, .zero = {}, .subnet = 0});
    const std::vector<std::byte> met = meeting.address();
    bytes.insert(bytes.end(), met.begin(), met.end());
    return bytes;
  }
  void connect(Bytes to) {
    ucx::Link* link = *meeting.connect(kOther, to.subspan(sizeof(verbs::Address)));
    if (link->user == nullptr) tcp::Meeting::take_seat(seat, *link, this);
  }

  // ---- saying

  void tell(const Call& call, std::vector<std::byte> rest = {}) { tell(ucx::packed(call), std::move(rest)); }
  void tell(std::vector<std::byte> head, std::vector<std::byte> rest) {
    head.resize(std::min(head.size(), ucx::kHeaderBytes));
    if (seat.link != nullptr) seat.calls.push_back({std::move(head), std::move(rest)});
  }
  /// A call of that kind as it would be now.
  Call call_of(Call::Kind kind, Queue queue = Queue::messages) const {
    const std::unique_ptr<QueuePair>& pair = queue == Queue::memory ? memory : next != nullptr ? next : messages;
    Call call;
    if (pair != nullptr) call = pair->here();
    call.kind = kind;
    call.queue = queue;
    call.generation = std::max<std::uint32_t>(call.generation, 1);
    call.received = static_cast<std::uint16_t>(received);
    call.gid = adapter.gid.bytes;
    return call;
  }
  void post(QueuePair* pair, Bytes message, bool as_datagram = false) {
    std::uint32_t slot = 0;
    if (pair == nullptr || message.size() > verbs::kSlotBytes || !pair->has_room(0) || !adapter.take_slot(&slot))
      return;
    if (!message.empty()) std::memcpy(adapter.slot(slot), message.data(), message.size());
    ibv_sge part{reinterpret_cast<std::uint64_t>(adapter.slot(slot)), static_cast<std::uint32_t>(message.size()),
                 adapter.key()};
    ibv_send_wr request{};
    request.opcode = IBV_WR_SEND;
    request.sg_list = &part;
    request.num_sge = 1;
    if (as_datagram) request.wr.ud = {way, their_datagrams->number, their_seat.key};
    if (pair->post(request, slot, 1) != 0) adapter.give_slot(slot);
  }
  void post_datagram(const verbs::Datagram& head, Bytes message) {
    if (way == nullptr || !their_datagrams.has_value() || message.size() > 4000) return;
    std::vector<std::byte> whole = ucx::packed(head);
    whole.insert(whole.end(), message.begin(), message.end());
    post(datagrams.get(), whole, true);
  }
  /// The next right one, behind `ahead` others.
  verbs::Datagram datagram(std::uint32_t ahead = 0) {
    return {verbs::Datagram::kMagic, their_seat.link, their_seat.token, ++sent + ahead, received};
  }

  void look() {
    meeting.look(true);
    std::array<ibv_wc, verbs::kLook> room;
    for (std::span<ibv_wc> found; !(found = adapter.look(room)).empty();)
      for (const ibv_wc& completion : found) take(completion);
    static_cast<void>(adapter.post_receives());
    if (seat.link != nullptr) meeting.say_all(seat);
  }

  // ---- the next right thing

  void step() {
    if (their_datagrams.has_value() && datagrams == nullptr) return begin_datagrams();
    if (around.has_value() && !std::exchange(goes_around, true)) {
      Call call = call_of(Call::Kind::around);
      call.first_packet = std::max(around->first_packet, call.generation + 1);
      call.generation = 1;
      tell(call);
      return tell(call_of(Call::Kind::heard));
    }
    if (goes_around) return come_back();
    for (const Queue queue : {Queue::messages, Queue::memory}) {
      auto& there = here[static_cast<std::size_t>(queue)];
      std::unique_ptr<QueuePair>& pair = queue == Queue::memory ? memory : messages;
      if (!there.has_value()) continue;
      make(pair, queue, there->generation);
      if (pair == nullptr || pair->connected || !pair->connect(*there)) continue;
      there.reset();
      return tell(call_of(Call::Kind::ready, queue));
    }
    if (question != 0)
      post(messages.get(), ucx::packed(Prefix{Prefix::Kind::flushed, 0, 0, std::exchange(question, 0)}));
  }

  verbs::Adapter adapter;
  tcp::Meeting meeting{*this};
  tcp::Seat seat;
  std::unique_ptr<QueuePair> messages, memory, next, datagrams;
  std::array<std::optional<Call>, 3> here;
  std::optional<Call> around, back, their_datagrams;
  verbs::DatagramSeat their_seat;
  bool goes_around = false, leads = false, probed = false, last = false, returned = false;
  std::uint32_t received = 0, sent = 0, question = 0;
  ibv_ah* way = nullptr;

  /// One of that generation, unless there is one as new; told where it is.
  void make(std::unique_ptr<QueuePair>& pair, Queue queue, std::uint32_t generation) {
    if (pair != nullptr && pair->generation >= generation) return;
    give_up(pair);
    pair = std::make_unique<QueuePair>(adapter, nullptr, queue, generation, ++serial_);
    if (!pair->make()) return pair.reset();
    if (&pair != &next) tell(call_of(Call::Kind::here, queue));
  }
  void give_up(std::unique_ptr<QueuePair>& pair) {
    if (pair == nullptr) return;
    pair->halt();
    given_up_.push_back(std::move(pair));
  }

 private:
  void begin_datagrams() {
    datagrams = std::make_unique<QueuePair>(adapter, nullptr, Queue::datagrams, 1, ++serial_);
    expect(datagrams->make_datagrams(77).ok(), "a queue pair for datagrams");
    way = adapter.way_to(their_datagrams->lid, their_datagrams->gid);
    Call call = call_of(Call::Kind::datagrams, Queue::datagrams);
    call.mtu = std::uint8_t{IBV_MTU_4096};
    call.number = datagrams->number();
    tell(call, ucx::packed(verbs::DatagramSeat{7, 77, 99}));
  }
  void come_back() {
    const std::uint32_t generation = back.has_value() ? back->generation : around->first_packet;
    if (next == nullptr && (leads || back.has_value()) && generation != 0) {
      make(next, Queue::messages, generation);
      if (next == nullptr) return;
      if (!leads && !next->connect(*back)) return;
      return tell(call_of(Call::Kind::back));
    }
    if (next == nullptr) return;
    if (leads && back.has_value() && !next->connected) {
      if (next->connect(*back)) probe();
    } else if (std::exchange(probed, false)) {
      leads ? tell(call_of(Call::Kind::last)) : probe();
    } else if (last && leads) {
      tell(call_of(Call::Kind::returned));
      end_of_the_way();
    } else if (std::exchange(last, false)) {
      tell(call_of(Call::Kind::last));
    } else if (returned) {
      end_of_the_way();
    }
  }
  void probe() { post(next.get(), ucx::packed(Prefix{Prefix::Kind::probe, 0, 0, next->generation})); }
  void end_of_the_way() {
    give_up(messages);
    messages = std::move(next);
    goes_around = last = returned = false;
    around.reset();
    back.reset();
  }

  void take_call(ucx::Link& from, ucx::Header head, Bytes rest) override {
    Call call;
    expect(ucx::unpack(head, &call) && call.magic == verbs::kMagic, "calls are whole");
    if (seat.link == nullptr) tcp::Meeting::take_seat(seat, from, this);
    switch (call.kind) {
      case Call::Kind::here:
        here[static_cast<std::size_t>(call.queue)] = call;
        break;
      case Call::Kind::around:
        around = call;
        break;
      case Call::Kind::back:
        back = call;
        break;
      case Call::Kind::datagrams:
        expect(ucx::unpack(rest, &their_seat), "a seat is whole");
        their_datagrams = call;
        break;
      case Call::Kind::carried:
        take_message(rest);
        break;
      case Call::Kind::last:
        last = true;
        break;
      case Call::Kind::returned:
        returned = true;
        break;
      case Call::Kind::stays:
        give_up(next);
        back.reset();
        break;
      default:
        break;
    }
  }
  void left(void*, const std::string& reason) override {
    expect(!reason.empty(), "a loss has a reason");
    seat.link = nullptr;
    seat.calls.clear();
  }

  void take(const ibv_wc& completion) {
    const auto serial = static_cast<std::uint32_t>(completion.wr_id >> 32);
    if (serial != 0) {
      for (const auto* pair : {&messages, &memory, &next, &datagrams})
        if (*pair != nullptr && (*pair)->serial == serial) (*pair)->ended(static_cast<std::uint32_t>(completion.wr_id));
      return;
    }
    const auto slot = static_cast<std::uint32_t>(completion.wr_id);
    const std::size_t head = datagrams != nullptr && completion.qp_num == datagrams->number()
                                 ? verbs::kGrhBytes + sizeof(verbs::Datagram)
                                 : 0;
    if (completion.status == IBV_WC_SUCCESS && completion.byte_len > head) {
      ++received;
      take_message({adapter.slot(slot) + head, completion.byte_len - head});
    }
    adapter.give_receive(slot);
  }
  void take_message(Bytes message) {
    Prefix prefix;
    if (message.size() < sizeof prefix) return;
    std::memcpy(&prefix, message.data(), sizeof prefix);
    if (prefix.kind == Prefix::Kind::flush) question = prefix.number;
    if (prefix.kind == Prefix::Kind::probe) probed = true;
  }

  std::uint32_t serial_ = 0;
  std::vector<std::unique_ptr<QueuePair>> given_up_;
};

}  // namespace periapt::fuzz
