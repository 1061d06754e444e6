// The rails of a worker: a transport of this kind for each adapter. A link that stays broken goes over another rail to
// the same peer: what it would say over TCP (detour.cpp) are messages of that rail's link, with the port that they are
// meant for. So they come in their order, each once, whatever becomes of that link in turn.
//
// A link that carries others' calls goes over TCP itself when it breaks for good: messages in messages of messages
// would be longer than a slot.
#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "machine/verbs/transport.h"

namespace periapt::verbs {

using ucx::Accepted;

namespace {

// By what the worker receives with: transports of one worker hear of each other here. They share its thread.
std::mutex all_lock;
std::multimap<const ucx::Receiver*, VerbsTransport*>& all() {
  static std::multimap<const ucx::Receiver*, VerbsTransport*> transports;
  return transports;
}

}  // namespace

void VerbsTransport::join_rails() {
  const std::lock_guard lock(all_lock);
  const auto [first, last] = all().equal_range(&receiver_);
  for (auto other = first; other != last; ++other) {
    rails_.push_back(other->second);
    other->second->rails_.push_back(this);
  }
  all().emplace(&receiver_, this);
}

void VerbsTransport::leave_rails() {
  const std::lock_guard lock(all_lock);
  std::erase_if(all(), [this](const auto& one) { return one.second == this; });
  for (VerbsTransport* other : rails_) {
    std::erase(other->rails_, this);
    for (auto& link : other->links_) {
      if (link->beside != this) continue;
      link->beside = nullptr;  // the worker ends: nothing is sent any more
      link->calls_beside.clear();
    }
  }
}

/// One whose link to that peer is whole; nullptr: there is none.
VerbsTransport* VerbsTransport::rail_to(ucx::PeerId peer) const {
  const VerbsLink* own = links_.find(peer);
  if (own == nullptr || own->carries_others) return nullptr;
  for (VerbsTransport* rail : rails_) {
    const VerbsLink* link = rail->links_.find(peer);
    if (link != nullptr && link->alive() && link->detour == VerbsLink::Detour::none) return rail;
  }
  return nullptr;
}

// ---- what another rail's links say

Accepted VerbsTransport::carry(ucx::PeerId peer, Bytes head, Bytes rest) {
  VerbsLink* link = links_.find(peer);
  if (link == nullptr) return Accepted::lost;
  link->carries_others = true;
  return send_message(*link, Prefix::Kind::beside, head, rest);
}

/// False: something is left.
bool VerbsTransport::say_beside(VerbsLink& link) {
  while (!link.calls_beside.empty()) {
    const tcp::Seat::Call& call = link.calls_beside.front();
    const Accepted answer = link.beside->carry(link.peer(), call.head, call.rest);
    if (answer == Accepted::no_resource) return false;
    if (answer == Accepted::lost) return fail(link, link.beside->adapter_.port.name() + " has lost it"), true;
    link.calls_beside.pop_front();
    freed_ = true;
  }
  return true;
}

/// The link goes over another rail no more, and what it has said there has come.
void VerbsTransport::leave_carrier(VerbsLink& link) {
  const VerbsTransport* const carrier = std::exchange(link.beside, nullptr);
  VerbsLink* const carries = carrier == nullptr ? nullptr : carrier->links_.find(link.peer());
  if (carries == nullptr) return;
  carries->carries_others = std::any_of(carrier->rails_.begin(), carrier->rails_.end(), [&](const auto* rail) {
    const VerbsLink* other = rail->links_.find(link.peer());
    return other != nullptr && other->beside == carrier;
  });
}

bool VerbsTransport::has_handed_over(ucx::PeerId peer) const {
  VerbsLink* link = links_.find(peer);
  return link == nullptr || handed_over(*link);
}

void VerbsTransport::take_beside(VerbsLink& carrier, Bytes head, Bytes rest) {
  Call call;
  const bool good = ucx::unpack(head, &call) && call.magic == kMagic && call.kind >= Call::Kind::carried &&
                    call.kind <= Call::kLastCarried;
  const auto rail = std::find_if(rails_.begin(), rails_.end(), [&](const VerbsTransport* other) {
    return good && other->adapter_.gid.bytes == call.gid;
  });
  if (rail == rails_.end()) return fail(carrier, kNotUnderstood);
  VerbsLink* link = (*rail)->links_.find(carrier.peer());
  if (link != nullptr && link->alive()) (*rail)->take_carried(*link, call.kind, rest);
}

/// What has come for links of this one over the others, before one of them ends.
void VerbsTransport::take_what_rails_have() {
  for (VerbsTransport* rail : rails_) {
    rail->meeting_.look(true);
    rail->look_at_completions(true);
  }
}

}  // namespace periapt::verbs
