// A process of the run: its PEs, and the OS threads (carriers) that run them.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/scheduler/pe.h"

namespace periapt {

// What the floor above does at the turning points of a run.
struct ProcessHooks {
  std::function<void(Pe&)> begin{};  // on each PE's own thread, when all PEs of the process exist
  std::function<void(int)> end{};    // once, on the thread that ends the process, with the exit code
  // Where the process goes on when the run is over, on its first PE, and does not come back; null: it exits.
  void (*left)() = nullptr;
  // Of a simulated run in which nothing will ever happen again: which object waits for what. Asked for each PE.
  std::function<std::string(Pe&)> explain{};
};

// An OS thread that runs one PE, or several in turn when there are more PEs than cores.
class Carrier {
 public:
  Carrier(Process& process, int id, std::vector<int> pes);
  ~Carrier();
  void run();
  // From a PE that has nothing to do, or has had its share: the other PEs of this thread run. False when it has the
  // thread for itself.
  bool yield(bool idle);
  bool alone() const { return alone_; }

 private:
  friend class Process;
  struct Member {
    std::unique_ptr<Pe> pe;
    scheduler::Thread* fiber = nullptr;
    bool idle = false;
    bool done = false;
  };
  void make_pes();
  Member& member_of(const Pe& pe);
  void run_turns();
  [[noreturn]] void run_simulated();
  static void member_main(void* pe);

  Process& process_;
  int id_;
  std::vector<int> pes_;
  const bool alone_;  // runs one PE, at any time
  std::vector<Member> members_;
  Member* running_ = nullptr;
  std::unique_ptr<scheduler::ThreadSystem> fibers_;
};

class Process {
 public:
  // Takes the options of layout out of argv and starts the other processes of the run (each returns from here).
  Process(int& argc, char** argv);
  // For tests: one process, nothing taken from a command line. See begin_stepped().
  explicit Process(const bootstrap::HostLayout& layout);
  ~Process();

  MachineLayer& layer() { return *layer_; }
  const bootstrap::HostLayout& layout() const { return layer_->layout(); }
  int rank() const { return layer_->process(); }          // CkMyNode
  int count() const { return layout().process_count(); }  // CkNumNodes
  int pes() const { return pes_; }                        // CkNumPes
  int own_pes() const { return own_pes_; }                // CkMyNodeSize
  int first_pe() const { return first_pe_; }
  int process_of(int pe) const { return layout().process_of[pe]; }
  Pe& pe(int slot) { return *by_slot_[slot]; }
  // PEs and processes that are in this OS process: more than own_pes() and 1 when the machine is simulated.
  int hosted_pes() const { return static_cast<int>(by_slot_.size()); }
  int hosted_processes() const { return layer_->simulated() ? count() : 1; }
  sim::Machine* simulated() const { return layer_->simulated(); }
  bool is_simulated() const { return layer_->simulated() != nullptr; }
  // Of a simulated machine: what is said of "this process" is about the one of that PE from now on.
  void set_sim_context(int pe);
  bool is_mine(int pe) const { return pe >= first_pe() && pe < first_pe() + own_pes(); }

  // Runs the PEs. Never returns: the run ends in finish().
  [[noreturn]] void run(ProcessHooks hooks);
  // Makes the PEs and runs the begin hook of each, here, and returns: the caller steps them, one at a time, with
  // Pe::set_current(&pe) before and a carrier for each PE.
  void begin_stepped(ProcessHooks hooks);
  // Called once by each PE at the end of the run; does not return. The process exits, or goes where ProcessHooks::left
  // says, when all have come.
  [[noreturn]] void finish(Pe& pe, int code);
  // Ends all processes of the run now.
  [[noreturn]] static void abort_run(int code);

  static Process* current();

 private:
  friend class Carrier;
  void make_carriers();
  void pe_main(Pe& pe);
  [[noreturn]] void standstill();
  [[noreturn]] void end(int code);

  std::unique_ptr<MachineLayer> layer_;
  int pes_ = 0, own_pes_ = 0, first_pe_ = 0;  // the layer's, for the hot path
  std::vector<std::unique_ptr<Carrier>> carriers_;
  std::vector<Pe*> by_slot_;
  std::vector<std::thread> threads_;
  ProcessHooks hooks_;
  std::atomic<int> ready_{0};      // PEs made
  std::atomic<int> finished_{0};   // PEs in finish()
  std::atomic<int> exit_code_{0};  // the last one that wasn't 0
};

}  // namespace periapt
