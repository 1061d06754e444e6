// What programs keep with threads, and strategies of their own.
#include "runtime/converse/cth_hooks.h"

#include <cstring>
#include <memory>

#include "base/fatal.h"
#include "runtime/converse/converse_state.h"

namespace periapt {

// What a program keeps with a thread beyond its stack.
struct ThreadExtra : scheduler::ThreadListener {
  CthAwkFn awaken = nullptr;  // null: the scheduler's queue
  CthThFn choose = nullptr;   // null: the scheduler
  CthThread link = nullptr;   // CthSetNext
  CthThreadToken* token = nullptr;
  bool waits = false;  // awakened by a strategy, and has not run since: the token may be in a queue
  CmiObjId id;
};

namespace {
// Of a thread that has one; null else.
ThreadExtra* thread_extra(Pe& pe, CthThread t) {
  if (!pe.converse || pe.converse->thread_extras.empty()) [[likely]]
    return nullptr;
  const auto found = pe.converse->thread_extras.find(t);
  return found == pe.converse->thread_extras.end() ? nullptr : found->second.get();
}

// The few programs that told a thread to end, or not to stop, are asked about.
void stop_as_told(Pe& pe) {
  ConverseState& s = *pe.converse;
  const CthThread self = pe.threads.current();
  if (self && s.doomed_thread == self->id()) {
    s.doomed_thread = ~std::uint64_t{0};
    pe.threads.exit();
  }
  if (self && s.may_not_suspend.count(self->id())) {
    fatal("a thread suspended that may not", "CthSuspend", "CthSetSuspendable(thread, 0) was called on it",
          "call CthSetSuspendable(thread, 1) before it waits for anything");
  }
}

void on_resume(scheduler::ThreadListener* listener) { static_cast<ThreadExtra*>(listener)->waits = false; }

// A thread has ended: what its strategy would run next gets its turn.
void on_end(scheduler::ThreadListener* listener) {
  ThreadExtra& extra = *static_cast<ThreadExtra*>(listener);
  Pe& pe = *Pe::current();
  const CthThread next = extra.choose ? extra.choose() : nullptr;
  if (next && next != extra.thread) pe.threads.awaken(next);
  if (extra.token) {
    extra.token->thread = nullptr;
    if (!extra.waits) CmiFree(extra.token);
  }
  pe.converse->thread_extras.erase(extra.thread);
}

ThreadExtra& make_extra(Pe& pe, CthThread t) {
  std::shared_ptr<ThreadExtra>& extra = ConverseState::of(pe).thread_extras[t];
  if (!extra) {
    extra = std::make_shared<ThreadExtra>();
    extra->suspend = nullptr;
    extra->resume = on_resume;
    extra->free = on_end;
    if (t) pe.threads.add_listener(t, extra.get());
  }
  return *extra;
}

void token_arrived(Pe& pe, Message message) {
  auto* token = reinterpret_cast<CthThreadToken*>(message.release());
  if (token->thread) return converse_resume(pe, token->thread);
  CmiFree(token);
}
const ConverseArrival token_arrives(handler_token, token_arrived);
}  // namespace

}  // namespace periapt

using namespace periapt;

extern "C" {

void CthSuspend() {
  Pe& pe = cth_pe();
  if (pe.converse) [[unlikely]]
    stop_as_told(pe);
  const CthThread self = pe.threads.current();
  const ThreadExtra* extra = self ? thread_extra(pe, self) : nullptr;
  const CthThread next = extra && extra->choose ? extra->choose() : nullptr;
  if (!next) return pe.suspend();
  const Delivery* const mine = pe.running;
  pe.threads.resume(next);
  pe.running = mine;
}
void CthAwaken(CthThread t) {
  Pe& pe = cth_pe();
  ThreadExtra* extra = thread_extra(pe, t);
  if (!extra || !extra->awaken) [[likely]]
    return pe.threads.awaken(t);
  extra->waits = true;
  extra->awaken(CthGetToken(t), CQS_QUEUEING_FIFO, 0, nullptr);
}
void CthAwakenPrio(CthThread t, int strategy, int priority_bits, unsigned* priority) {
  Pe& pe = cth_pe();
  ThreadExtra* extra = thread_extra(pe, t);
  if (extra && extra->awaken) {
    extra->waits = true;
    return extra->awaken(CthGetToken(t), strategy, priority_bits, priority);
  }
  if (priority_bits == 0) return pe.threads.awaken(t);
  Message message = converse_system_message(handler_thread, sizeof t, static_cast<unsigned>(priority_bits));
  std::memcpy(message.payload(), &t, sizeof t);
  converse_set_priority(message.envelope(), strategy, priority);
  converse_enqueue(pe, std::move(message));
}
void CthYield() {
  Pe& pe = cth_pe();
  if (pe.threads.current() == nullptr) [[unlikely]]
    return converse_run_waiting(pe);
  if (pe.converse) [[unlikely]] {
    stop_as_told(pe);
    if (!pe.converse->thread_extras.empty()) {
      CthAwaken(pe.threads.current());
      return CthSuspend();
    }
  }
  pe.yield();
}
void CthFree(CthThread t) {
  Pe& pe = cth_pe();
  if (t == pe.threads.current()) {
    ConverseState::of(pe).doomed_thread = t->id();
  } else {
    if (ThreadExtra* extra = thread_extra(pe, t)) extra->choose = nullptr;  // another's end gives up no turn
    pe.threads.destroy(t);
  }
}

void CthSetStrategy(CthThread t, CthAwkFn awaken, CthThFn choose) {
  if (!t) {
    fatal("a strategy for what is no thread", "CthSetStrategy",
          "CthSelf() is null in the scheduler's context: in handlers, entry methods and the start function",
          "give it to threads that CthCreate made");
  }
  ThreadExtra& extra = make_extra(cth_pe(), t);
  extra.awaken = awaken;
  extra.choose = choose;
}
void CthSetStrategyDefault(CthThread t) {
  if (ThreadExtra* extra = thread_extra(cth_pe(), t)) {
    extra->awaken = nullptr;
    extra->choose = nullptr;
  }
}
CthThreadToken* CthGetToken(CthThread t) {
  ThreadExtra& extra = make_extra(cth_pe(), t);
  if (!extra.token) {
    extra.token = static_cast<CthThreadToken*>(CmiAlloc(sizeof(CthThreadToken)));
    CmiInitMsgHeader(extra.token, sizeof(CthThreadToken));
    CmiSetHandler(extra.token, handler_token);
    extra.token->thread = t;
    extra.token->serialNo = -1;
  }
  return extra.token;
}
void CthEnqueueNormalThread(CthThreadToken* token, int strategy, int priority_bits, unsigned int* priority) {
  CmiSetHandler(token, handler_token);
  CsdEnqueueGeneral(token, strategy, priority_bits, priority);
}
void CthSetSerialNo(CthThread t, int number) { CthGetToken(t)->serialNo = number; }

CthThread CthGetNext(CthThread t) {
  const ThreadExtra* extra = thread_extra(cth_pe(), t);
  return extra ? extra->link : nullptr;
}
void CthSetNext(CthThread t, CthThread next) { make_extra(cth_pe(), t).link = next; }

CmiObjId* CthGetThreadID(CthThread t) { return &make_extra(cth_pe(), t).id; }
void CthSetThreadID(CthThread t, int a, int b, int c) {
  int* const id = CthGetThreadID(t)->id;
  id[0] = a;
  id[1] = b;
  id[2] = c;
}

std::size_t CthStackOffset(CthThread t, char* place) {
  return static_cast<std::size_t>(place - static_cast<const char*>(t->stack_low()));
}
char* CthPointer(CthThread t, std::size_t offset) {
  return const_cast<char*>(static_cast<const char*>(t->stack_low())) + offset;
}
void CthPrintThdStack(CthThread t) {
  if (!t) {
    CmiPrintf("[%d] the scheduler, on the stack of its OS thread\n", CmiMyPe());
    return;
  }
  CmiPrintf("[%d] thread %llu: a stack of %zu bytes from %p\n", CmiMyPe(), static_cast<unsigned long long>(t->id()),
            t->stack_bytes(), t->stack_low());
}
void CthPrintThdMagic(CthThread t) { CthPrintThdStack(t); }
void CthSwitchThread(CthThread t) { CthResume(t); }
CthThread CthGetCurrentThread() { return CthSelf(); }

int CthMigratable() { return 0; }
CthThread CthPup(pup_er, CthThread) {
  fatal("a thread is to be packed", "CthPup", "threads stay on the PE that made them, as CthMigratable() says",
        "migrate the object that the thread works for, and let it start another one there");
}
void CthAutoYield(CthThread, int) {}
double CthAutoYieldFreq(CthThread) { return 0; }
void CthAutoYieldBlock() {}
void CthAutoYieldUnblock() {}
void CthTraceResume(CthThread) {}
void CthSetEventInfo(CthThread, int, int) {}
void CthRegistered(std::size_t) {}
}
