// Charmrun itself: the hub that a person started. It prints what comes up, gives its standard input to process 0,
// judges how processes end, and ends the run.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>

#include "base/error_text.h"
#include "machine/bootstrap/kept_memory.h"
#include "machine/bootstrap/launch.h"
#include "tools/charmrun/hub.h"

namespace periapt::charmrun {
namespace {

constexpr double kGrace = 2;     // for others to follow one that left quietly
constexpr double kPatience = 3;  // from a signal to the end by force
constexpr std::size_t kInputPiece = 1 << 16;

class Root final : public Hub {
 public:
  Root(const RunPlan& plan, int time_limit) : time_limit_(time_limit), began_(seconds_now()), progress_(began_) {
    left_.resize(static_cast<std::size_t>(plan.size));
    start(plan);
  }

 protected:
  void up(const Frame& frame) override {
    switch (frame.kind) {
      case FrameKind::output:
        return print(frame.detail, frame.body);
      case FrameKind::ready:
        ++ready_;
        progress_ = seconds_now();
        return;
      case FrameKind::arrive:
        if (frame.detail != 0) {
          if (waiting_since_ == 0) waiting_since_ = warned_ = seconds_now();
          return;
        }
        waiting_since_ = 0;
        return down({FrameKind::release, frame.number, 0, frame.body});
      case FrameKind::abort:
        return aborted(frame);
      case FrameKind::left:
        return left(frame);
      case FrameKind::trouble:
        if (!ending_) say("error: " + frame.body);
        return end(frame.number, frame.body);
      case FrameKind::missing:
        if (frame.number == released_ + 1) {
          say("waiting for " + std::to_string(static_cast<int>(seconds_now() - waiting_since_)) + " s at fence " +
              std::to_string(frame.number) + " of start-up for " + frame.body);
        }
        return;
      case FrameKind::finalized:
        program_ended_ = true;
        return;
      case FrameKind::stopped:
        return stopped(frame);
      case FrameKind::start_again:
        next_start_ = frame.body;
        return;
      case FrameKind::checkpoint_begins:
        disk_checkpoint_ = frame.body;
        return;
      case FrameKind::host_lost:
        lost_hosts_.push_back(frame.number);
        return;
      case FrameKind::drained:
        input_in_flight_ = false;
        return;
      default:
        return;
    }
  }

  void add_polls(std::vector<pollfd>& polls) override {
    bool ours = !::isatty(STDIN_FILENO) || ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();  // else reading would stop us
    if (!input_ended_ && !input_in_flight_ && ours) polls.push_back({STDIN_FILENO, POLLIN, 0});
  }
  void on_poll(const pollfd&) override {
    std::string bytes(kInputPiece, '\0');
    ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    input_ended_ = bytes.empty();
    input_in_flight_ = !input_ended_;
    down({FrameKind::input, 0, 0, std::move(bytes)});
  }

  void on_signal(int signal) override {
    if (signal == SIGTSTP) {  // hosts shall not take our silence for our end
      down({FrameKind::ping, 1, 0, {}});
      ::kill(::getpid(), SIGSTOP);
      return;
    }
    if (status_ == 0) status_ = 128 + signal;
    end_is_wanted_ = true;
    if (asked_to_end_ > 0) return end(128 + signal, "the run was interrupted");
    asked_to_end_ = seconds_now();
    down({FrameKind::signal, signal, 0, {}});
  }

  void on_tick(double now) override {
    if (ending_) return;
    if (asked_to_end_ > 0 && now - asked_to_end_ > kPatience) return end(status_, "the run was interrupted");
    if (asked_to_end_ > 0 && ready_ < plan_.here.all_hosts() - 1) return end(status_, "the run was interrupted");
    if (time_limit_ > 0 && now - began_ > time_limit_) {
      end_is_wanted_ = true;
      say("error: the run took longer than ++timelimit " + std::to_string(time_limit_) + " allows");
      return end(124, "the time limit of the run has passed");
    }
    if (quiet_since_ > 0 && now - quiet_since_ > kGrace && count_left_ < plan_.size) {
      say("error: process " + std::to_string(quiet_rank_) +
          " left with status 0 (exit() instead of CkExit()?) while others were working");
      return end(1, "a process left early");
    }
    watch_start(now);
  }

  bool finished() override { return all_ended(); }

 public:
  RunEnd run_to_the_end() {
    const int status = run();
    if (status == 0) return {0, next_start_, false, {}, disk_checkpoint_};
    const bool broken = (killed_ || !lost_hosts_.empty()) && !end_is_wanted_ && !program_ended_;
    return {status, "", broken, lost_hosts_, disk_checkpoint_};
  }

 private:
  static void say(const std::string& text) {
    std::string line = "charmrun: " + text + "\n";
    static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
  }

  void print(int stream, const std::string& text) {
    int fd = stream == 2 ? STDERR_FILENO : STDOUT_FILENO;
    for (std::size_t at = 0; at < text.size();) {
      ssize_t n = ::write(fd, text.data() + at, text.size() - at);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) {
        pollfd poll{fd, POLLOUT, 0};
        ::poll(&poll, 1, -1);
        continue;
      }
      if (n < 0) return nobody_reads(errno);
      at += static_cast<std::size_t>(n);
    }
  }

  // A reader that has left knows why. Anything else must be told, where that is possible.
  void nobody_reads(int error) {
    end_is_wanted_ = true;
    if (!ending_ && error != EPIPE) say("error: what the processes print cannot be written: " + error_text(error));
    end(1, "nobody reads charmrun's output");
  }

  // Once; what was said before stands.
  void end(int code, const std::string& why) {
    if (status_ == 0) status_ = code == 0 ? 1 : code;
    if (!ending_) down({FrameKind::end, code, 1, why});
  }

  void aborted(const Frame& frame) {
    std::vector<std::string> texts;
    if (!bootstrap::unpack_texts(frame.body, texts) || texts.size() != 2) return;
    if (ending_ || going_back_) return;
    std::string who = "process " + std::to_string(frame.number) + " on host " + texts[0];
    // Without a reason the process has said it itself.
    if (!texts[1].empty()) say(who + " ended the run with status " + std::to_string(frame.detail) + ": " + texts[1]);
    end(frame.detail, who + " ended the run" + (texts[1].empty() ? "" : ": " + texts[1]));
  }

  void left(const Frame& frame) {
    std::size_t rank = static_cast<std::size_t>(frame.number);
    std::vector<std::string> texts;
    bool sound = rank < left_.size() && !left_[rank] && bootstrap::unpack_texts(frame.body, texts) && texts.size() == 4;
    if (!sound || going_back_) return;
    left_[rank] = true;
    ++count_left_;
    int signal = WIFSIGNALED(frame.detail) ? WTERMSIG(frame.detail) : 0;
    int code = signal != 0 ? 128 + signal : WEXITSTATUS(frame.detail);
    // Others may have missed it first.
    killed_ = killed_ || (signal == SIGKILL && texts[3].empty() && texts[2] == "0" && !program_ended_);
    if (code != 0 && status_ == 0 && !ending_) status_ = code;
    if (asked_to_end_ > 0 && count_left_ == plan_.size) return end(status_, "the run was interrupted");
    if (ending_ || asked_to_end_ > 0) return;
    bool finalized = texts[1] == "finalized";
    std::string who = "process " + std::to_string(frame.number) + " on host " + texts[0];
    std::string others = count_left_ < plan_.size ? "; ending the other processes" : "";
    bool has_checkpoint = signal == SIGKILL && !program_ended_ && texts[2] != "0";
    if (texts[2] != std::to_string(started_from_)) starts_ = 0;
    if (has_checkpoint && starts_ < static_cast<int>(bootstrap::KeptMemory::kStartsMost)) {
      say(who + " was " + bootstrap::describe_kill(signal) + "; the run goes back to its checkpoint in memory");
      hosts_stopped_ = 0;
      checkpoint_ = std::numeric_limits<int>::max();
      down({FrameKind::stop, 0, 0, {}});
    } else if (signal != 0) {
      if (has_checkpoint) others = bootstrap::too_often_in_words() + others;
      say("error: " + who + " was " + bootstrap::describe_kill(signal) + ", " + phase(texts[1]) + others);
      end(code, who + " was killed");
    } else if (code != 0 && !finalized) {
      say("error: " + who + " left with status " + std::to_string(code) + " " + phase(texts[1]) + others);
      end(code, who + " left with status " + std::to_string(code));
    } else if (code == 0 && texts[1] == "here" && quiet_since_ == 0) {
      quiet_since_ = seconds_now();
      quiet_rank_ = frame.number;
    }
  }

  // All hosts go back to the checkpoint that the last of them has: the others still have that one, too.
  void stopped(const Frame& frame) {
    if (!going_back_ || ending_) return;
    checkpoint_ = std::min(checkpoint_, frame.detail);
    if (++hosts_stopped_ < plan_.here.all_hosts() - 1) return;
    if (checkpoint_ == 0) {
      say("error: the first checkpoint in memory was not whole yet on all hosts; the run ends");
      return end(128 + SIGKILL, "there is no checkpoint to go back to");
    }
    starts_ = checkpoint_ == started_from_ ? starts_ + 1 : 1;
    started_from_ = checkpoint_;
    down({FrameKind::again, checkpoint_, 0, {}});
  }
  void forget_run() override {
    Hub::forget_run();
    left_.assign(left_.size(), false);
    count_left_ = status_ = 0;
    waiting_since_ = quiet_since_ = 0;
  }

  std::string phase(const std::string& state) const {
    if (state == "finalized") return "after the end of the program";
    if (state == "started") return "before it had looked for the other processes";
    if (waiting_since_ > 0) return "in start-up, before all had met at fence " + std::to_string(released_ + 1);
    return "before the run had ended";
  }

  void watch_start(double now) {
    int every = plan_.watchdog_seconds;
    if (every == 0) return;
    if (ready_ < plan_.here.all_hosts() - 1 && now - progress_ > every) {
      progress_ = now;
      std::string names;
      for (const Below& below : belows_) {
        if (below.state == Below::State::starting) names += (names.empty() ? "" : ", ") + below.plan.name;
      }
      if (!names.empty())
        say("still waiting for an answer of " + names + " (++timeout " + std::to_string(plan_.timeout_seconds) + ")");
    }
    if (waiting_since_ > 0 && now - warned_ > every) {
      warned_ = now;
      down({FrameKind::ask_missing, released_ + 1, 0, {}});
    }
  }

  int time_limit_;
  double began_, progress_;
  double waiting_since_ = 0;  // a process waits at a fence
  double warned_ = 0;
  double asked_to_end_ = 0;  // by a signal
  double quiet_since_ = 0;   // a process left with status 0, without the end of the run
  int quiet_rank_ = 0;
  int ready_ = 0;  // agents
  int count_left_ = 0;
  std::vector<bool> left_;                  // by rank
  bool program_ended_ = false;              // a process has said so
  int hosts_stopped_ = 0, checkpoint_ = 0;  // while the run goes back
  int started_from_ = 0, starts_ = 0;       // the checkpoint that it went back to last, and how often
  bool input_ended_ = false, input_in_flight_ = false;
  std::string next_start_;       // of the run, when it ends as it should
  bool end_is_wanted_ = false;   // by a person: a signal, the time limit, output that is read no more
  bool killed_ = false;          // a process was, and the run ends for it
  std::vector<int> lost_hosts_;  // by index
  std::string disk_checkpoint_;  // the folder to which one was begun last
};

}  // namespace

RunEnd run_root(const RunPlan& plan, int time_limit) {
  Root root(plan, time_limit);
  return root.run_to_the_end();
}

}  // namespace periapt::charmrun
