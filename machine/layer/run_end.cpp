// See run_end.h.
#include "machine/layer/run_end.h"

#include <algorithm>
#include <chrono>

#include "base/fatal.h"
#include "base/log.h"
#include "base/thread.h"

namespace periapt::machine {

namespace {
// Looks for the end, each a fortieth of a second, before it is said that a process is missed, or that it ended the run.
constexpr int kLooks = 60;
constexpr int kTurn = 20, kTurnsMost = 10;
// From the notice on that another process ends the run: the launcher hears of it, and ends us. To leave before it has
// heard would be one more reason that it tells.
constexpr int kLooksTold = 120;
constexpr std::chrono::milliseconds kPause(25);
}  // namespace

// "process 3 (PEs 6-7)"
std::string RunEnd::name_of(int which) const {
  const bootstrap::Process& other = layout_.processes[static_cast<std::size_t>(which)];
  std::string text = "process " + std::to_string(which) + " (" + other.describe_pes();
  if (layout_.host_count() > 1) text += ", host " + std::to_string(other.host);
  return text + ")";
}

// A process is missed, and the run can't go on. Mostly it has said why, and the launcher, our parent or a notice is
// about to end us all; they get a moment. Of several hosts the first speaks; where a network has fallen into parts, the
// first of each, for it tells the others of its part before their turn.
void RunEnd::end_for(int which, const std::string& what, const std::string& where, const std::string& next) {
  const int lost = layout_.processes[static_cast<std::size_t>(which)].host;
  const int before_us = layout_.host - (lost < layout_.host ? 1 : 0);  // of the hosts that are left
  const int turn = before_us == 0 ? 0 : kLooks + std::min(before_us - 1, kTurnsMost) * kTurn;
  end_after(kLooks + turn, [=, this] {
    if (!memory_.control().first_to_tell()) return;  // one of this host says it
    fatal(what + "; this run ends", where, "", next);
  });
}

// On a thread of its own, for this one may be needed for that notice.
void RunEnd::end_after(int looks, std::function<void()> otherwise) {
  if (waits_.exchange(true, std::memory_order_relaxed)) return;
  waiting_ = make_thread("that waits for the end of the run", [this, looks, otherwise = std::move(otherwise)] {
    bool told = false;
    for (int left = looks; left > 0; --left) {
      if (!told && told_elsewhere_.load(std::memory_order_relaxed)) {
        told = true;
        left = kLooksTold;
      }
      if (ending()) return;
      if (!job_.world->well(nullptr)) return memory_.announce_exit(1);
      std::unique_lock<std::mutex> lock(mutex_);
      if (left_.wait_for(lock, kPause, [this] { return has_left_; })) return;
    }
    told_elsewhere_.load(std::memory_order_relaxed) ? memory_.announce_exit(1) : otherwise();
  });
}

// What that thread looks at goes with what this was made with: another process may have left a moment before this one.
RunEnd::~RunEnd() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    has_left_ = true;
  }
  left_.notify_all();
  if (!waiting_.joinable()) return;
  waiting_.get_id() == std::this_thread::get_id() ? waiting_.detach() : waiting_.join();
}

void RunEnd::lost(int which, const std::string& reason) {
  end_for(which, name_of(which) + " cannot be reached any more: " + reason, "network",
          "look at what that process said last, and whether its host is up");
}

void RunEnd::disconnected() {
  told_elsewhere_.store(true, std::memory_order_relaxed);
  end_after(kLooks, [this] { memory_.announce_exit(1); });
}

void RunEnd::watch(WatchConfig& watched, const std::vector<int>& sockets) {
  watched.sockets = sockets;
  watched.launcher_fd = job_.world->wait_fd();
  watched.launcher = [this](std::string* reason) { return job_.world->well(reason); };
  watched.gone = [this](int socket) { gone(socket); };
  watched.ended_by_launcher = [this](const std::string& reason) { ended_by_launcher(reason); };
  watched.leaving_badly = [this] { tell_others(); };
}

void RunEnd::gone(int socket) {
  // The first process of the host sees all others, they see it.
  const int first = layout_.this_host().first_process;
  const int which = process_ == first ? first + 1 + socket : first;
  end_for(which, name_of(which) + " of this host has gone", "this host",
          "look at what that process said last; a kill -9 or a lack of memory lets it say nothing");
}

// `reason`: empty when the launcher has said it. Without one that could, this process alone is left to say it.
void RunEnd::ended_by_launcher(const std::string& reason) {
  if (ending()) return;
  const bool says_it = !reason.empty() && !job_.watched_by_parent && memory_.control().first_to_tell();
  if (says_it) log::warn(reason + "; " + name_of(process_) + " ends with it");
  memory_.announce_exit(1);
}

void RunEnd::tell_others() {
  const int code = leaving_with_.load(std::memory_order_acquire);
  if (net_) net_->shutdown();
  job_.world->abort(code, {});  // why, it has said itself
}

}  // namespace periapt::machine
