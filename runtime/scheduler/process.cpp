// Start, carriers and end of a process.
#include "runtime/scheduler/process.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "base/clock.h"
#include "base/fatal.h"
#include "base/leaving.h"
#include "base/log.h"
#include "base/output.h"
#include "base/thread.h"
#include "machine/sim/machine.h"
#include "runtime/scheduler/arguments.h"
#include "runtime/scheduler/rare_conditions.h"
#include "runtime/scheduler/wire_check.h"

namespace periapt {

namespace {
Process* the_process = nullptr;
constexpr unsigned every_turn_mask = 15;  // turns in which PEs that seem idle run too: one in sixteen
// Turns without work before a carrier sleeps: about as long as waking it takes, like one PE alone.
constexpr int turns_before_sleep = 600;
// A PE that shares its thread runs on a stack of its own, as large as a main thread's usually is. Only what is touched
// costs memory.
constexpr std::size_t member_stack_bytes = std::size_t{8} << 20;
const scheduler::ThreadOptions members_only{.pe = -1};  // no threads of a program
}  // namespace

// --- Carrier ---------------------------------------------------------------------------------------------------------

Carrier::Carrier(Process& process, int id, std::vector<int> pes)
    : process_(process), id_(id), pes_(std::move(pes)), alone_(pes_.size() == 1 && !process.is_simulated()) {}
Carrier::~Carrier() = default;

void Carrier::make_pes() {
  members_.resize(pes_.size());
  std::vector<host::Port*> ports;
  for (std::size_t i = 0; i < pes_.size(); ++i) {
    if (process_.is_simulated()) process_.set_sim_context(pes_[i]);
    members_[i].pe = std::make_unique<Pe>(process_, pes_[i]);
    members_[i].pe->carrier = this;
    ports.push_back(&members_[i].pe->port);
    process_.by_slot_[members_[i].pe->slot] = members_[i].pe.get();
  }
  if (process_.is_simulated()) return;
  for (Member& member : members_) member.pe->port.set_siblings(ports);
}

void Carrier::run() {
  process_.layer().enter(id_);
  make_pes();
  // All PEs of the process exist before any runs. release/acquire: partners of each other; they carry by_slot_.
  process_.ready_.fetch_add(static_cast<int>(pes_.size()), std::memory_order_acq_rel);
  while (process_.ready_.load(std::memory_order_acquire) < process_.hosted_pes()) std::this_thread::yield();

  if (process_.is_simulated()) {
    run_simulated();
  } else if (alone()) {
    Pe::set_current(members_[0].pe.get());
    process_.pe_main(*members_[0].pe);
  } else {
    run_turns();
  }
}

void Carrier::member_main(void* argument) {
  Pe& pe = *static_cast<Pe*>(argument);
  pe.process.pe_main(pe);
}

Carrier::Member& Carrier::member_of(const Pe& pe) {
  const auto at = std::lower_bound(pes_.begin(), pes_.end(), pe.index);  // ascending
  return members_[static_cast<std::size_t>(at - pes_.begin())];
}

void Carrier::run_turns() {
  fibers_ = std::make_unique<scheduler::ThreadSystem>(members_only);
  for (Member& member : members_) member.fiber = fibers_->create(member_main, member.pe.get(), member_stack_bytes);
  int idle_turns = 0;
  for (unsigned turn = 0;; ++turn) {
    bool all_idle = true;
    std::uint64_t now = 0;  // read where the first PE is to be passed over: a turn in which all work needs none
    for (Member& member : members_) {
      if (member.done) continue;
      // A look into its inbox and at its timers is cheaper than a switch to it and back.
      if (member.idle && (turn & every_turn_mask) != 0 && member.pe->would_stay_idle()) {
        if (now == 0) now = clock::now_ns();
        if (now < member.pe->conditions.next_deadline_ns()) continue;
      }
      running_ = &member;
      Pe::set_current(member.pe.get());
      member.idle = false;
      const std::uint32_t idle_periods = member.pe->idle_periods();
      fibers_->resume(member.fiber);
      // One that is idle again may have worked meanwhile, and what it sent may come back soon.
      all_idle = all_idle && (member.done || (member.idle && member.pe->idle_periods() == idle_periods));
    }
    if (!all_idle) {
      idle_turns = 0;
      continue;
    }
    // Each PE has looked and found nothing: spin a little, then sleep for all of them. What the program does when a
    // PE is idle goes on.
    const bool looks = std::any_of(members_.begin(), members_.end(), [](const Member& member) {
      return !member.done && member.pe->conditions.wanted(scheduler::condition_still_idle);
    });
    if (looks || ++idle_turns < turns_before_sleep) {
      host::Port::relax();
    } else {
      std::uint64_t deadline = ~std::uint64_t{0};
      for (Member& member : members_) deadline = std::min(deadline, member.pe->next_deadline_ns());
      process_.layer().sleep(members_[0].pe->index, deadline);
      idle_turns = turns_before_sleep / 2;
      if (process_.layer().exit_announced()) _exit(process_.layer().exit_code());
    }
  }
}

// The machine says which PE is next. A PE runs one piece of work, or finds that it has none, and comes back here.
void Carrier::run_simulated() {
  sim::Machine& machine = *process_.layer().simulated();
  fibers_ = std::make_unique<scheduler::ThreadSystem>(members_only);
  for (Member& member : members_) member.fiber = fibers_->create(member_main, member.pe.get(), member_stack_bytes);
  while (true) {
    const int next = machine.next();
    if (next < 0) process_.standstill();
    Member& member = members_[static_cast<std::size_t>(next)];
    Pe& pe = *member.pe;
    running_ = &member;
    process_.set_sim_context(pe.index);
    Pe::set_current(&pe);
    member.idle = false;
    fibers_->resume(member.fiber);
    // A PE that looks again and again, for a lock or as long as nothing comes, lets time pass.
    sim::Time again = machine.now();
    if (member.done) {
      machine.retire(next);
      again = sim::kNever;
    } else if (member.idle) {
      const std::uint64_t deadline = pe.conditions.next_deadline_ns();
      const bool looks = pe.conditions.wanted(scheduler::condition_still_idle);
      again = std::min(deadline >= sim::kNever / sim::kNs ? sim::kNever : deadline * sim::kNs,
                       looks ? again + sim::Machine::kPoll : sim::kNever);
    } else if (!machine.has_begun_work()) {
      again += sim::Machine::kPoll;
    }
    machine.done(again);
  }
}

bool Carrier::yield(bool idle) {
  if (alone()) return false;
  running_->idle = idle;
  fibers_->suspend();
  return true;
}

namespace {
// The program ends a process of the run by itself.
void on_early_exit(const char* function, int status) {
  if (the_process->layer().exit_announced()) return;  // we leave because another process has ended the run
  Pe* pe = Pe::current();
  fatal(std::string("the program called ") + function + "(" + std::to_string(status) + ") before the run had ended",
        pe != nullptr && Pe::describe != nullptr ? Pe::describe(*pe) : "",
        "it ends one process, whatever the others do, and what is still to be done in it",
        "end the run with CkExit(" + std::to_string(status) +
            "), and in a main() of the program's own with CharmLibExit()");
}
}  // namespace

// --- Process ---------------------------------------------------------------------------------------------------------

Process::Process(int& argc, char** argv) : layer_(MachineLayer::start(argc, argv)) {
  CmiInt8 bytes;
  if (CmiGetArgLong(argv, "+stacksize", &bytes)) {
    if (bytes <= 0) fatal("+stacksize " + std::to_string(bytes) + " makes no sense", "command line", "it is in bytes");
    Pe::thread_stack_bytes = static_cast<std::size_t>(bytes);
  }
  if (CmiGetArgFlag(argv, "+CmiSleepOnIdle")) Pe::idle_spin_ns = 0;
  if (CmiGetArgFlag(argv, "+CmiSpinOnIdle")) Pe::idle_spin_ns = Pe::never_sleeps;
  scheduler::take_long_idle_option(argv);
  argc = CmiGetArgc(argv);
  make_carriers();
}

Process::Process(const bootstrap::HostLayout& layout) {
  auto layer = MachineLayer::start(layout);
  if (!layer) fatal(layer.message(), "start-up");
  layer_ = std::move(*layer);
  make_carriers();
}

void Process::make_carriers() {
  machine::WireFormat format;
  format.block_min = sizeof(Envelope);
  format.block_bytes = [](const void* block) { return message_bytes(*static_cast<const Envelope*>(block)); };
  format.wrong_block = [](std::uint64_t meta, const void* block) {
    return scheduler::wrong_block(meta, *static_cast<const Envelope*>(block), Process::current()->pes());
  };
  format.wrong_line = scheduler::wrong_line;
  layer_->set_wire_format(format);
  pes_ = layer_->pes();
  own_pes_ = layer_->own_pes();
  first_pe_ = layer_->first_pe();
  the_process = this;
  by_slot_.resize(static_cast<std::size_t>(layer_->simulated() ? pes_ : own_pes_));
  const bootstrap::Process& mine = layout().processes[rank()];
  for (int c = 0; c < mine.carriers; ++c) {
    int id = mine.first_carrier + c;
    carriers_.push_back(std::make_unique<Carrier>(*this, id, layout().carriers[id].pes));
  }
}

Process::~Process() = default;
Process* Process::current() { return the_process; }

void Process::run(ProcessHooks hooks) {
  hooks_ = std::move(hooks);
  leaving::watch(on_early_exit);
  for (std::size_t c = 1; c < carriers_.size(); ++c) {
    threads_.push_back(make_thread("for PEs", [this, c] { carriers_[c]->run(); }));
  }
  carriers_[0]->run();
  abort_run(1);  // not reached: a carrier leaves through finish()
}

void Process::begin_stepped(ProcessHooks hooks) {
  hooks_ = std::move(hooks);
  for (auto& carrier : carriers_) carrier->make_pes();
  for (Pe* pe : by_slot_) {
    Pe::set_current(pe);
    hooks_.begin(*pe);
  }
}

void Process::pe_main(Pe& pe) {
  try {
    hooks_.begin(pe);
    while (true) pe.run();
  } catch (const std::exception& e) {
    fatal(std::string("an exception came out of the program: ") + e.what(), Pe::describe ? Pe::describe(pe) : "",
          "a function that the scheduler calls threw it: pup(), a map, a handler, a timer", "catch it there");
  } catch (...) {
    fatal("an exception that is no std::exception came out of the program", Pe::describe ? Pe::describe(pe) : "",
          "a function that the scheduler calls threw it: pup(), a map, a handler, a timer", "catch it there");
  }
}

void Process::finish(Pe& pe, int code) {
  // Those below us in the tree must hear of the end too, even if their inboxes are full now.
  while (pe.tree_parked(0)) {
    pe.port.poll([](std::uint64_t, const void*, int) {}, 0);
    if (layer().exit_announced()) _exit(layer().exit_code());
    if (!pe.carrier->yield(true)) host::Port::relax();
  }
  if (pe.ordering() != nullptr) pe.ordering()->end();
  if (code) exit_code_.store(code, std::memory_order_relaxed);  // carried by the next line
  // The first PE goes on behind the run: it comes last.
  while (hooks_.left && pe.rank == 0 && finished_.load(std::memory_order_acquire) + 1 != hosted_pes())
    if (!pe.carrier->yield(false)) host::Port::relax();
  // acq_rel: what each PE wrote is seen by the thread that ends the process.
  if (finished_.fetch_add(1, std::memory_order_acq_rel) + 1 == hosted_pes())
    end(exit_code_.load(std::memory_order_relaxed));
  pe.carrier->member_of(pe).done = true;
  while (true) {
    if (!pe.carrier->yield(true)) pause();
  }
}

void Process::set_sim_context(int pe) {
  const int process = process_of(pe);
  layer_->set_sim_context(process);
  first_pe_ = layout().processes[static_cast<std::size_t>(process)].first_pe;
  own_pes_ = layout().processes[static_cast<std::size_t>(process)].pes;
}

void Process::standstill() {
  std::string who;
  int told = 0;
  for (Pe* pe : by_slot_) {
    if (!hooks_.explain || told == 8) break;
    set_sim_context(pe->index);
    Pe::set_current(pe);
    std::string text = hooks_.explain(*pe);
    told += text.empty() ? 0 : 1;
    who += text;
  }
  Pe::set_current(nullptr);
  if (!who.empty()) who.pop_back();  // the last end of line
  fatal("nothing will ever happen again: at " + sim::in_words(layer().simulated()->now()) +
            " no message is under way, no timer runs, and CkExit() was not called",
        who, who.empty() ? "a message was lost in the program's logic, or the last one forgot to call CkExit()" : "",
        "run it without +sim for comparison: it stands still there too");
}

void Process::end(int code) {
  leaving::is_meant();
  if (hooks_.end) hooks_.end(code);
  // While the others are there to be told.
  if (const Status printed = output::flush(); code == 0 && !printed) fatal(printed.message(), "standard output");
  layer().leave(Pe::current()->index);
  for (std::thread& thread : threads_) thread.detach();
  std::fflush(nullptr);
  if (hooks_.left) hooks_.left();
  if (code == 0) layer().start_again_if_resized();
  std::exit(code);
}

void Process::abort_run(int code) {
  leaving::is_meant();
  std::fflush(nullptr);
  if (the_process) {
    the_process->layer().end_badly(code ? code : 1);
  }
  _exit(code ? code : 1);
}

}  // namespace periapt
