// Start of a program that has a main() of its own and is written on Converse alone. Of the parts above the chares it
// has requests from outside.
#include "base/fatal.h"
#include "runtime/ccs/part.h"
#include "runtime/converse/converse_state.h"
#include "runtime/registry/registry.h"
#include "runtime/scheduler/process.h"

using namespace periapt;

namespace {
struct Start {
  CmiStartFn function;
  char** argv;
  bool user_scheduler;
  bool return_to_caller;
  Process* process;
  scheduler::ThreadSystem* aside;
};
Start start;

std::string place() {
  Pe* pe = Pe::current();
  return pe ? "PE " + std::to_string(pe->index) + ", process " + std::to_string(pe->process.rank()) : std::string();
}

const Part requests = ccs::part();

void begin(Pe& pe) {
  requests.begin(pe);
  if (start.return_to_caller && pe.rank == 0) start.aside->suspend();  // back in main(), which never resumes this
  const int count = CmiGetArgc(start.argv);
  std::vector<char*>& arguments = ConverseState::of(pe).arguments;
  arguments.assign(start.argv, start.argv + count + 1);
  start.function(count, arguments.data());
  if (!start.user_scheduler) CsdScheduleForever();
  realConverseExit(0);
}

void run(void*) {
  ProcessHooks hooks;
  hooks.begin = begin;
  hooks.end = [](int) { requests.end(start.process->pe(0)); };
  start.process->run(std::move(hooks));
}

void dispatch(Pe& pe, Work& work) {
  if (work.kind() != WorkKind::message)
    fatal("a call of an entry method in a program that has none", "Converse", "", "link with -language charm++");
  Delivery call{Message(work.message())};
  if (call.target == Target::runtime) return entry_info(call.entry).runtime(pe, call);
  converse_deliver(pe, std::move(call.message));
}
}  // namespace

extern "C" {

void ConverseInit(int argc, char** argv, CmiStartFn function, int user_scheduler, int return_to_caller) {
  set_place_hook(place);
  set_fatal_exit_hook(Process::abort_run);
  requests.register_entries();
  requests.take_options(argv);
  for (argc = 0; argv[argc] != nullptr;) ++argc;
  // Never destroyed: the run may end on a stack that belongs to it.
  auto* process = new Process(argc, argv);
  if (!Pe::dispatch) Pe::dispatch = dispatch;
  start = {function, argv, user_scheduler != 0, return_to_caller != 0, process, nullptr};
  if (!start.return_to_caller) {
    run(nullptr);
    return;
  }
  // PE 0 lives on our caller's stack: everything else is started from one beside it, which stops in begin().
  start.aside = new scheduler::ThreadSystem;
  start.aside->resume(start.aside->create(run, nullptr, std::size_t{1} << 20));
}
}
