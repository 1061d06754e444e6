#include "machine/bootstrap/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "base/child_processes.h"
#include "base/clock.h"
#include "base/fatal.h"
#include "base/leaving.h"
#include "machine/bootstrap/kept_memory.h"

namespace periapt::bootstrap {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kNever = ~std::uint64_t{0};

// ---- in the children: the end of the parent

// Not one that programs use. Its default action would end us too, only without the sentence.
int parent_death_signal() { return SIGRTMAX - 1; }

pid_t parent_pid = 0;
std::atomic<std::uint32_t>* parent_death_told = nullptr;  // shared: one of the children says it

void write_all(const char* text) {
  ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(written);
}

void leave_with_parent() {
  leaving::is_meant();
  if (parent_death_told->exchange(1, std::memory_order_relaxed) == 0) {
    write_all("periapt: the parent process of this run was killed; its other processes end\n");
  }
  ::_exit(1);
}

void on_parent_death(int) {
  if (::getppid() != parent_pid) leave_with_parent();
}

void become_child(int rank, const sigset_t& mask) {
  struct sigaction action {};
  action.sa_handler = on_parent_death;
  ::sigaction(parent_death_signal(), &action, nullptr);
  ::prctl(PR_SET_PDEATHSIG, parent_death_signal());
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  if (::getppid() != parent_pid) leave_with_parent();  // it died before we asked to be told
  if (rank == 0) return;
  int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) {
    ::dup2(nothing, STDIN_FILENO);
    ::close(nothing);
  }
}

// ---- in the parent

const char* cause_of(int signal) {
  if (signal == SIGKILL) return " (kill -9, or the kernel had run out of memory)";
  if (signal == SIGSEGV) return " (an invalid pointer)";
  if (signal == SIGBUS) return " (no memory behind an address: out of memory, or a truncated file)";
  if (signal == SIGABRT) return " (abort() was called)";
  return "";
}

class Watcher {
 public:
  Watcher(const HostLayout& layout, const RunWatch& watch, std::vector<pid_t> pids, const sigset_t& signals)
      : layout_(layout), watch_(watch), pids_(std::move(pids)), alive_(pids_.size()), signals_(signals) {}

  bool goes_on() const { return state_ == State::going_back; }

  // Until no child is left; then the status of the run.
  int run() {
    while (reap(), alive_ > 0) {
      siginfo_t info{};
      int signal = wait_signal(info);
      if (signal > 0 && signal != SIGCHLD) pass_on(signal);
      if (clock::now_ns() >= deadline_) escalate();
    }
    return code_;
  }

  // Before all processes could be started: ends those that were.
  void end_started() {
    code_ = 1;
    end_others();
    run();
  }

 private:
  int wait_signal(siginfo_t& info) {
    if (deadline_ == kNever) return ::sigwaitinfo(&signals_, &info);
    std::uint64_t now = clock::now_ns();
    std::uint64_t ns = deadline_ > now ? deadline_ - now : 0;
    timespec limit{static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
    return ::sigtimedwait(&signals_, &info, &limit);
  }

  void reap() {
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
        if (pids_[rank] != pid) continue;
        pids_[rank] = 0;
        --alive_;
        left(static_cast<int>(rank), pid, status);
      }
    }
  }

  bool announced() const { return watch_.exit_announced && watch_.exit_announced(); }

  void left(int rank, pid_t pid, int status) {
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    int code = signal != 0 ? 128 + signal : WEXITSTATUS(status);
    if (code != 0 && code_ == 0) code_ = code;
    if (state_ != State::running) return;  // expected
    const bool ended = watch_.ended && watch_.ended();
    if (signal == 0 && ended) return;
    // What is a mistake of the program would be made again; a process that was killed has made none. A run that ends to
    // go on with another number of PEs has not ended.
    KeptMemory* const memory = KeptMemory::of_run();
    const bool goes_on = !ended || (memory != nullptr && memory->is_resizing());
    KeptMemory* const kept = signal == SIGKILL && goes_on ? memory : nullptr;
    if (kept != nullptr && kept->may_start_again()) {
      tell(rank, pid, "was " + describe_kill(signal) + "; the run goes back to its checkpoint in memory");
      state_ = State::going_back;
      signal_all(SIGKILL);
    } else if (signal != 0 && announced()) {
      give_time(2 * kSecond);  // it has told its crash itself
    } else if (signal != 0) {
      const bool again = kept != nullptr && kept->number() != 0;
      tell(rank, pid, "was " + describe_kill(signal) + (again ? too_often_in_words() : "") + ending());
      end_others();
    } else if (code != 0 && !announced()) {
      tell(rank, pid, "left with status " + std::to_string(code) + " before the run had ended" + ending());
      end_others();
    } else if (code != 0) {
      // It said why itself, and told the others; those that don't listen are ended.
      give_time(2 * kSecond);
    } else if (!announced() && alive_ > 0) {
      early_rank_ = rank;
      early_pid_ = pid;
      give_time(2 * kSecond);
    }
  }

  void give_time(std::uint64_t ns) {
    if (deadline_ == kNever) deadline_ = clock::now_ns() + ns;
  }

  std::string ending() const { return alive_ > 0 ? "; ending the other processes" : ""; }

  void tell(int rank, pid_t pid, const std::string& what) {
    std::string line = "periapt: process " + std::to_string(rank) + " (pid " + std::to_string(pid) + ", " +
                       layout_.processes[static_cast<std::size_t>(rank)].describe_pes() + ") " + what + "\n";
    write_all(line.c_str());
  }

  void signal_all(int signal) {
    for (pid_t pid : pids_) {
      if (pid > 0) ::kill(pid, signal);
    }
  }
  void end_others() {
    state_ = State::terminated;
    deadline_ = clock::now_ns() + kSecond;
    signal_all(SIGTERM);
  }
  void pass_on(int signal) {
    if (code_ == 0) code_ = 128 + signal;
    signal_all(signal);
    state_ = State::terminated;
    deadline_ = clock::now_ns() + 3 * kSecond;
  }

  void escalate() {
    if (state_ == State::running) {
      if (code_ == 0) {
        // One process left quietly, and the others did not follow.
        if (announced()) {
          deadline_ = kNever;  // now they will
          return;
        }
        tell(early_rank_, early_pid_,
             "left with status 0 (exit() instead of CkExit()?) while others were working" + ending());
        code_ = 1;
      }
      end_others();
    } else {
      deadline_ = clock::now_ns() + kSecond;
      signal_all(SIGKILL);
    }
  }

  enum class State { running, going_back, terminated };

  const HostLayout& layout_;
  const RunWatch& watch_;
  std::vector<pid_t> pids_;  // by rank; 0: gone
  std::size_t alive_;
  sigset_t signals_;
  State state_ = State::running;
  std::uint64_t deadline_ = kNever;
  int code_ = 0;
  int early_rank_ = 0;
  pid_t early_pid_ = 0;
};

std::atomic<std::uint32_t>* shared_word() {
  void* page =
      ::mmap(nullptr, sizeof(std::atomic<std::uint32_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) fatal("no memory for the start of a run", "launch", std::strerror(errno));
  return new (page) std::atomic<std::uint32_t>(0);
}

}  // namespace

std::string describe_kill(int signal) {
  return "killed by signal " + std::to_string(signal) + ", " + ::strsignal(signal) + cause_of(signal);
}

std::string too_often_in_words() {
  return "; the run has gone back to its checkpoint in memory " + std::to_string(KeptMemory::kStartsMost) +
         " times, and got no farther";
}

int launch_processes(const HostLayout& layout, const RunWatch& watch) {
  sigset_t signals, former;
  ::sigemptyset(&signals);
  for (int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&signals, signal);
  // Kept, and blocked from before the first child on, so that none of its ends is missed.
  keep_ended_children();
  ::sigprocmask(SIG_BLOCK, &signals, &former);
  KeptMemory::open();
  parent_pid = ::getpid();
  parent_death_told = shared_word();
  std::fflush(nullptr);  // or each child would print it again

  std::vector<pid_t> pids;
  for (int rank = 0; rank < layout.process_count(); ++rank) {
    pid_t pid = ::fork();
    if (pid == 0) {
      become_child(rank, former);
      return rank;
    }
    if (pid < 0) {
      int error = errno;
      Watcher(layout, watch, pids, signals).end_started();
      fatal("could not start process " + std::to_string(rank) + " of " + std::to_string(layout.process_count()) + ": " +
                std::strerror(error),
            "launch", "a limit on processes or memory",
            "look at ulimit -u and the cgroup's pids.max, or use a larger +ppn");
    }
    pids.push_back(pid);
  }
  Watcher watcher(layout, watch, std::move(pids), signals);
  int code = watcher.run();
  const KeptMemory* const kept = KeptMemory::of_run();
  if (watcher.goes_on() || (code == 0 && kept != nullptr && kept->is_resizing())) {
    ::sigprocmask(SIG_SETMASK, &former, nullptr);
    Status again = KeptMemory::of_run()->start_again();
    write_all(("periapt: " + again.message() + "\n").c_str());
  }
  ::_exit(code);
}

}  // namespace periapt::bootstrap
