// What Converse keeps for one PE, and the way in from the dispatcher.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/converse/converse.h"
#include "runtime/message/message.h"
#include "runtime/scheduler/pe.h"

namespace periapt {

// Handlers of the runtime's own; programs' numbers follow them. 0 is a message whose handler was never set.
enum ConverseHandler : std::uint16_t {
  handler_none,
  handler_deferred,   // a message that waits in the queue with a priority it has no room for
  handler_thread,     // a thread that was awakened with a priority
  handler_group,      // the members of a CmiGroup
  handler_multicast,  // a multicast by a PE that doesn't know the group
  handler_reduce,     // a child's part of CmiReduce
  handlers_reserved = 16,
};

// One CmiReduce that isn't finished on this PE.
struct ConverseReduction {
  bool contributed = false;
  void* mine = nullptr;
  int bytes = 0;
  CmiReduceMergeFn merge = nullptr;
  CmiReducePupFn pup = nullptr;  // set: `mine` is a program's data and no message
  CmiReduceDeleteFn del = nullptr;
  CmiHandler dest = nullptr;
  std::vector<void*> children;  // messages
};

struct ConverseState {
  std::vector<CmiHandlerInfo> handlers;
  std::uint32_t handlers_assigned = 0;

  // While the program waits for messages itself (CmiGetNonLocal, CmiDeliverSpecificMsg), those that arrive go here
  // instead of to their handlers.
  bool capturing = false;
  std::deque<Message> captured;

  std::unordered_map<std::uint64_t, std::vector<int>> groups;  // by CmiGroup: PE and number
  int next_group = 0;

  std::map<std::uint64_t, ConverseReduction> reductions;
  std::uint64_t next_reduction = 0;

  std::uint64_t doomed_thread = ~std::uint64_t{0};    // CthFree(CthSelf()): ends when it suspends
  std::unordered_set<std::uint64_t> may_not_suspend;  // threads, by id

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

// A message of `bytes`, header included, ready to be sent to its handler.
Message converse_message(const void* bytes_of_it, int bytes);
// Takes a message that a program made.
Message converse_take(void* message, int bytes);

void converse_group_arrived(Pe& pe, Message message);
void converse_multicast_arrived(Pe& pe, Message message);
void converse_reduction_arrived(Pe& pe, Message message);

}  // namespace periapt
