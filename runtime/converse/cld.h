// Cld: messages that the runtime may put on any PE. Plain C, and C++17: reached from converse.h.
//
// info(message, &pack, &bytes, &strategy, &priority_bits, &priority) says how long a message is and how it is queued
// where it arrives, and names a function that packs it for another process, or null; it is called again when that has
// run. Both kinds of functions are registered on every PE in the same order, as handlers are.
#pragma once
#include "runtime/converse/converse.h"

typedef void (*CldPackFn)(void* message);  // takes a void** : it may give another message
typedef void (*CldInfoFn)(void* message, CldPackFn* pack, int* bytes, int* strategy, int* priority_bits,
                          unsigned int** priority);
typedef int (*CldEstimator)(void);

#ifdef __cplusplus
extern "C" {
#endif
int CldRegisterInfoFn(CldInfoFn info);
int CldRegisterPackFn(CldPackFn pack);
// Each takes the message, which came from CmiAlloc; `pe` may be CLD_ANYWHERE, CLD_BROADCAST or CLD_BROADCAST_ALL, and
// `node` too.
void CldEnqueue(int pe, void* message, int info);
void CldEnqueueMulti(int count, const int* pes, void* message, int info);
void CldEnqueueGroup(CmiGroup group, void* message, int info);
void CldNodeEnqueue(int node, void* message, int info);
void CldEnqueueWithinNode(void* message, int info);  // to every PE of this process
const char* CldGetStrategy(void);                    // charmc -balance, +seed-balancer (runtime/seeds)
int CldLoad(void);                                   // messages that are queued here
int CldEstimate(void);                               // the same, and what the estimators add
void CldRegisterEstimator(CldEstimator estimator);
// Another handler for a message, which keeps its own aside; and back.
void CldSwitchHandler(char* message, int handler);
void CldRestoreHandler(char* message);
#ifdef __cplusplus
}

namespace periapt {
class Message;
class Pe;

enum class SeedsStay : bool { no, yes };
// What CldGetStrategy() answers, and whether CLD_ANYWHERE is the PE that sends; else it is any. Before the PEs run.
void cld_strategy(const char* name, SeedsStay stay);

// Where messages for CLD_ANYWHERE wait on a PE, and go on from to others: runtime/seeds.
class SeedKeeper {
 public:
  // To be run by Pe::dispatch() when its turn comes, or given away. `from`: the PE that gave it, or this one.
  virtual void keep(Message seed, int from) = 0;
  // Those that have no place in the scheduler's queue.
  virtual int unqueued() const = 0;

 protected:
  ~SeedKeeper() = default;
};
// Of this PE, as long as it lives.
void cld_keeper(Pe& pe, SeedKeeper* keeper);
// An empty message that is queued as the seed says; null: first come, first served.
Message cld_place_of(const Message& seed);
// To the keeper of another PE. The seed isn't there any more.
void cld_give(Pe& pe, int to, Message seed);
}  // namespace periapt
#endif
