// Cth, on the user-level threads of the PE (ult.h). What asks for strategies is in cth_hooks.cpp.
#include "runtime/converse/cth.h"

#include "base/fatal.h"
#include "runtime/converse/converse_state.h"

using namespace periapt;

static_assert(sizeof(CthThreadListener) == sizeof(scheduler::ThreadListener) &&
                  offsetof(CthThreadListener, suspend) == offsetof(scheduler::ThreadListener, suspend) &&
                  offsetof(CthThreadListener, resume) == offsetof(scheduler::ThreadListener, resume) &&
                  offsetof(CthThreadListener, free) == offsetof(scheduler::ThreadListener, free) &&
                  offsetof(CthThreadListener, data) == offsetof(scheduler::ThreadListener, data) &&
                  offsetof(CthThreadListener, thread) == offsetof(scheduler::ThreadListener, thread) &&
                  offsetof(CthThreadListener, next) == offsetof(scheduler::ThreadListener, next),
              "a program's listener is handed to the thread system as it is");

extern "C" {

CthThread CthCreate(CthVoidFn fn, void* argument, int stack_bytes) {
  return cth_pe().threads.create(fn, argument, static_cast<std::size_t>(stack_bytes));
}
CthThread CthCreateMigratable(CthVoidFn fn, void* argument, int stack_bytes) {
  return CthCreate(fn, argument, stack_bytes);
}
CthThread CthSelf() { return cth_pe().threads.current(); }
int CthIsMainThread(CthThread t) { return t == nullptr; }
int CthImplemented() { return 1; }

void CthYieldPrio(int strategy, int priority_bits, unsigned* priority) {
  if (CthSelf() == nullptr) return converse_run_waiting(cth_pe());
  CthAwakenPrio(CthSelf(), strategy, priority_bits, priority);
  CthSuspend();
}
void CthResume(CthThread t) { cth_pe().threads.resume(t); }
void CthSetSuspendable(CthThread t, int may_suspend) {
  auto& fixed = ConverseState::of(cth_pe()).may_not_suspend;
  if (may_suspend)
    fixed.erase(t->id());
  else
    fixed.insert(t->id());
}
int CthIsSuspendable(CthThread t) { return !ConverseState::of(cth_pe()).may_not_suspend.count(t->id()); }
void CthAddListener(CthThread t, CthThreadListener* listener) {
  cth_pe().threads.add_listener(t, reinterpret_cast<scheduler::ThreadListener*>(listener));
}

std::size_t CthRegister(std::size_t bytes) { return cth_pe().threads.register_local(bytes); }
void CtvInitialize_(void* variable, std::size_t bytes) {
  auto& offset = *static_cast<periapt::PerPe<std::size_t>*>(variable);
  if (offset.initialized()) return;
  offset.initialize();
  offset.here() = CthRegister(bytes);
}
std::size_t CtvOffset_(const void* variable) {
  return static_cast<const periapt::PerPe<std::size_t>*>(variable)->here();
}
char* CthGetData(CthThread t) { return static_cast<char*>(cth_pe().threads.local(t, 0)); }
}
