// Node groups: one member a process, whose entries run on any PE of it.
#pragma once
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/collective/reduction.h"
#include "runtime/objects/pe_objects.h"

namespace periapt {

class NodeGroups {
 public:
  // `on_ready`: what another PE of the process does when the member has been made.
  static void register_entries(RuntimeFunction on_ready);
  // The member of this process; null before it exists. When it does, all PEs of the process are told: what waits for it
  // there goes on.
  void* find(int group);
  NodeGroup* base(int group);
  void create(PeObjects& objects, CkGroupID id, int type, int ep, Message message);
  // The same of one that comes back from a checkpoint, with a reduction in this state; `unpack` calls its pup().
  void remake(PeObjects& objects, CkGroupID id, int type, const Reduction::State& reduction,
              std::uint32_t contributions, bool counted, const std::function<void(NodeGroup&)>& unpack);
  // Shows the members of this process by number: visit(number, type, member, reduction, contributions).
  using Visit = std::function<void(int, int, NodeGroup&, Reduction&, std::uint32_t)>;
  void for_each(const Visit& visit);
  void deliver(PeObjects& objects, Delivery& call);
  void leave_exclusive(PeObjects& objects, const Delivery& call);
  // From NodeGroup's constructor.
  void adopt(CkGroupID id, NodeGroup* base);
  // On the first PE of the process only.
  Reduction& reduction(int group);
  // Messages for node groups that don't exist (yet).
  std::size_t waiting();
  std::string describe_waiting();
  // The reduction that a contribution made now belongs to: its members' entries run on any PE of the process, and what
  // they contribute reaches the first one in any order.
  std::uint32_t next_round(int group);

 private:
  struct Record {
    void* object = nullptr;
    NodeGroup* base = nullptr;
    int type = -1;
    bool exclusive = false;       // an [exclusive] entry runs
    std::deque<Message> blocked;  // calls of such entries that came meanwhile
    // The first of those, which is in the queue of a PE; null: none is. Others wait until it has run, so that the calls
    // of a PE stay in order.
    const Envelope* next = nullptr;
    std::unique_ptr<Reduction> reduction;
    std::uint32_t next_reduction = 0;
    std::vector<Message> waiting;
  };
  Record& record(int group);
  void make(PeObjects& objects, CkGroupID id, int type, const std::function<void(Record&)>& prepare,
            const std::function<void(void* object)>& construct);

  std::mutex mutex_;  // of the table and of what comes and goes in a record; records stay where they are
  std::unordered_map<int, std::unique_ptr<Record>> records_;
};
NodeGroups& node_groups();
// A contribution to a node group's reduction, from any PE of the process. Owns the message.
void contribute_to_node(CkGroupID group, CkReductionMsg* message, const CkCallback& callback);

}  // namespace periapt
