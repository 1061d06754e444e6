// The way back of a link that goes around (detour.cpp): its port carries it again, or so it seems.
//
// The worker with the lower number leads. After a rest it makes a queue pair and says where it is; the other side
// connects one of its own to it. Messages go on around meanwhile. A probe that has come over these queue pairs, and
// one that came back, show that they carry messages both ways. Then each side says the last thing that it says around,
// behind all else, and takes no more messages from its user until the return:
//
//   the lower           the other side
//   back            ->                    over TCP: where the queue pair is
//                   <-  back
//   probe           ->                    over the new queue pair
//                   <-  probe
//   last            ->                    the way around of either side
//                   <-  last              it has had all that the lower has said around,
//   returned        ->  it may send       over TCP: and the lower all that it has
//   it may send
//
// So nothing overtakes what went around, and nothing goes twice. Puts and gets that have not ended are done again, over
// the next queue pair of memory.
//
// Up to the lower's `last` the return can be given up, which the lower decides: `stays`. The other side may ask for
// that by the same call. A new queue pair that breaks after that is mended, when both have come back, as any that
// breaks (mending.cpp): the probes count as messages. Each return that comes to nothing, and each that does not hold
// for long, doubles the rest before the next.
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "machine/verbs/transport.h"

namespace periapt::verbs {

namespace {
/// Links that rest are looked at so often, and so many of them are tried at a time: a port may have hundreds that went
/// around together.
constexpr std::uint64_t kLookEveryNs = Backoff::kLeast;
constexpr int kTriesMost = 8;
}  // namespace

bool VerbsTransport::may_come_back(const VerbsLink& link) const {
  return link.alive() && link.detour == VerbsLink::Detour::on && link.peer_generation != 0 && comes_back();
}

/// What the port says of itself is asked for: an event may have been missed.
bool VerbsTransport::is_port_up() {
  const bool up = adapter_.is_port_active();
  port_down_ = !up;
  return up;
}

void VerbsTransport::look_for_returns() {
  const std::uint64_t now = clock::now_ns();
  if (now - returns_looked_ns_ < kLookEveryNs) return;
  returns_looked_ns_ = now;
  std::optional<bool> up;
  int tries = 0;
  for (std::size_t left = links_.size(); left > 0 && tries < kTriesMost; --left) {
    VerbsLink& link = links_[returns_next_++ % links_.size()];
    if (!may_come_back(link) || !leads_back(link) || link.next != nullptr || !link.backoff.is_due(now)) continue;
    if (!up.has_value()) up = is_port_up();
    if (!*up) {
      link.backoff.put_off(now);
      continue;
    }
    ++tries;
    if (make_next(link, link.next_generation)) {
      tell_back(link);
      link.back = VerbsLink::Return::asked;
    } else {
      link.backoff.failed(now);
    }
  }
}

/// False: the device gives none.
bool VerbsTransport::make_next(VerbsLink& link, std::uint32_t generation) {
  auto pair = std::make_unique<QueuePair>(adapter_, &link, Queue::messages, generation, ++last_serial_);
  if (!pair->make()) return false;
  enter_pair(*pair);
  link.next = std::move(pair);
  link.next_broke.clear();
  link.next_generation = generation + 1;
  link.sent = link.received = 0;  // none goes by number while the link goes around
  return true;
}

void VerbsTransport::drop_next(VerbsLink& link) {
  give_up_pair(link.next);
  link.back = VerbsLink::Return::none;
}

bool VerbsTransport::send_probe(VerbsLink& link) {
  Prefix prefix;
  prefix.kind = Prefix::Kind::probe;
  prefix.number = link.next->generation;
  const bool sent = link.next->has_room(0) && post_message(*link.next, prefix, {}, {}) == 0;
  link.sent += sent;
  return sent;
}

// ---- what is said of it over TCP

void VerbsTransport::tell_back(VerbsLink& link) {
  Call call = link.next->here();
  call.kind = Call::Kind::back;
  tell(link, call);
}

void VerbsTransport::tell_stays(VerbsLink& link, std::uint32_t generation) {
  Call call;
  call.kind = Call::Kind::stays;
  call.generation = generation;
  tell(link, call);
}

void VerbsTransport::take_back(VerbsLink& link, const Call& call) {
  if (!leads_back(link)) return answer_back(link, call);
  if (link.back != VerbsLink::Return::asked || call.generation != link.next->generation) return;  // given up since
  if (!link.next->connect(call) || !send_probe(link)) return stay_around(link);
  link.back = VerbsLink::Return::probing;
}

void VerbsTransport::answer_back(VerbsLink& link, const Call& call) {
  const bool new_one = link.back == VerbsLink::Return::none && call.generation >= link.next_generation;
  if (may_come_back(link) && new_one && is_port_up() && make_next(link, call.generation)) {
    if (link.next->connect(call)) {
      link.back = VerbsLink::Return::answered;
      return tell_back(link);
    }
    drop_next(link);
  }
  tell_stays(link, call.generation);
}

void VerbsTransport::take_stays(VerbsLink& link, const Call& call) {
  if (link.next == nullptr || call.generation != link.next->generation) return;  // it has been given up
  if (link.back == VerbsLink::Return::said) {
    if (!leads_back(link)) fail(link, kNotUnderstood);
    return;  // that came too late: the queue pair is mended after the return
  }
  leads_back(link) ? stay_around(link) : drop_next(link);
}

/// The lower's decision. The other side waits for it, or does not know of any return.
void VerbsTransport::stay_around(VerbsLink& link) {
  tell_stays(link, link.next->generation);
  drop_next(link);
  link.backoff.failed(clock::now_ns());
}

/// Its queue pair from the return on.
void VerbsTransport::next_broke(VerbsLink& link, const std::string& reason) {
  if (!std::exchange(link.next_broke, reason).empty() || link.back == VerbsLink::Return::said) return;
  leads_back(link) ? stay_around(link) : tell_stays(link, link.next->generation);
}

// ---- probes, and the last things around

void VerbsTransport::take_probe(VerbsLink& link, std::uint32_t generation) {
  if (link.next == nullptr || generation != link.next->generation) return;
  if (link.back == VerbsLink::Return::probing) {
    say_last(link);
  } else if (link.back == VerbsLink::Return::answered) {
    link.back = VerbsLink::Return::proven;
    if (!send_probe(link)) next_broke(link, "no probe can be sent");
  }
}

void VerbsTransport::say_last(VerbsLink& link) {
  link.back = VerbsLink::Return::said;
  call_around(link, Call::Kind::last, {});
}

void VerbsTransport::take_last(VerbsLink& link) {
  link.owed.clear();  // the peer does again what has not ended
  link.put_ends = ucx::Outcome::ok;
  if (!leads_back(link) && link.back == VerbsLink::Return::proven) return say_last(link);
  if (!leads_back(link) || link.back != VerbsLink::Return::said || !link.calls_beside.empty())
    return fail(link, kNotUnderstood);  // it cannot have had what has not gone out yet
  Call call;
  call.kind = Call::Kind::returned;
  call.generation = link.next->generation;
  tell(link, call);
  come_back(link);
}

void VerbsTransport::take_returned(VerbsLink& link) {
  if (leads_back(link) || link.back != VerbsLink::Return::said || !link.calls_beside.empty())
    return fail(link, kNotUnderstood);
  come_back(link);
}

// ---- the return

void VerbsTransport::come_back(VerbsLink& link) {
  const std::string around = link.beside == nullptr ? "TCP" : link.beside->adapter_.port.name();
  give_up_pair(link.messages);
  link.messages = std::move(link.next);
  link.messages->open = true;
  --connecting_;
  link.back = VerbsLink::Return::none;
  link.detour = VerbsLink::Detour::none;
  --detours_;
  link.peer_received.reset();
  link.peer_heard = link.rail_expected = false;
  link.peer_generation = 0;
  leave_carrier(link);
  link.message_breaks = link.breaks = 0;
  link.take_back_operations();
  link.speed = {};  // of the port as it was
  for (Operation& operation : link.operations) operation.around = 0;
  link.backoff.worked(clock::now_ns());
  ++link.returns;
  link.degraded = false;
  freed_ = true;
  attend_to(link);
  log::warn("verbs: the connection to worker " + std::to_string(link.peer()) + " over " + adapter_.port.name() +
            " has come back: it is used again, in place of " + around);
  receiver_.link_restored(link);
  if (!link.alive()) return;
  if (!broken_.empty()) return go_around(link, broken_);
  if (!link.next_broke.empty()) mend(link, link.next_broke);
  const bool is_whole = link.alive() && link.detour == VerbsLink::Detour::none;
  if (is_whole && link.memory == nullptr && !link.operations.empty()) make_pair(link, Queue::memory, 1);
}

}  // namespace periapt::verbs
