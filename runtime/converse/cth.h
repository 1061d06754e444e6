// Cth, user-level threads as programs call them, and variables with a copy for each (Ctv). Plain C, and C++17: reached
// from converse.h. The threads themselves are in runtime/scheduler/ult.h.
//
// The context of the scheduler is no thread: CthSelf() is null there, and nothing can suspend.
#pragma once
#include <stddef.h>

#include "runtime/converse/per_pe.h"

#ifdef __cplusplus
#include <cstddef>
#include <cstdint>

namespace periapt {
namespace scheduler {
class Thread;
}
}  // namespace periapt
typedef periapt::scheduler::Thread* CthThread;
#else
typedef struct CthThreadStruct* CthThread;
#endif
typedef void (*CthVoidFn)(void* argument);

// Hears when a thread loses and gets the processor, and when it ends. The owner fills in the functions and `data`.
struct CthThreadListener {
  void (*suspend)(struct CthThreadListener*);
  void (*resume)(struct CthThreadListener*);
  void (*free)(struct CthThreadListener*);
  void* data;
  CthThread thread;
  struct CthThreadListener* next;
};
typedef void (*CthThreadListener_suspend)(struct CthThreadListener*);
typedef void (*CthThreadListener_resume)(struct CthThreadListener*);
typedef void (*CthThreadListener_free)(struct CthThreadListener*);

#ifdef __cplusplus
extern "C" {
#endif
// A thread that will run fn(argument) when it is first awakened or resumed. 0 bytes: the default stack (+stacksize).
CthThread CthCreate(CthVoidFn fn, void* argument, int stack_bytes);
// Threads don't move between PEs: the same as CthCreate.
CthThread CthCreateMigratable(CthVoidFn fn, void* argument, int stack_bytes);
CthThread CthSelf(void);
int CthIsMainThread(CthThread t);
int CthImplemented(void);
// Stops the calling thread until it is awakened or resumed.
void CthSuspend(void);
// Puts t into the scheduler's queue; the other form with a strategy (CQS_QUEUEING_*) and a priority.
void CthAwaken(CthThread t);
void CthAwakenPrio(CthThread t, int strategy, int priority_bits, unsigned* priority);
// Outside of a thread: what waits in the queue runs inside the call.
void CthYield(void);
void CthYieldPrio(int strategy, int priority_bits, unsigned* priority);
// Runs t now.
void CthResume(CthThread t);
// Ends t. The running thread may name itself: it ends when it next suspends.
void CthFree(CthThread t);
// A thread that may not suspend: an attempt is an error that ends the run.
void CthSetSuspendable(CthThread t, int may_suspend);
int CthIsSuspendable(CthThread t);
// Back to the scheduler's queue, after CthSetStrategy (cth_hooks.h).
void CthSetStrategyDefault(CthThread t);
void CthAddListener(CthThread t, struct CthThreadListener* listener);

// Room for a thread-private variable on this PE, and the variables of a thread.
size_t CthRegister(size_t bytes);
char* CthGetData(CthThread t);
// For CtvAccess and its like in C, on a variable that has the bytes of a PerThread.
void CtvInitialize_(void* variable, size_t bytes);
size_t CtvOffset_(const void* variable);
#ifdef __cplusplus
}

namespace periapt {
// Bytes that are zero when a thread starts. Initialise on every PE, before threads use it.
template <class T>
class PerThread {
 public:
  constexpr PerThread() = default;
  void initialize() {
    static_assert(alignof(T) <= 16, "a thread-private variable is aligned to 16 bytes at most");
    if (offset_.initialized()) return;
    offset_.initialize();
    offset_.here() = CthRegister(sizeof(T));
  }
  bool initialized() const { return offset_.initialized(); }
  T& of(CthThread t) const { return *reinterpret_cast<T*>(CthGetData(t) + offset_.here()); }

 private:
  PerPe<std::size_t> offset_;
};
}  // namespace periapt

#define CtvDeclare(t, v) ::periapt::PerThread<t> CMK_TAG(Ctv_, v)
#define CtvStaticDeclare(t, v) static ::periapt::PerThread<t> CMK_TAG(Ctv_, v)
#define CtvExtern(t, v) extern ::periapt::PerThread<t> CMK_TAG(Ctv_, v)
#define CtvInitialize(t, v) CMK_TAG(Ctv_, v).initialize()
#define CtvInitialized(v) CMK_TAG(Ctv_, v).initialized()
#define CtvAccess(v) (CMK_TAG(Ctv_, v).of(CthSelf()))
#define CtvAccessOther(t, v) (CMK_TAG(Ctv_, v).of(t))
#else
#define CtvDeclare(t, v) t** CMK_TAG(Ctv_, v)
#define CtvStaticDeclare(t, v) static t** CMK_TAG(Ctv_, v)
#define CtvExtern(t, v) extern t** CMK_TAG(Ctv_, v)
#define CtvInitialize(t, v) CtvInitialize_(&CMK_TAG(Ctv_, v), sizeof(t))
#define CtvInitialized(v) CpvInitialized_(&CMK_TAG(Ctv_, v))
#define CtvAccess(v) CtvAccessOther(CthSelf(), v)
#define CtvAccessOther(t, v) (*(__typeof__(*CMK_TAG(Ctv_, v)))(CthGetData(t) + CtvOffset_(&CMK_TAG(Ctv_, v))))
#endif
