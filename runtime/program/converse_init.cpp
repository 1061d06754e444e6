// Start of a program that has a main() of its own and begins with ConverseInit(). One that is written on Converse alone
// has, of the parts above the chares, requests from outside; one that calls _initCharm() has all of them.
#include "runtime/program/converse_init.h"

#include "base/fatal.h"
#include "runtime/ccs/part.h"
#include "runtime/converse/converse_state.h"
#include "runtime/face/charm_options.h"
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

// The first PE of a process goes on in main(), where ConverseInit() returns there.
void call_start_function(Pe& pe) {
  if (start.return_to_caller && pe.rank == 0) start.aside->suspend();  // back in main(), which never resumes this
  const int count = CmiGetArgc(start.argv);
  std::vector<char*>& arguments = ConverseState::of(pe).arguments;
  arguments.assign(start.argv, start.argv + count + 1);
  start.function(count, arguments.data());
}

void begin(Pe& pe) {
  requests.begin(pe);
  requests.start(pe);
  call_start_function(pe);
  if (!start.user_scheduler) CsdScheduleForever();
  realConverseExit(0);
}

// With chares the scheduler runs behind this, unless the program runs it itself.
bool begin_with_chares(Pe& pe) {
  call_start_function(pe);
  if (start.user_scheduler) realConverseExit(0);
  return false;
}

void run_with_chares(void*) {
  program::run_with_chares(CmiGetArgc(start.argv), start.argv,
                           {.name = "main of the program", .start = begin_with_chares});
}

void run(void*) {
  ProcessHooks hooks;
  hooks.begin = begin;
  hooks.end = [](int) { requests.end(start.process->pe(0)); };
  start.process->run(std::move(hooks));
}

// Where main() goes on, the first PE lives on its stack: everything else is started from one beside it, which stops in
// call_start_function().
void begin_beside(void (*what)(void*)) {
  if (!start.return_to_caller) return what(nullptr);
  start.aside = new scheduler::ThreadSystem;
  start.aside->resume(start.aside->create(what, nullptr, std::size_t{8} << 20));
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
  start = {function, argv, user_scheduler != 0, return_to_caller != 0, nullptr, nullptr};
  if (program::run_with_chares) return begin_beside(run_with_chares);
  set_place_hook(place);
  set_fatal_exit_hook(Process::abort_run);
  requests.register_entries();
  requests.take_options(argv);
  take_charm_options(argv);
  argc = CmiGetArgc(argv);
  // Never destroyed: the run may end on a stack that belongs to it.
  auto* process = new Process(argc, argv);
  if (!Pe::dispatch) Pe::dispatch = dispatch;
  start.process = process;
  begin_beside(run);
}
}
