// What Converse keeps for one PE, and the way in from the dispatcher.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/converse/converse.h"
#include "runtime/message/message.h"
#include "runtime/scheduler/pe.h"

namespace periapt {

// Handlers of the runtime's own; programs' numbers follow them. 0 is a message whose handler was never set.
enum ConverseHandler : std::uint16_t {
  handler_none,
  handler_deferred,        // a message that waits in the queue with a priority it has no room for
  handler_thread,          // a thread that was awakened with a priority
  handler_token,           // the token of a thread that has a strategy of its own (cth_hooks.h)
  handler_group,           // the members of a CmiGroup
  handler_group_wanted,    // a PE asks for them
  handler_multicast,       // a multicast by a PE that doesn't know the group
  handler_reduce,          // a child's part of a reduction
  handler_node_part,       // a PE's part of a reduction over processes
  handler_reduction_id,    // a PE asks for a number for a reduction
  handler_quiescence,      // a word of the search for quiescence
  handler_future,          // the value of a Cfuture
  handler_seed,            // a message that CldEnqueue sent
  handler_cpm,             // a call of a CpmInvokable function that is queued, or gets a thread
  handler_one_sided,       // a word of CmiPut or CmiGet
  handler_path,            // what CPathSend sends
  handler_path_reduction,  // a PE's part of a CPathReduce
  handler_seed_token,      // the place of a seed in the queue, from which it may be taken back
  handler_seed_given,      // a seed that its keeper has given away (cld.h)
  handler_work,            // what a program took from the scheduler's queue, and is no message for a handler of its own
  handler_ipc,             // a process has made a CmiIpcManager, or all of the host have
  handlers_internal,
  handlers_reserved = 32,
};
static_assert(handlers_internal <= handlers_reserved, "programs' handlers begin behind the runtime's own");
// Numbers that PEs give out for themselves alone, and PE 0 for all, by turns from here on.
constexpr int handlers_apart = 0x4000;

// A reduction that isn't finished on this PE.
struct ConverseReduction {
  bool contributed = false;
  int parent = -1;  // PE; -1: the end is here
  int children_wanted = 0;
  void* mine = nullptr;
  int bytes = 0;
  std::uint16_t handler = 0;  // of `mine`, when that is a message
  CmiReduceMergeFn merge = nullptr;
  CmiReducePupFn pup = nullptr;  // set: `mine` is a program's data and no message
  CmiReduceDeleteFn del = nullptr;
  CmiHandler dest = nullptr;
  std::vector<void*> children;  // messages
};

// A seed that waits in the queue, or the place of one that was taken back (cld.cpp).
struct SeedToken;

class SeedKeeper;

// What a program keeps with a thread; made when it is first asked for (cth_hooks.h).
struct ThreadExtra;

// Messages sent and handled here, for CmiStartQD (conv_qd.h).
struct ConverseCounts {
  std::int64_t created = 0, processed = 0;
};
struct QuiescenceSearch;
// Arrays of threads (cpath.cpp).
struct Paths;

// What a PersistentHandle of this PE stands for.
struct PersistentChannel {
  int to = 0;  // PE
  int bytes_max = 0;
  bool destroyed = false;
};

struct ConverseState {
  std::vector<CmiHandlerInfo> handlers;
  int next_handler = handlers_reserved;
  int next_local_handler = handlers_apart, next_global_handler = handlers_apart + 1;

  // While the program waits for messages itself (CmiGetNonLocal, CmiDeliverSpecificMsg), those that arrive go here
  // instead of to their handlers.
  bool capturing = false;
  std::deque<Message> captured;
  int yields_nested = 0;  // converse_run_waiting() inside of one another

  std::unordered_map<std::uint64_t, std::vector<int>> groups;  // by CmiGroup: PE and number
  int next_group = 0;
  // Parts of reductions over groups that this PE is yet to hear of.
  std::vector<std::pair<CmiGroup, std::pair<std::uint16_t, ConverseReduction>>> group_parts;

  std::map<std::uint64_t, ConverseReduction> reductions;  // by number: reductions.cpp says which
  std::uint32_t next_reduction = 0;                       // how many CmiReduce have begun here
  CmiUInt2 next_global_id = 1, next_dynamic_id = 2;       // the next CmiReductionID for all PEs that ask, and for PE 0

  std::uint64_t doomed_thread = ~std::uint64_t{0};    // CthFree(CthSelf()): ends when it suspends
  std::unordered_set<std::uint64_t> may_not_suspend;  // threads, by id
  std::unordered_map<CthThread, std::shared_ptr<ThreadExtra>> thread_extras;

  ConverseCounts counts;
  std::shared_ptr<QuiescenceSearch> quiescence;
  std::shared_ptr<Paths> paths;

  std::vector<PersistentChannel> channels;
  std::uint32_t next_ipc_manager = 0;  // CmiMakeIpcManager
  std::set<std::array<int, 5>> grid;   // CmiGridQueueRegister
  std::vector<void*> channels_in_use;  // CmiUsePersistentHandle
  std::size_t next_channel = 0;        // of those
  // Ends the run when a message to PE `to` doesn't fit the channel in use; set since the first CmiUsePersistentHandle.
  void (*check_channel)(ConverseState& state, int to, std::size_t bytes) = nullptr;
  double timer_resolution_s = 0.005;  // CcdSetResolution
  std::vector<int (*)()> estimators;  // CldRegisterEstimator
  std::list<SeedToken*> seed_tokens;  // the next to be taken back first
  int seed_places_left = 0;           // in the queue, of those that were taken back
  SeedKeeper* seed_keeper = nullptr;  // null: seeds wait nowhere
  bool helps_others = true;           // CmiSetPeHelpsOtherThreads

  std::shared_ptr<Queue_struct> scheduler_queue;  // CpvAccess(CsdSchedQueue), once it was asked for (cqs.cpp)

  std::vector<char*> arguments;  // the PE's own, with a null behind them; the program may keep their address

  std::string line[2];  // what was written to ckout and ckerr since the last end of line

  ConverseState();
  static ConverseState& of(Pe& pe) {
    if (!pe.converse) pe.converse = std::make_shared<ConverseState>();
    return *pe.converse;
  }
};

// The PE that calls, or an end of the run that names the function that needs one.
Pe& require_pe(const char* function);

// The dispatcher's way in: runs the handler of a message, which owns it then.
void converse_deliver(Pe& pe, Message message);
// The same of a message that was delivered before, or never sent.
void converse_run(Pe& pe, Message message);

// How all of Converse sends and queues: counted for CmiStartQD, but for PEs of other partitions.
void converse_send(Pe& pe, int to, Message message);
void converse_enqueue(Pe& pe, Message message);
// Runs, inside the call, what waits in the queue now.
void converse_run_waiting(Pe& pe);
// One that waits elsewhere counts as if it were queued, until it is delivered.
void converse_count(Pe& pe, Message& message);
// What the scheduler would run next, for CmiHandleMessage; a null message: there is nothing.
Message converse_take_next(Pe& pe);
void converse_broadcast(Pe& pe, Message message);  // to every PE but this one
void converse_send_list(Pe& pe, int count, const int* pes, Message message);

// A message of `bytes`, header included, ready to be sent to its handler.
Message converse_message(const void* bytes_of_it, int bytes);
// Takes a message that a program made.
Message converse_take(void* message, int bytes);

// A message of the runtime's own.
Message converse_system_message(ConverseHandler handler, std::size_t payload, unsigned priority_bits = 0);
// The priority of a message with room for it. `strategy`: CQS_QUEUEING_*.
void converse_set_priority(Envelope* envelope, int strategy, const void* words);
// Runs a thread from the scheduler's context.
void converse_resume(Pe& pe, scheduler::Thread* thread);
// The PE of a call of Cth; without one the run ends with a sentence.
inline Pe& cth_pe() {
  Pe* pe = Pe::current();
  return pe ? *pe : require_pe("a Cth call");
}

// What the runtime's own handlers do. Those that other sources have than converse.cpp come by a ConverseArrival there,
// a global variable: so converse.cpp names none of these sources, and what a program doesn't use is not linked into it,
// where it might have the same names as something of the program's own.
using InternalHandler = void (*)(Pe&, Message);
struct ConverseArrival {
  ConverseArrival(ConverseHandler handler, InternalHandler function);
};
void converse_group_arrived(Pe& pe, Message message);
void converse_group_wanted(Pe& pe, Message message);
void converse_multicast_arrived(Pe& pe, Message message);

// What a group is found by; and the PE that made it, or an end of the run when there is none.
std::uint64_t converse_group_key(CmiGroup group);
int converse_group_maker(std::uint64_t key);
// Hears of the members of a group: contributes what has waited for them.
void converse_group_known(Pe& pe, CmiGroup group);

}  // namespace periapt
