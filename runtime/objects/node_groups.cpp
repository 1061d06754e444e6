// See node_groups.h.
#include "runtime/objects/node_groups.h"

#include <algorithm>
#include <deque>

#include "base/fatal.h"
#include "runtime/api/reduction_message.h"
#include "runtime/collective/reduction.h"
#include "runtime/converse/cmi.h"
#include "runtime/objects/protocols.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
int entry_contribute, entry_ready;
}

NodeGroups& node_groups() {
  // Of this process; on a simulated machine, of the one that runs. Never destroyed, like
  // what else PEs hold.
  static auto& the_groups =
      *new std::deque<NodeGroups>(static_cast<std::size_t>(Process::current()->hosted_processes()));
  return the_groups[Process::current()->is_simulated() ? static_cast<std::size_t>(Process::current()->rank()) : 0];
}

NodeGroups::Record& NodeGroups::record(int group) {
  std::lock_guard lock(mutex_);
  auto& record = records_[group];
  if (!record) record = std::make_unique<Record>();
  return *record;
}

void* NodeGroups::find(int group) {
  std::lock_guard lock(mutex_);
  auto found = records_.find(group);
  return found == records_.end() ? nullptr : found->second->object;
}

NodeGroup* NodeGroups::base(int group) { return record(group).base; }

void NodeGroups::adopt(CkGroupID id, NodeGroup* base) {
  Record& r = record(id.idx);
  if (!r.base) r.base = base;
}

Reduction& NodeGroups::reduction(int group) { return *record(group).reduction; }

std::uint32_t NodeGroups::next_round(int group) {
  std::lock_guard lock(mutex_);
  return records_.at(group)->next_reduction++;
}

namespace {
// In a tree over the first PEs of all processes.
TreePlace place_of_process(const Process& process) {
  const auto pe_of = [&](int rank) { return process.layout().processes[rank].first_pe; };
  TreePlace place(process.rank(), process.count());
  if (place.parent >= 0) place.parent = pe_of(place.parent);
  for (int& child : place.children) child = pe_of(child);
  return place;
}
}  // namespace

// On the first PE of the process.
void NodeGroups::create(PeObjects& objects, CkGroupID id, int type, int ep, Message message) {
  make(
      objects, id, type, [](Record& r) { r.reduction->born(); },
      [&](void* object) { objects.construct(ep, object, std::move(message)); });
}

void NodeGroups::remake(PeObjects& objects, CkGroupID id, int type, const Reduction::State& reduction,
                        std::uint32_t contributions, bool counted, const std::function<void(NodeGroup&)>& unpack) {
  const auto prepare = [&](Record& r) {
    r.reduction->resume_with_member(reduction, contributions, counted);
    r.next_reduction = contributions;
  };
  make(objects, id, type, prepare, [&](void* object) {
    construct_migrated(type, object);
    unpack(*base(id.idx));
  });
}

void NodeGroups::for_each(const Visit& visit) {
  std::vector<int> made;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [group, r] : records_)
      if (r->object) made.push_back(group);
  }
  std::sort(made.begin(), made.end());
  for (int group : made) {
    Record& r = record(group);
    visit(group, r.type, *r.base, *r.reduction, r.next_reduction);
  }
}

void NodeGroups::make(PeObjects& objects, CkGroupID id, int type, const std::function<void(Record&)>& prepare,
                      const std::function<void(void* object)>& construct) {
  Record& r = record(id.idx);
  r.type = type;
  r.reduction = std::make_unique<Reduction>(*objects.protocols, id.idx, Reduction::Tree::processes,
                                            place_of_process(objects.pe.process), true);
  prepare(r);
  void* object = allocate_object(registry().chares[type].size);
  const Creation outer = objects.creating;
  objects.creating = {};
  objects.creating.group = id;
  construct(object);
  objects.creating = outer;
  std::vector<Message> waiting;
  {
    std::lock_guard lock(mutex_);
    r.object = object;
    for (Message& message : r.waiting) {
      const bool exclusive = entry_info(message->entry).flags & ep_exclusive;
      if (exclusive && r.next) {
        r.blocked.push_back(std::move(message));
        continue;
      }
      if (exclusive) r.next = message.envelope();
      waiting.push_back(std::move(message));
    }
    r.waiting.clear();
  }
  objects.pe.enqueue_front(std::move(waiting));
  objects.group_ready(id);
  for (int rank = 1; rank < objects.pe.process.own_pes(); ++rank)
    send_runtime(objects.pe, objects.pe.index + rank, entry_ready, static_cast<std::uint32_t>(id.idx), 0, 0);
}

void NodeGroups::deliver(PeObjects& objects, Delivery& call) {
  call.exclusive = entry_info(call.entry).flags & ep_exclusive;
  Record* r = nullptr;
  {
    std::lock_guard lock(mutex_);
    auto& slot = records_[static_cast<int>(call.collection)];
    if (!slot) slot = std::make_unique<Record>();
    r = slot.get();
    if (!r->object) {
      r->waiting.push_back(keep(objects.pe, call));
      return;
    }
    if (call.exclusive) {
      // One runs on another PE of the process, or on this one in a scheduler that the entry runs; or one that came
      // before is queued.
      if (r->exclusive || (r->next && r->next != call.message.envelope())) {
        r->blocked.push_back(keep(objects.pe, call));
        return;
      }
      if (CmiTryLock(r->base->__nodelock) != 0) {  // the program has it, and says nothing when it gives it back
        Message again = keep(objects.pe, call);
        r->next = again.envelope();
        objects.pe.enqueue(std::move(again));
        return;
      }
      r->next = nullptr;
      r->exclusive = true;
    }
  }
  call.object = object_for_entry(r->type, call.entry, r->object);
  objects.run_entry(call);
}

// An [exclusive] entry has returned, or its thread has ended. The next of those that came meanwhile is queued here: any
// PE of the process may run it. There is always one queued or running as long as some are kept.
void NodeGroups::leave_exclusive(PeObjects& objects, const Delivery& call) {
  Message next;
  {
    std::lock_guard lock(mutex_);
    Record& r = *records_.at(static_cast<int>(call.collection));
    r.exclusive = false;
    CmiUnlock(r.base->__nodelock);
    if (!r.blocked.empty()) {
      next = std::move(r.blocked.front());
      r.blocked.pop_front();
      r.next = next.envelope();
    }
  }
  if (next) objects.pe.enqueue(std::move(next));
}

std::size_t NodeGroups::waiting() {
  std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [_, r] : records_) count += r->waiting.size();
  return count;
}
std::string NodeGroups::describe_waiting() {
  std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [group, r] : records_)
    if (!r->waiting.empty())
      text += std::to_string(r->waiting.size()) + " messages wait for node group " + std::to_string(group) +
              ", which does not exist: " + entry_name(r->waiting.front()->entry) + "\n";
  return text;
}

namespace {
struct NodeContribution {
  CkReductionMsg* message;
  CkCallback callback;
  std::uint32_t round;
};
void contribute_here(int group, NodeContribution& c) {
  Reduction& reduction = node_groups().reduction(group);
  reduction.contribute(c.round, c.message->getReducer(), chare::contribution_of(c.message),
                       c.callback.isInvalid() ? nullptr : &c.callback);
  CkFreeMsg(c.message);
}
}  // namespace

void NodeGroups::register_entries(RuntimeFunction on_ready) {
  entry_ready = register_runtime_entry("node group is ready", on_ready, ep_expedited | ep_uncounted);
  entry_contribute = register_runtime_entry("contribution to a node group", [](Pe& pe, Delivery& call) {
    NodeContribution c = call.read<NodeContribution>();
    contribute_here(static_cast<int>(call.collection), c);
  });
}

void contribute_to_node(CkGroupID group, CkReductionMsg* message, const CkCallback& callback) {
  Pe& pe = *Pe::current();
  NodeContribution c{message, callback, node_groups().next_round(group.idx)};
  if (pe.rank == 0) return contribute_here(group.idx, c);
  pe.send(pe.process.first_pe(),
          runtime_message({bytes_of(c)}, entry_contribute, static_cast<std::uint32_t>(group.idx)));
}

}  // namespace periapt
