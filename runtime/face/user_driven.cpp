// See user_driven.h.
#include "runtime/face/user_driven.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "base/fatal.h"
#include "runtime/entry/start_gate.h"
#include "runtime/face/startup.h"
#include "runtime/face/watchdog.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/registry/registry.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/process.h"
#include "runtime/scheduler/ult.h"

namespace periapt {
namespace {

constexpr std::size_t scheduler_stack_bytes = std::size_t{8} << 20;  // as large as a main thread's usually is

int entry_init, entry_init_done, entry_stop_request, entry_stop, entry_stopped, entry_round_end;

// Of this process; never destroyed, as the run ends on the scheduler's stack.
struct Driver {
  scheduler::ThreadSystem stacks;
  scheduler::Thread* scheduler = nullptr;
  std::atomic<int> rounds{0};  // that have been stopped; read by all PEs of the process
  int ended = 0;               // that main() has come back from, or may
  bool initialized = false, leaving = false, left = false;
  bool stopped_here = false;  // the round, in this process alone
  // PE 0
  int initializing = 0;  // processes that have not said yet that they are
  int wanted = 0;        // rounds that are to end
  int announced = 0;     // stops that were sent
  int stopping = 0;      // processes that have not said yet that they know of the latest
};
Driver* driver = nullptr;

struct Start {
  int argc;
  char** argv;
  void (*register_main_module)();
  std::vector<Part> parts;
};

void start_program(void* argument) {
  auto& start = *static_cast<Start*>(argument);
  run_program(start.argc, start.argv, start.register_main_module, std::move(start.parts));
}

int first_pe_of(Pe& pe, int process) {
  return pe.process.layout().processes[static_cast<std::size_t>(process)].first_pe;
}

// On PE 0.
void announce_stop(Pe& pe) {
  if (driver->wanted <= driver->announced || driver->announced != driver->ended) return;
  ++driver->announced;
  driver->stopping = pe.process.count();
  for (int process = 0; process < pe.process.count(); ++process)
    send_runtime(pe, first_pe_of(pe, process), entry_stop, 0, 0, 0);
}

void on_init(Pe& pe, Delivery&) {
  send_runtime(pe, 0, entry_init_done, 0, 0, 0);
  pe.stop();
}
void on_init_done(Pe& pe, Delivery&) {
  if (--driver->initializing == 0) pe.stop();
}
void on_stop_request(Pe& pe, Delivery& call) {
  driver->wanted = std::max(driver->wanted, call.read<int>() + 1);
  announce_stop(pe);
}
void on_stop(Pe& pe, Delivery&) {
  ++driver->rounds;
  send_runtime(pe, 0, entry_stopped, 0, 0, 0);
}
// No main() goes on before all processes count the new round: what it sends may reach a PE ahead of the stop, and a
// request made there would be taken for one more of the round before.
void on_stopped(Pe& pe, Delivery&) {
  if (--driver->stopping > 0) return;
  for (int process = 0; process < pe.process.count(); ++process)
    send_runtime(pe, first_pe_of(pe, process), entry_round_end, 0, 0, 0);
}
void on_round_end(Pe& pe, Delivery&) {
  ++driver->ended;
  pe.stop();
  if (pe.index == 0) announce_stop(pe);
}

void register_entries() {
  constexpr unsigned flags = ep_expedited | ep_uncounted;
  entry_init = register_runtime_entry("user driven: initialize", on_init, ep_uncounted);
  entry_init_done = register_runtime_entry("user driven: initialized", on_init_done, flags);
  entry_stop_request = register_runtime_entry("user driven: stop request", on_stop_request, flags);
  entry_stop = register_runtime_entry("user driven: stop", on_stop, flags);
  entry_stopped = register_runtime_entry("user driven: stopped", on_stopped, flags);
  entry_round_end = register_runtime_entry("user driven: round ends", on_round_end, flags);
}

// The first PE of a process never comes back from here: main() and the scheduler take turns.
bool start(Pe& pe) {
  refuse_simulation(pe, "CharmInit");
  if (pe.rank != 0) return false;
  if (pe.index == 0) {
    make_mainchares(pe);
    pe.objects->watchdog->start();
  }
  while (true) {
    driver->stacks.suspend();
    pe.run();
  }
}

// main() goes on for the last time.
void left() {
  driver->left = true;
  driver->stacks.suspend();
}

// The scheduler runs until a stop.
void run_scheduler() { driver->stacks.resume(driver->scheduler); }

void require(bool fine, const char* function, const char* next) {
  if (!fine) fatal(std::string(function) + "() is called out of its order", "", "", next);
}

}  // namespace

bool UserDriven::is_on() { return driver != nullptr; }

void UserDriven::begin(int argc, char** argv, void (*register_main_module)(), std::vector<Part> parts) {
  require(driver == nullptr, "CharmBeginInit", "call it, or CharmInit(), once");
  driver = new Driver;
  parts.push_back({.name = "user driven", .register_entries = register_entries, .start = start, .left = left});
  static Start beginning;
  beginning = {argc, argv, register_main_module, std::move(parts)};
  driver->scheduler = driver->stacks.create(start_program, &beginning, scheduler_stack_bytes);
  run_scheduler();
}

void UserDriven::finish_init() {
  require(driver != nullptr && !driver->initialized, "CharmFinishInit", "call CharmBeginInit() once before it");
  driver->initialized = true;
  Pe& pe = *Pe::current();
  if (pe.index != 0) return run_scheduler();
  StartGate::announce(*pe.objects);
  driver->initializing = pe.process.count() - 1;
  for (int process = 1; process < pe.process.count(); ++process)
    send_runtime(pe, first_pe_of(pe, process), entry_init, 0, 0, 0);
  while (driver->initializing > 0) run_scheduler();
}

void UserDriven::run_first_round() {
  while (driver->ended == 0) run_scheduler();
}

void UserDriven::run_round() {
  require(driver != nullptr && driver->initialized && !driver->left, "StartCharmScheduler",
          "call it between CharmInit() and CharmLibExit()");
  const int before = driver->ended;
  driver->stopped_here = false;
  while (driver->ended == before && !driver->stopped_here) run_scheduler();
}

void UserDriven::stop_here() {
  Pe& pe = *Pe::current();
  require(driver != nullptr && pe.rank == 0, "StopCharmScheduler",
          "call it on the first PE of a process, after CharmInit()");
  driver->stopped_here = true;
  pe.stop();
}

void UserDriven::leave() {
  require(driver != nullptr && driver->initialized && !driver->left, "CharmLibExit", "call it once, after CharmInit()");
  driver->leaving = true;
  if (Pe::current()->index == 0) request_exit(0);
  while (!driver->left) run_scheduler();
}

void UserDriven::request_stop() {
  if (driver->leaving) return request_exit(0);
  Pe& pe = *Pe::current();
  send_runtime(pe, 0, entry_stop_request, 0, 0, driver->rounds.load());
}

}  // namespace periapt
