// See start_gate.h.
#include "runtime/entry/start_gate.h"

#include <cstring>
#include <utility>

#include "runtime/entry/creation.h"
#include "runtime/entry/dispatch.h"
#include "runtime/objects/node_groups.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
int entry_start, entry_process_ready;

template <class Puper>
void pup_readonlys(Puper& p) {
  for (const ReadonlyInfo& r : registry().readonlys) r.pup(static_cast<PUP::er*>(&p), r.address);
}

// Of a collection that PE 0 has made: those of other PEs have negative numbers.
bool is_creation(const Envelope* envelope) {
  return envelope->target == Target::runtime && static_cast<int>(envelope->collection) > 0 &&
         entry_info(envelope->entry).flags & ep_creation;
}
}  // namespace

void StartGate::register_entries() {
  NodeGroups::register_entries([](Pe& pe, Delivery& call) {
    const int number = static_cast<int>(call.collection);
    if (!pe.objects->started) return pe.objects->start_gate->node_group_is_made(number);
    pe.objects->group_ready(CkGroupID{number});
  });
  entry_start = register_runtime_entry("start", on_start, ep_expedited | ep_uncounted);
  entry_process_ready =
      register_runtime_entry("start: the process has the readonlys", on_process_ready, ep_expedited | ep_uncounted);
}

void StartGate::announce(PeObjects& objects) {
  Pe& pe = objects.pe;
  if (pe.process.pes() == 1) return;
  PUP::sizer sizer;
  pup_readonlys(sizer);
  Message message = Message::make(sizer.size());
  PUP::toMem p(message.payload());
  pup_readonlys(p);
  message = runtime_message(std::move(message), entry_start, 0, objects.groups_made());
  message->flags |= envelope_expedited;
  pe.broadcast(message);
}

// The creation of a collection that the mainchares' constructors have made, as far as it is known which those are.
bool StartGate::is_expected(const Message& message) const {
  const Envelope* const envelope = message.envelope();
  return start_ && is_creation(envelope) && static_cast<int>(envelope->collection) <= expected_;
}

void StartGate::hold(Delivery& call) {
  const bool creates = call.message && is_creation(call.message.envelope());
  if (creates && is_expected(call.message)) {
    creations_[static_cast<int>(call.collection)] = std::move(call.message);
    return try_open();
  }
  if (!creates && call.target == Target::runtime && entry_info(call.entry).flags & ep_expedited)
    return deliver(objects_, call);
  held_.push_back(to_message(call));
}

void StartGate::on_start(Pe& pe, Delivery& call) {
  StartGate& gate = *pe.objects->start_gate;
  gate.start_ = to_message(call);
  gate.expected_ = static_cast<int>(call.element);
  std::vector<Message> rest;
  for (Message& message : gate.held_) {
    if (gate.is_expected(message))
      gate.creations_[static_cast<int>(message->collection)] = std::move(message);
    else
      rest.push_back(std::move(message));
  }
  gate.held_ = std::move(rest);
  gate.try_open();
}
void StartGate::on_process_ready(Pe& pe, Delivery&) {
  StartGate& gate = *pe.objects->start_gate;
  gate.readonlys_set_ = true;
  gate.try_open();
}
void StartGate::node_group_is_made(int number) {
  node_groups_.insert(number);
  try_open();
}

// False: the first PE of the process has not done it yet. (PE 0's process has them from the constructors.)
bool StartGate::set_readonlys() {
  const Process& process = pe_.process;
  if (readonlys_set_ || process.is_simulated() || process.rank() == process.process_of(0)) return true;
  if (pe_.rank != 0) return false;
  PUP::fromMem p(start_.payload());
  pup_readonlys(p);
  readonlys_set_ = true;
  for (int rank = 1; rank < process.own_pes(); ++rank)
    send_runtime(pe_, pe_.index + rank, entry_process_ready, 0, 0, 0);
  return true;
}

// False: the first PE of the process has not made the member of a node group yet.
bool StartGate::create_collections() {
  while (created_ < expected_) {
    const auto next = creations_.begin();
    if (pe_.rank != 0 && makes_node_group(next->second.envelope()) && node_groups_.count(next->first) == 0)
      return false;
    Message creation = std::move(next->second);
    creations_.erase(next);
    ++created_;
    Delivery call(std::move(creation));
    creating_ = true;
    deliver(objects_, call);
    creating_ = false;
  }
  return true;
}

void StartGate::open() {
  pe_.enqueue_front(std::exchange(held_, {}));
  objects_.started = true;
}

void StartGate::try_open() {
  if (objects_.started || creating_ || !complete() || !set_readonlys()) return;
  // In front of what comes from now on, and behind what the creations let go of.
  pe_.enqueue_front(std::exchange(held_, {}));
  if (!create_collections()) return;
  // What a constructor that runs the scheduler has taken from there again: to the front, as it was held before, also
  // before what creations have let go of meanwhile.
  open();
  start_ = Message();
}

}  // namespace periapt
