#include "runtime/face/when_idle.h"

#include <string>
#include <unordered_map>

#include "base/fatal.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/scheduler/process.h"

namespace {

using periapt::Pe;

// Written before the program starts, read by every PE.
std::unordered_map<int, periapt::IdleFunction>& idle_functions() {
  static std::unordered_map<int, periapt::IdleFunction> functions;
  return functions;
}

struct IdleCall {
  periapt::IdleFunction function;
  void* object;
};

void ask_again(IdleCall* call);

void run(void* argument) {
  auto* call = static_cast<IdleCall*>(argument);
  if (call->function(call->object)) return ask_again(call);
  delete call;
}

void ask_again(IdleCall* call) {
  Pe::current()->conditions.call_once(periapt::scheduler::condition_still_idle, run, call);
}

}  // namespace

void CkRegisterIdleEntry(int ep, periapt::IdleFunction function) { idle_functions()[ep] = function; }

void CkCallWhenIdle(int ep, void* object) {
  const auto found = idle_functions().find(ep);
  if (found == idle_functions().end())
    periapt::fatal("CkCallWhenIdle() is given an entry that is not [whenidle]", describe_running(*Pe::current()),
                   "the number is " + std::to_string(ep),
                   "declare it in the .ci file as entry [whenidle] bool name(), and pass CkIndex_X::name()");
  ask_again(new IdleCall{found->second, object});
}
