// The agent: charmrun on a host of the nodelist. Its standard input and output are its connection to the hub above.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "tools/charmrun/hub.h"

namespace periapt::charmrun {
namespace {

constexpr std::size_t kMuchQueued = 1 << 20;

class Agent final : public Hub {
 public:
  Agent() : above_(STDIN_FILENO, STDOUT_FILENO), heard_(seconds_now()) { above_.send_raw(kAgentMark); }

 protected:
  void up(const Frame& frame) override { above_.send(frame); }
  void add_polls(std::vector<pollfd>& polls) override {
    if (above_.in() >= 0) polls.push_back({above_.in(), POLLIN, 0});
    if (above_.out() >= 0 && above_.queued() > 0) polls.push_back({above_.out(), POLLOUT, 0});
  }
  void on_poll(const pollfd& poll) override {
    if (poll.fd == above_.out()) above_.flush();
    if (poll.fd != above_.in()) return;
    bool open = above_.fill();
    for (;;) {
      Result<std::optional<Frame>> next = above_.reader().next();
      if (!next) {
        up({FrameKind::trouble, 1, 0, "an agent was told something that it does not understand: " + next.message()});
        return lose("charmrun said something that makes no sense");
      }
      if (!next->has_value()) break;
      take(**next);
    }
    if (!open) lose("charmrun has gone; the run ends");
  }
  void on_signal(int signal) override {
    // A process of this host wants an end of it.
    if (signal == SIGTSTP) return;
    if (started_) up({FrameKind::host_lost, plan_.here.index, 0, {}});  // it goes down
    up({FrameKind::trouble, 128 + signal, 0,
        "charmrun's agent on host " + plan_.here.name + " got signal " + std::to_string(signal)});
    down({FrameKind::end, 128 + signal, 0, "charmrun's agent on this host was ended"});
  }
  void on_tick(double now) override {
    bool silent = started_ && !patient_ && above_.open() && now - heard_ > plan_.silence_seconds;
    if (silent) lose("nothing was heard of charmrun for " + std::to_string(plan_.silence_seconds) + " s; the run ends");
  }
  bool finished() override {
    if (!started_) return !above_.open();
    if (!all_ended()) return false;
    if (!std::exchange(has_told_, true)) up({FrameKind::agent_leaves, 0, 0, {}});
    return above_.queued() == 0 || above_.out() < 0 || !above_.open();
  }
  bool output_is_stuck() const override { return above_.queued() > kMuchQueued; }

 private:
  void take(const Frame& frame) {
    heard_ = seconds_now();
    patient_ = false;
    if (frame.kind == FrameKind::plan && !started_) {
      Result<RunPlan> plan = decode_plan(frame.body);
      if (!plan) {
        up({FrameKind::trouble, 1, 0, plan.message()});
        return lose(plan.message());
      }
      up({FrameKind::ready, plan->here.index, 0, {}});
      started_ = true;
      return start(*plan);
    }
    if (frame.kind == FrameKind::ping) {
      patient_ = frame.number == 1;
      up({FrameKind::pong, 0, 0, {}});
    }
    if (frame.kind < FrameKind::ready) down(frame);
  }
  void lose(const std::string& why) {
    above_.flush();
    above_.close();
    down({FrameKind::end, 1, 0, why});
  }

  Channel above_;
  double heard_;
  bool started_ = false, patient_ = false;
  bool has_told_ = false;  // that it leaves
};

}  // namespace

int run_agent() {
  Agent().run();
  return 0;
}

}  // namespace periapt::charmrun
