// A hub: the part of charmrun that stands on a host. The first one (root.cpp) is charmrun itself; one more, the agent
// (agent.cpp), runs on each host of the nodelist, started by the hub above it. A hub starts the processes of its host
// and the agents below it, and carries frames between them and what is above:
//
//   up     output, ends, troubles as they come; the values of a fence in one frame when all processes below have come
//   to it down   releases of fences, standard input, signals, the end of the run
//
// When a process was killed that has a checkpoint in the memory of its host (kept_memory.h), charmrun has all hubs kill
// their processes (stop), hears of each when they have ended and which checkpoint its host has (stopped), and has them
// started again (again) from the one that all hosts have.
//
// So charmrun has one connection a host, a fence costs one message up and one down for each host, and what one process
// put travels once to each host. Reading a value is a question to the agent of the own host.
// One thread, one poll loop; nothing in it blocks but writing to the user's own standard output.
#pragma once

#include <poll.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tools/charmrun/channel.h"
#include "tools/charmrun/plan.h"

namespace periapt::charmrun {

class Hub {
 public:
  virtual ~Hub();
  /// Until everything has ended; then the status of the run.
  int run();

 protected:
  Hub();

  using Frame = bootstrap::Frame;
  using FrameKind = bootstrap::FrameKind;

  /// A process of this host.
  struct Local {
    int rank = 0;
    pid_t pid = -1;  ///< -1: gone
    Channel world;
    int input = -1, output = -1, errors = -1;
    std::string held[2];            ///< unfinished lines of output and errors
    double held_since[2] = {0, 0};  ///< when something was last read
    std::string waiting_input;
    bool input_ends = false;
    bool here = false, finalized = false, ended = false, told = false;
    bool killed_by_us = false;
    int wait_status = 0;
    int at_fence = 0;
  };
  /// An agent below.
  struct Below {
    HostPlan plan;
    pid_t pid = -1;
    Channel channel;
    int errors = -1;
    std::string before;  ///< what the host said before the agent did
    std::string said;    ///< on its standard error, before the agent was ready
    enum class State { waiting, starting, ready, gone } state = State::waiting;
    double since = 0;  ///< of starting
    double heard = 0;
    int at_fence = 0;
    int ended_ranks = 0;
    bool has_left = false;  ///< it has said that nothing follows
    bool reaped = false;
    int wait_status = 0;
  };

  /// What came from this hub or below it: the agent hands it on, the root acts on it.
  virtual void up(const Frame& frame) = 0;
  /// What is beside processes and agents: descriptors to wait for, and what to do with those that are ready.
  virtual void add_polls(std::vector<pollfd>& polls) = 0;
  virtual void on_poll(const pollfd& poll) = 0;
  virtual void on_signal(int signal) = 0;
  virtual void on_tick(double now) = 0;
  virtual bool finished() = 0;
  virtual bool output_is_stuck() const { return false; }  ///< don't read more from processes

  /// What comes from above, or from the root itself: for this host and all below.
  void down(const Frame& frame);
  void start(const RunPlan& plan);
  void kill_everything(int signal);
  bool all_ended() const;
  /// Before processes are started again.
  virtual void forget_run();
  /// Which have not come to a fence, in words; "" when all have.
  std::string who_is_missing(int fence) const;

  RunPlan plan_;
  std::vector<Local> locals_;
  std::vector<Below> belows_;
  bool ending_ = false;       ///< the end frame has gone down
  bool going_back_ = false;   ///< from stop to again
  bool awaits_word_ = false;  ///< a process has ended badly, and charmrun says whether the run goes back or ends
  double ending_since_ = 0;
  int status_ = 0;
  int released_ = 0;  ///< fences passed

 private:
  void start_locals();
  void stop_locals();
  void tell_stopped();
  void start_again(int checkpoint);
  void start_waiting_belows();
  void start_below(Below& below);
  void fail_below(Below& below, const std::string& why);
  void poll_once();
  void read_signals();
  void reap();
  void reaped_below(Below& below);
  void tick();
  void escalate(double now);

  void on_world(Local& local);
  void from_process(Local& local, Frame& frame);
  void read_output(Local& local, int stream, bool to_the_end);
  void give_out(Local& local, int stream, bool all);
  void give_out_unfinished(double looked, bool at_pipes);
  void feed_input(Local& local);
  void settle(Local& local);
  void tell_not_started(const Local& local, const std::string& why);

  void on_below(Below& below);
  void on_below_errors(Below& below);
  void from_below(Below& below, Frame& frame);

  void look_at_fence();
  void release(const Frame& frame);

  int signal_fd_ = -1;
  double last_ping_ = 0;
  std::map<std::string, std::string> values_;
  std::vector<std::string> new_values_;  // key, value, ... since the last fence was handed up
  int handed_up_ = 0;                    // the last fence handed up
  int told_waiting_ = 0;                 // the last fence of which it is known above that a process waits at it
};

double seconds_now();

/// The path of this program.
std::string own_path();

/// What an agent says before its first frame, so that what a host's shell start-up files print is told from it.
inline constexpr char kAgentMark[] = "\n<periapt-charmrun-agent-1>\n";

struct RunEnd {
  int status = 0;
  std::string next_start;  ///< the run is to be started again, so (machine/bootstrap/resized_start.h); "": it is over
  bool broken = false;     ///< hosts were lost, or a process was killed, and no person wanted the end
  std::vector<int> lost_hosts;  ///< by index
  std::string checkpoint;       ///< the folder to which this start of the run has last begun to write one; "": none
};
/// Charmrun's own work: from the plan to the end of the run. `time_limit` in seconds, 0: none.
RunEnd run_root(const RunPlan& plan, int time_limit);
/// `charmrun ++agent`: plan and everything else come over standard input and go over standard output.
int run_agent();

}  // namespace periapt::charmrun
