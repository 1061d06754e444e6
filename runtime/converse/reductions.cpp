// Reductions of Converse: parts go up a tree, merged on the way.
//
// A reduction has a number in 64 bits: its kind above, and below it which one of its kind it is. Those over processes
// are worked on the first PE of each, where the others' parts are brought.
#include "runtime/converse/reductions.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "base/fatal.h"
#include "runtime/converse/converse_state.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
enum class ReductionKind : std::uint64_t { in_order, by_id, node_in_order, node_by_id };
constexpr int kind_shift = 32;
constexpr int branching = 4;  // of lists
std::uint64_t number_of(ReductionKind kind, std::uint64_t which) {
  return static_cast<std::uint64_t>(kind) << kind_shift | which;
}

// As a program would name it.
std::string name_of(std::uint64_t number) {
  const ReductionKind kind = static_cast<ReductionKind>(number >> kind_shift);
  const std::string which = std::to_string(number & ((std::uint64_t{1} << kind_shift) - 1));
  const bool node = kind == ReductionKind::node_in_order || kind == ReductionKind::node_by_id;
  const std::string call = node ? "CmiNodeReduce" : "CmiReduce";
  if (kind == ReductionKind::in_order || kind == ReductionKind::node_in_order)
    return "the " + call + " that is number " + which;
  return "the reduction with the id " + which + (node ? " over processes" : "");
}

ConverseReduction of_message(void* message, int bytes, CmiReduceMergeFn merge) {
  if (bytes < CmiMsgHeaderSizeBytes) {
    fatal(
        "a part of a reduction of " + std::to_string(bytes) + " bytes", "CmiReduce",
        "it is a message, which begins with a header of " + std::to_string(CmiMsgHeaderSizeBytes) + " bytes that count",
        "put char head[CmiMsgHeaderSizeBytes] first in the struct, or reduce data with CmiReduceStruct");
  }
  ConverseReduction part;
  part.mine = message;
  part.bytes = bytes;
  part.handler = static_cast<std::uint16_t>(CmiGetHandler(message));
  part.merge = merge;
  return part;
}
ConverseReduction of_data(void* data, CmiReducePupFn pup, CmiReduceMergeFn merge, CmiHandler dest,
                          CmiReduceDeleteFn del) {
  ConverseReduction part;
  part.mine = data;
  part.merge = merge;
  part.pup = pup;
  part.dest = dest;
  part.del = del;
  return part;
}

Message packed(const ConverseReduction& r, void* data) {
  const pup_er sizer = pup_new_sizer();
  r.pup(sizer, data);
  const std::size_t size = pup_size(sizer);
  pup_destroy(sizer);
  Message message = converse_system_message(handler_reduce, size);
  const pup_er packer = pup_new_toMem(message.payload());
  r.pup(packer, data);
  pup_destroy(packer);
  if (r.del) r.del(data);
  return message;
}

void finish(Pe& pe, std::uint64_t number, const ConverseReduction& r) {
  std::vector<void*> others;
  for (void* child : r.children) {
    if ((static_cast<Envelope*>(child)->entry == handler_none) != (r.pup != nullptr)) {
      fatal("messages and data meet in " + name_of(number), "CmiReduce",
            "some PEs called CmiReduce and some CmiReduceStruct, or the ones of their forms",
            "call the same form everywhere, in the same order");
    }
    others.push_back(r.pup ? payload_of(static_cast<Envelope*>(child)) : child);
  }
  int bytes = r.bytes;
  void* result = others.empty() ? r.mine : r.merge(&bytes, r.mine, others.data(), static_cast<int>(others.size()));
  for (void* child : r.children)
    if (child != result) CmiFree(child);

  if (r.parent < 0) {
    if (r.pup) return r.dest(result);
    Message message = converse_take(result, bytes);
    message->entry = r.handler;
    return converse_run(pe, std::move(message));
  }
  Message up;
  if (r.pup) {
    up = packed(r, result);
  } else {
    up = converse_take(result, bytes);
    up->extra = r.handler;
    up->entry = handler_reduce;
  }
  up->element = number;
  converse_send(pe, r.parent, std::move(up));
}

void look_at(Pe& pe, std::uint64_t number) {
  auto& reductions = ConverseState::of(pe).reductions;
  const auto found = reductions.find(number);
  ConverseReduction& r = found->second;
  if (!r.contributed) return;
  const int arrived = static_cast<int>(r.children.size());
  if (arrived < r.children_wanted) return;
  if (arrived > r.children_wanted) {
    fatal("more parts than there are to " + name_of(number), "CmiReduce",
          "an id was used again before its reduction had ended, or the PEs gave different lists",
          "take another id from CmiGetGlobalReduction or CmiGetDynamicReduction");
  }
  const ConverseReduction ready = std::move(r);
  reductions.erase(found);
  finish(pe, number, ready);
}

void contribute(Pe& pe, std::uint64_t number, ConverseReduction part) {
  ConverseReduction& r = ConverseState::of(pe).reductions[number];
  if (r.contributed) {
    fatal("a second part of one PE to " + name_of(number), "CmiReduce",
          "an id stands for one reduction at a time, and each PE (process) gives one part to it",
          "wait for its end, or take another id");
  }
  part.contributed = true;
  part.children = std::move(r.children);
  r = std::move(part);
  look_at(pe, number);
}

// --- over PEs --------------------------------------------------------------------------------------------------------

void over_all(std::uint64_t number, ConverseReduction part) {
  Pe& pe = require_pe("CmiReduce");
  part.parent = CmiSpanTreeParent(pe.index);
  part.children_wanted = CmiNumSpanTreeChildren(pe.index);
  contribute(pe, number, std::move(part));
}
std::uint64_t next_number() {
  return number_of(ReductionKind::in_order, ConverseState::of(require_pe("CmiReduce")).next_reduction++);
}

void over_list(Pe& pe, int count, const int* pes, ConverseReduction part, CmiReductionID id) {
  const int place = static_cast<int>(std::find(pes, pes + count, pe.index) - pes);
  if (place == count) {
    fatal("PE " + std::to_string(pe.index) + " gives a part to a reduction over PEs that it is not one of",
          "CmiListReduce", "the list or group of " + std::to_string(count) + " does not have it",
          "call it on the PEs of the list, with the same list on each");
  }
  part.parent = place ? pes[(place - 1) / branching] : -1;
  part.children_wanted = std::clamp(count - branching * place - 1, 0, branching);
  contribute(pe, number_of(ReductionKind::by_id, id), std::move(part));
}

void over_group(CmiGroup group, ConverseReduction part, CmiReductionID id) {
  Pe& pe = require_pe("CmiGroupReduce");
  ConverseState& s = ConverseState::of(pe);
  const auto found = s.groups.find(converse_group_key(group));
  if (found != s.groups.end())
    return over_list(pe, static_cast<int>(found->second.size()), found->second.data(), std::move(part), id);
  // Its members are on their way, and the group's maker is asked whether they are.
  s.group_parts.push_back({group, {id, std::move(part)}});
  Message ask = converse_system_message(handler_group_wanted, 0);
  ask->element = converse_group_key(group);
  const int maker = converse_group_maker(ask->element);
  converse_send(pe, maker, std::move(ask));
}

// --- over processes --------------------------------------------------------------------------------------------------

// What the PEs of a process count together.
struct ProcessCounters {
  std::atomic<std::uint32_t> next_reduction{0};
  std::atomic<CmiUInt2> next_global_id{1}, next_dynamic_id{2};
};
ProcessCounters& of_process(Pe& pe) {
  // By the process and, on a simulated machine, its first PE.
  static std::map<std::pair<const Process*, int>, ProcessCounters> all;
  static std::mutex guard;
  const std::lock_guard lock(guard);
  return all[{&pe.process, pe.slot - pe.rank}];
}

void over_processes(Pe& pe, std::uint64_t number, ConverseReduction part) {
  const int parent = CmiNodeSpanTreeParent(pe.process.rank());
  part.parent = parent < 0 ? -1 : CmiNodeFirst(parent);
  part.children_wanted = CmiNumNodeSpanTreeChildren(pe.process.rank());
  if (pe.rank == 0) return contribute(pe, number, std::move(part));
  auto* brought = new ConverseReduction(std::move(part));
  Message message = converse_system_message(handler_node_part, sizeof brought);
  std::memcpy(message.payload(), &brought, sizeof brought);
  message->element = number;
  converse_send(pe, pe.process.first_pe(), std::move(message));
}
void over_processes_in_order(ConverseReduction part) {
  Pe& pe = require_pe("CmiNodeReduce");
  over_processes(pe, number_of(ReductionKind::node_in_order, of_process(pe).next_reduction++), std::move(part));
}
void over_processes_by_id(ConverseReduction part, CmiReductionID id) {
  over_processes(require_pe("CmiNodeReduceID"), number_of(ReductionKind::node_by_id, id), std::move(part));
}

// --- numbers ---------------------------------------------------------------------------------------------------------

constexpr CmiReductionID id_step = 4;
CmiReductionID take_id(std::atomic<CmiUInt2>& next) { return next.fetch_add(id_step); }
CmiReductionID take_id(CmiUInt2& next) { return std::exchange(next, static_cast<CmiUInt2>(next + id_step)); }

// What a PE that asks for a number sends, and gets back.
struct Request {
  int target;  // where the answer goes; the number, on the way back
  int bytes;   // of the data behind it
};

void ask_for_id(int handler, int target, bool of_processes, int bytes, const void* data) {
  Pe& pe = require_pe("CmiGetDynamicReductionRemote");
  const int targets = of_processes ? pe.process.count() : pe.process.pes();
  if (target < -1 || target >= targets) {
    fatal("the number of a reduction is to go to " + std::string(of_processes ? "process " : "PE ") +
              std::to_string(target),
          "CmiGetDynamicReductionRemote", "the run has " + std::to_string(targets), "-1 stands for all of them");
  }
  Message message = converse_system_message(handler_reduction_id, sizeof(Request) + static_cast<std::size_t>(bytes));
  const Request request = {target, bytes};
  std::memcpy(message.payload(), &request, sizeof request);
  if (bytes) std::memcpy(static_cast<char*>(message.payload()) + sizeof request, data, static_cast<std::size_t>(bytes));
  message->message_type = static_cast<std::uint16_t>(handler);
  message->extra = of_processes;
  converse_send(pe, 0, std::move(message));
}

void reduction_arrived(Pe& pe, Message message) {
  const std::uint64_t number = message->element;
  message->entry = static_cast<std::uint16_t>(message->extra);
  ConverseState::of(pe).reductions[number].children.push_back(message.release());
  look_at(pe, number);
}

void node_part_arrived(Pe& pe, Message message) {
  ConverseReduction* brought;
  std::memcpy(&brought, message.payload(), sizeof brought);
  contribute(pe, message->element, std::move(*brought));
  delete brought;
}

void reduction_id_arrived(Pe& pe, Message message) {
  Request request;
  std::memcpy(&request, message.payload(), sizeof request);
  const int target =
      std::exchange(request.target, message->extra ? CmiGetDynamicNodeReduction() : CmiGetDynamicReduction());
  std::memcpy(message.payload(), &request, sizeof request);
  const bool of_processes = message->extra;
  message->entry = message->message_type;
  message->message_type = 0;
  message->extra = 0;
  const int bytes = CmiMsgHeaderSizeBytes + static_cast<int>(message->size);
  char* answer = reinterpret_cast<char*>(message.release());
  if (of_processes && target < 0) return CmiFreeNodeBroadcastAllFn(bytes, answer);
  if (target < 0) return CmiFreeBroadcastAllFn(bytes, answer);
  converse_send(pe, of_processes ? CmiNodeFirst(target) : target, converse_take(answer, bytes));
}
const ConverseArrival reduction_arrives(handler_reduce, reduction_arrived);
const ConverseArrival node_part_arrives(handler_node_part, node_part_arrived);
const ConverseArrival reduction_id_arrives(handler_reduction_id, reduction_id_arrived);
}  // namespace

void converse_group_known(Pe& pe, CmiGroup group) {
  ConverseState& s = ConverseState::of(pe);
  const std::uint64_t key = converse_group_key(group);
  const auto waits = [&](const auto& part) { return converse_group_key(part.first) != key; };
  const auto first = std::stable_partition(s.group_parts.begin(), s.group_parts.end(), waits);
  std::vector<std::pair<std::uint16_t, ConverseReduction>> parts;
  for (auto part = first; part != s.group_parts.end(); ++part) parts.push_back(std::move(part->second));
  s.group_parts.erase(first, s.group_parts.end());
  for (auto& [id, part] : parts) over_group(group, std::move(part), id);
}

}  // namespace periapt

using namespace periapt;

extern "C" {

void* CmiReduceMergeFn_random(int*, void* mine, void**, int) { return mine; }

CmiReductionID CmiGetGlobalReduction() {
  return take_id(ConverseState::of(require_pe("CmiGetGlobalReduction")).next_global_id);
}
CmiReductionID CmiGetGlobalNodeReduction() {
  return take_id(of_process(require_pe("CmiGetGlobalNodeReduction")).next_global_id);
}
CmiReductionID CmiGetDynamicReduction() {
  Pe& pe = require_pe("CmiGetDynamicReduction");
  if (pe.index != 0) {
    fatal("CmiGetDynamicReduction on PE " + std::to_string(pe.index), "CmiGetDynamicReduction",
          "PE 0 alone gives out these numbers", "call CmiGetDynamicReductionRemote, whose answer is a message");
  }
  return take_id(ConverseState::of(pe).next_dynamic_id);
}
CmiReductionID CmiGetDynamicNodeReduction() {
  Pe& pe = require_pe("CmiGetDynamicNodeReduction");
  if (pe.process.rank() != 0) {
    fatal("CmiGetDynamicNodeReduction in process " + std::to_string(pe.process.rank()), "CmiGetDynamicNodeReduction",
          "process 0 alone gives out these numbers",
          "call CmiGetDynamicNodeReductionRemote, whose answer is a message");
  }
  return take_id(of_process(pe).next_dynamic_id);
}
void CmiGetDynamicReductionRemote(int handler, int pe, int bytes, void* data) {
  ask_for_id(handler, pe, false, bytes, data);
}
void CmiGetDynamicNodeReductionRemote(int handler, int node, int bytes, void* data) {
  ask_for_id(handler, node, true, bytes, data);
}
void CmiResetGlobalReduceSeqID() { ConverseState::of(require_pe("CmiResetGlobalReduceSeqID")).next_reduction = 0; }
void CmiResetGlobalNodeReduceSeqID() { of_process(require_pe("CmiResetGlobalNodeReduceSeqID")).next_reduction = 0; }

void CmiReduce(void* message, int bytes, CmiReduceMergeFn merge) {
  over_all(next_number(), of_message(message, bytes, merge));
}
void CmiReduceStruct(void* data, CmiReducePupFn pup, CmiReduceMergeFn merge, CmiHandler dest, CmiReduceDeleteFn del) {
  over_all(next_number(), of_data(data, pup, merge, dest, del));
}
void CmiReduceID(void* message, int bytes, CmiReduceMergeFn merge, CmiReductionID id) {
  over_all(number_of(ReductionKind::by_id, id), of_message(message, bytes, merge));
}
void CmiReduceStructID(void* data, CmiReducePupFn pup, CmiReduceMergeFn merge, CmiHandler dest, CmiReduceDeleteFn del,
                       CmiReductionID id) {
  over_all(number_of(ReductionKind::by_id, id), of_data(data, pup, merge, dest, del));
}

void CmiListReduce(int count, int* pes, void* message, int bytes, CmiReduceMergeFn merge, CmiReductionID id) {
  over_list(require_pe("CmiListReduce"), count, pes, of_message(message, bytes, merge), id);
}
void CmiListReduceStruct(int count, int* pes, void* data, CmiReducePupFn pup, CmiReduceMergeFn merge, CmiHandler dest,
                         CmiReduceDeleteFn del, CmiReductionID id) {
  over_list(require_pe("CmiListReduceStruct"), count, pes, of_data(data, pup, merge, dest, del), id);
}
void CmiGroupReduce(CmiGroup group, void* message, int bytes, CmiReduceMergeFn merge, CmiReductionID id) {
  over_group(group, of_message(message, bytes, merge), id);
}
void CmiGroupReduceStruct(CmiGroup group, void* data, CmiReducePupFn pup, CmiReduceMergeFn merge, CmiHandler dest,
                          CmiReduceDeleteFn del, CmiReductionID id) {
  over_group(group, of_data(data, pup, merge, dest, del), id);
}

void CmiNodeReduce(void* message, int bytes, CmiReduceMergeFn merge) {
  over_processes_in_order(of_message(message, bytes, merge));
}
void CmiNodeReduceStruct(void* data, CmiReducePupFn pup, CmiReduceMergeFn merge, CmiHandler dest,
                         CmiReduceDeleteFn del) {
  over_processes_in_order(of_data(data, pup, merge, dest, del));
}
void CmiNodeReduceID(void* message, int bytes, CmiReduceMergeFn merge, CmiReductionID id) {
  over_processes_by_id(of_message(message, bytes, merge), id);
}
void CmiNodeReduceStructID(void* data, CmiReducePupFn pup, CmiReduceMergeFn merge, CmiHandler dest,
                           CmiReduceDeleteFn del, CmiReductionID id) {
  over_processes_by_id(of_data(data, pup, merge, dest, del), id);
}
}
