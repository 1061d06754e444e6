// What becomes of a link whose queue pair of messages broke: a cable was pulled, a port or a switch went down for a
// while.
//
// Both sides halt their queue pair, take what has come over it, and make another one of the next generation. Its first
// call says how many messages have come on the link in all. So each side knows which of those whose send has not ended
// are there nevertheless, and sends the others again, in their order, before anything else: each message comes once.
// The side that did not notice hears of it by that call.
//
// The link goes over another rail or TCP (detour.cpp) when this happens kBreaksMax times with no message having come
// through in between, or when the other side does not answer for as long as +verbs-patience says. That a process has
// gone is told by the TCP transport before.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "machine/verbs/transport.h"

namespace periapt::verbs {

void VerbsTransport::mend(VerbsLink& link, const std::string& reason) {
  if (!link.alive() || link.messages->halted) return;
  // Where the port is known to be down and another rail is there, the second time is enough.
  const int breaks_max = port_down_ && !rails_.empty() ? 1 : kBreaksMax;
  if (++link.message_breaks > breaks_max) return go_around(link, reason);
  halt_messages(link);
  has_more_ = true;
  if (!std::exchange(link.mending, true))
    mending_.push_back(&link);
  else if (!link.broke_because.empty())
    return;
  link.broke_because = reason;
  link.mending_since_ns = clock::now_ns();
}

void VerbsTransport::halt_messages(VerbsLink& link) {
  if (!link.messages->halted && !link.messages->open) --connecting_;
  link.messages->halt();
}

/// From its queue pair, which is drained. What was not sent again yet, when this is not the first time, comes behind.
void VerbsTransport::take_unended(VerbsLink& link) {
  std::deque<Unended> unended = link.messages->take_unended();
  std::move(link.unended.begin(), link.unended.end(), std::back_inserter(unended));
  link.unended = std::move(unended);
  if (link.batch == kNoSlot) return;
  link.unended.push_back({std::exchange(link.batch, kNoSlot), link.batch_bytes, {}});
  ++link.sent;
}

void VerbsTransport::end_mending(VerbsLink& link) {
  if (std::exchange(link.mending, false)) std::erase(mending_, &link);
}

void VerbsTransport::give_slot_of(const Unended& message) {
  if (message.slot != kNoSlot) adapter_.give_slot(message.slot);
}

void VerbsTransport::forget_mending(VerbsLink& link) {
  for (const Unended& message : std::exchange(link.unended, {})) give_slot_of(message);
  if (link.batch != kNoSlot) adapter_.give_slot(std::exchange(link.batch, kNoSlot));
  link.called.reset();
  if (std::exchange(link.detour, VerbsLink::Detour::none) == VerbsLink::Detour::on) --detours_;
  // What it has said there may still be under way: then the carrier goes on as one that has carried others.
  if (link.beside != nullptr && link.beside->has_handed_over(link.peer())) leave_carrier(link);
  link.beside = nullptr;
  link.calls_beside.clear();
  link.back = VerbsLink::Return::none;
  end_mending(link);
}

void VerbsTransport::mend_all() {
  const std::vector<VerbsLink*> links = mending_;
  for (VerbsLink* link : links) {
    if (!link->mending) continue;  // lost with another
    if (link->detour != VerbsLink::Detour::none) {
      if (link->messages->drained) go_on_around(*link);
      continue;
    }
    if (link->messages->halted && link->messages->drained) begin_again(*link);
    // A first queue pair may take as long as the peer does.
    const bool broke = link->mending && !link->broke_because.empty();
    if (broke && clock::now_ns() - link->mending_since_ns > adapter_.settings.patience_ns())
      go_around(*link, link->broke_because);
  }
}

/// Whether a link has to be looked at. A first queue pair, which waits for the peer's, has not: what the peer says
/// does.
bool VerbsTransport::is_mending() const {
  return std::any_of(mending_.begin(), mending_.end(), [](const VerbsLink* link) {
    return link->messages->halted || link->messages->open || !link->broke_because.empty();
  });
}

void VerbsTransport::begin_again(VerbsLink& link) {
  take_unended(link);
  const std::optional<Call> called = std::exchange(link.called, std::nullopt);
  const std::uint32_t next = link.messages->generation + 1;
  give_up_pair(link.messages);
  make_pair(link, Queue::messages, called ? std::max(next, called->generation) : next);
  if (called && link.alive() && link.detour == VerbsLink::Detour::none) take_here(link, *called);
}

// False: the number makes no sense.
bool VerbsTransport::drop_received(VerbsLink& link, std::uint16_t received) {
  const auto unended = static_cast<std::uint32_t>(link.unended.size());
  const auto there = static_cast<std::uint16_t>(received - (link.sent - unended));
  if (there > unended) return false;
  for (std::uint32_t i = 0; i < there; ++i) {
    give_slot_of(link.unended.front());
    link.unended.pop_front();
  }
  return true;
}

// The new queue pair is open. False: something is left.
bool VerbsTransport::send_again(VerbsLink& link) {
  while (!link.unended.empty()) {
    if (!link.messages->has_room(0)) return false;
    Unended& message = link.unended.front();
    // What went as a datagram may be too large for a request.
    if (message.slot == kNoSlot && message.size > link.messages->inline_max()) {
      if (!adapter_.take_slot(&message.slot)) return false;
      std::memcpy(adapter_.slot(message.slot), message.bytes.data(), message.size);
    }
    const bool copied = message.slot == kNoSlot;
    std::byte* at = copied ? link.messages->room_for(message.size) : adapter_.slot(message.slot);
    if (copied) std::memcpy(at, message.bytes.data(), message.size);
    const int error = post_bytes(*link.messages, at, message.size, message.slot, 1);
    if (error == ENOMEM) return false;
    if (error != 0) return fail(link, "a message can't be sent: " + error_text(error)), true;
    link.unended.pop_front();
    ++link.sent_again;
  }
  end_mending(link);
  freed_ = true;
  const int again = std::exchange(link.sent_again, 0);
  if (link.broke_because.empty()) return true;  // it went by datagrams before
  log::warn("verbs: the connection to worker " + std::to_string(link.peer()) + " over " + adapter_.port.name() +
            " broke (" + link.broke_because + ") and was made anew; messages sent again: " + std::to_string(again));
  return true;
}

}  // namespace periapt::verbs
