// How two workers come together and part: calls over the TCP link, queue pairs that are made, connected and given up.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error_text.h"
#include "base/log.h"
#include "machine/verbs/transport.h"

namespace periapt::verbs {

using ucx::Outcome;

// ---- meeting

std::vector<std::byte> VerbsTransport::address() const {
  Address own;
  own.link_layer = adapter_.port.ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
  if (!adapter_.port.ethernet) std::memcpy(&own.subnet, adapter_.gid.bytes.data(), sizeof own.subnet);
  own.partition = adapter_.partition.key;
  std::vector<std::byte> bytes = ucx::packed(own);
  const std::vector<std::byte> meeting = meeting_.address();
  bytes.insert(bytes.end(), meeting.begin(), meeting.end());
  return bytes;
}

bool VerbsTransport::reaches(Bytes bytes) const {
  Address there, own;
  if (bytes.size() < sizeof there || !ucx::unpack(bytes.first(sizeof there), &there)) return false;
  ucx::unpack(Bytes(address()).first(sizeof own), &own);
  if (!adapter_.partition.hears(there.partition)) return false;
  own.partition = there.partition;
  return std::memcmp(&there, &own, sizeof own) == 0 && meeting_.reaches(bytes.subspan(sizeof there));
}

Result<ucx::Link*> VerbsTransport::connect(ucx::PeerId peer, Bytes bytes) {
  Address there;
  if (bytes.size() < sizeof there || !ucx::unpack(bytes.first(sizeof there), &there) || there.magic != kMagic)
    return Status::failure("that is no address of the verbs transport");
  if (VerbsLink* known = links_.find(peer)) return static_cast<ucx::Link*>(known);
  if (!broken_.empty()) return Status::failure(broken_);
  Result<ucx::Link*> met = meeting_.connect(peer, bytes.subspan(sizeof there));
  if (!met) return met.status();
  VerbsLink& link = new_link(peer, **met);
  return static_cast<ucx::Link*>(&link);
}

VerbsLink& VerbsTransport::new_link(ucx::PeerId peer, ucx::Link& met) {
  VerbsLink& link = links_.add(std::make_unique<VerbsLink>(*this, peer));
  tcp::Meeting::take_seat(link.seat, met, &link);
  link.backoff.set_first(adapter_.settings.return_after_ns());
  const bool many = links_.size() > static_cast<std::size_t>(adapter_.settings.datagrams_from);
  if (broken_.empty() && many && has_datagrams()) {
    begin_datagrams(link);
  } else if (broken_.empty()) {
    make_pair(link, Queue::messages, 1);
  } else {  // the peer cannot know
    link.messages = std::make_unique<QueuePair>(adapter_, &link, Queue::messages, 1, ++last_serial_);
    link.messages->halt();
    go_around(link, broken_);
  }
  return link;
}

// ---- queue pairs

void VerbsTransport::make_pair(VerbsLink& link, Queue queue, std::uint32_t generation) {
  auto pair = std::make_unique<QueuePair>(adapter_, &link, queue, generation, ++last_serial_);
  if (Status made = pair->make(); !made) {
    if (queue != Queue::messages || !link.mending) return fail(link, made.message());
    link.messages = std::move(pair);  // its messages have had another way until now
    link.messages->halt();
    return go_around(link, made.message());
  }
  enter_pair(*pair);
  Call here = pair->here();
  here.received = static_cast<std::uint16_t>(link.received);
  tell(link, here);
  link.pair_of(queue) = std::move(pair);
}

void VerbsTransport::enter_pair(QueuePair& pair) {
  by_number_[pair.number()] = by_serial_[pair.serial] = &pair;
  latest_number_ = 0;
  ++connecting_;
  has_more_ = true;
}

void VerbsTransport::give_up_pair(std::unique_ptr<QueuePair>& pair) {
  if (pair == nullptr) return;
  if (!pair->open && !pair->halted) --connecting_;
  pair->stop();
  given_up_.push_back(std::move(pair));
  has_more_ = true;
}

/// What it had under way is posted again on the next one: puts and gets do the same when they are done twice.
void VerbsTransport::replace_memory_pair(VerbsLink& link) {
  const std::uint32_t generation = link.memory->generation + 1;
  give_up_pair(link.memory);
  link.take_back_operations();
  make_pair(link, Queue::memory, generation);
}

/// Those that the device tells no more of: they were stopped, and all that it told has been taken since.
void VerbsTransport::bury() {
  const auto told_all = [this](const std::unique_ptr<QueuePair>& pair) {
    if (!pair->drained) return false;
    if (auto known = by_number_.find(pair->number()); known != by_number_.end() && known->second == pair.get())
      by_number_.erase(known);
    by_serial_.erase(pair->serial);
    return true;
  };
  if (std::erase_if(given_up_, told_all) > 0) freed_ = true, latest_number_ = 0;
  if (datagram_pair_ != nullptr && datagram_pair_->idle())
    for (ibv_ah* way : std::exchange(old_ways_, {})) adapter_.verbs.destroy_ah(way);
}

// ---- calls

void VerbsTransport::tell(VerbsLink& link, const Call& call) {
  link.seat.calls.push_back({ucx::packed(call), {}});
  attend_to(link);
}

void VerbsTransport::take_call(ucx::Link& from, Bytes header, Bytes rest) {
  Call call;
  if (!ucx::unpack(header, &call) || call.magic != kMagic || call.kind > Call::kLastKind ||
      call.queue > Queue::datagrams || call.generation == 0) {
    if (auto* link = static_cast<VerbsLink*>(from.user)) return fail(*link, kNotUnderstood);
    return meeting_.turn_away(from);
  }
  VerbsLink* link = static_cast<VerbsLink*>(from.user);
  if (link == nullptr) link = &new_link(from.peer(), from);
  if (!link->alive()) return;
  if (call.kind == Call::Kind::datagrams) return take_datagram_call(*link, call, rest);
  if (call.queue == Queue::datagrams) return fail(*link, kNotUnderstood);
  if (call.kind == Call::Kind::here) return take_here(*link, call);
  if (call.kind == Call::Kind::ready) return take_ready(*link, call);
  if (call.kind == Call::Kind::around) return take_around(*link, call);
  if (call.kind == Call::Kind::heard) return void(link->peer_heard = true);
  if (call.kind == Call::Kind::back) return take_back(*link, call);
  if (call.kind == Call::Kind::stays) return take_stays(*link, call);
  if (call.kind == Call::Kind::returned) return take_returned(*link);
  take_carried(*link, call.kind, rest);
}

void VerbsTransport::take_here(VerbsLink& link, const Call& call) {
  link.peer_gid = call.gid;
  if (link.detour != VerbsLink::Detour::none) return;  // it has not heard of that yet
  std::unique_ptr<QueuePair>& pair = link.pair_of(call.queue);
  if (pair != nullptr && call.generation < pair->generation) return;  // it has not heard of the newer one yet
  if (pair != nullptr && call.generation > pair->generation) {
    if (call.queue == Queue::messages) {
      link.called = call;  // when this side's is drained
      if (link.datagrams != nullptr) return connect_now(link);
      return mend(link, "the other side's queue pair broke");
    }
    give_up_pair(pair);
    link.take_back_operations();
  }
  if (pair == nullptr) make_pair(link, call.queue, call.generation);
  if (pair == nullptr || pair->connected) return;
  // The kernel looks for the way to the peer's port here, and finds none where this side's is down.
  if (Status connected = pair->connect(call); !connected) return go_around(link, connected.message());
  if (call.queue == Queue::messages && !drop_received(link, call.received)) return fail(link, kNotUnderstood);
  Call ready;
  ready.kind = Call::Kind::ready;
  ready.queue = call.queue;
  ready.generation = call.generation;
  tell(link, ready);
}

void VerbsTransport::take_ready(VerbsLink& link, const Call& call) {
  const std::unique_ptr<QueuePair>& pair = link.pair_of(call.queue);
  // One that is halted has been given up since: the link goes another way.
  if (pair == nullptr || pair->generation != call.generation || !pair->connected || pair->open || pair->halted) return;
  pair->open = true;
  --connecting_;
  freed_ = true;
  attend_to(link);
}

// ---- the end of a link

void VerbsTransport::left(void* user, const std::string& reason) {
  auto* link = static_cast<VerbsLink*>(user);
  if (link == nullptr) return;
  link->seat.link = nullptr;
  if (!link->alive()) return;
  lost_.push_back({link, reason});
  has_more_ = true;
}

void VerbsTransport::end_all(VerbsLink& link, Outcome outcome) {
  leave_datagrams(link);
  forget_mending(link);
  for (const Operation& operation : link.operations) deferred_.end(operation.completion, outcome);
  link.flushes.end_all(outcome, deferred_);
  link.operations.clear();
  give_up_pair(link.messages);
  give_up_pair(link.memory);
  give_up_pair(link.next);
  meeting_.leave(link.seat);
  std::erase_if(lost_, [&](const Lost& lost) { return lost.link == &link; });
}

void VerbsTransport::fail(VerbsLink& link, const std::string& reason) {
  if (!link.alive()) return;
  link.state = VerbsLink::State::lost;
  end_all(link, Outcome::peer_lost);
  links_.forget(link);
  // What the TCP transport says names the worker already.
  const std::string name = "worker " + std::to_string(link.peer());
  deferred_.lose(link, reason.starts_with(name) ? reason : name + ": " + reason);
}

void VerbsTransport::all_go_around(const std::string& reason) {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    VerbsLink& link = links_[i];
    if (!link.alive() || link.seat.link == nullptr) continue;  // what it had sent is handed up before it is lost
    if (link.next != nullptr) next_broke(link, reason);        // nothing else may ever tell that
    go_around(link, reason);
  }
}

void VerbsTransport::close(ucx::Link& which) {
  auto& link = static_cast<VerbsLink&>(which);
  // The peer has to know what has been taken, and nothing will say it later.
  if (link.datagrams != nullptr && link.datagrams->owes) static_cast<void>(post_datagram(link, {}, {}));
  if (link.alive()) static_cast<void>(post_batch(link));
  link.state = VerbsLink::State::closed;
  end_all(link, Outcome::cancelled);
  deferred_.forget_loss(link);  // also one that its last words met with
  std::erase(attended_, &link);
  links_.retire(link);
  has_more_ = true;
}

// ---- what the device says of itself

void VerbsTransport::take_device_events() {
  ibv_async_event event{};
  while (adapter_.next_device_event(&event)) {
    take_device_event(event);
    adapter_.verbs.ack_async_event(&event);
  }
}

void VerbsTransport::a_queue_broke() {
  broken_ = "a queue of " + adapter_.port.name() + " that all its links share broke: dmesg may say why";
  all_go_around(broken_);
}

/// Soft RoCE's queue pairs may be silent from then on, also when the port is up again: what they have neither ends nor
/// fails. So they are left at once, and the links come back to new ones.
void VerbsTransport::take_port_error() {
  port_down_ = true;
  const std::string way = rails_.empty() ? "TCP" : "another port or TCP";
  if (!adapter_.port.software)
    return log::warn("verbs: port " + adapter_.port.name() + " is down: its links go over " + way +
                     " if it is not up again soon (+verbs-patience)");
  log::warn("verbs: port " + adapter_.port.name() + " is down: its links go over " + way + " at once");
  const std::string reason = "its network interface is down";
  if (datagram_pair_ != nullptr) end_datagrams(reason);
  all_go_around(reason);
}

void VerbsTransport::take_device_event(const ibv_async_event& event) {
  const std::string name = adapter_.port.name();
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR: {
      const std::uint32_t number = event.element.qp->qp_num;
      if (datagram_pair_ != nullptr && number == datagram_pair_->number())
        return end_datagrams("its queue pair of datagrams broke");
      const auto known = by_number_.find(number);
      if (known == by_number_.end() || known->second->link == nullptr) return;
      QueuePair& pair = *known->second;
      // Of memory: the peer asked for what it may not have. Its own end breaks as well, and it makes the next one.
      if (&pair == pair.link->next.get()) return next_broke(*pair.link, "its queue pair broke");
      if (pair.queue == Queue::messages) mend(*pair.link, "its queue pair broke");
      return;
    }
    case IBV_EVENT_PORT_ERR:
      if (event.element.port_num == static_cast<int>(adapter_.port.number)) take_port_error();
      return;
    case IBV_EVENT_PORT_ACTIVE:
      if (event.element.port_num == static_cast<int>(adapter_.port.number)) port_down_ = false;
      return;
    case IBV_EVENT_DEVICE_FATAL:
      broken_ = "the device " + name + " has gone or is broken: dmesg may say why";
      return all_go_around(broken_);
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_SRQ_ERR:
      return a_queue_broke();
    default:
      return;
  }
}

}  // namespace periapt::verbs
