#include "machine/layer/watch.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

#include "base/error_text.h"
#include "base/fatal.h"
#include "base/thread.h"

namespace periapt::machine {
namespace {

constexpr std::uint64_t kBell = ~std::uint64_t{0};
constexpr std::uint64_t kLauncher = kBell - 1;
constexpr std::uint64_t kNet = kBell - 2;
constexpr int kLookMs = 100;  // for a launcher without a descriptor to wait for

void add(int epoll, int fd, std::uint32_t events, std::uint64_t what) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = what;
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

}  // namespace

Watch::Watch(WatchConfig watched) : watched_(std::move(watched)) {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (epoll_ < 0 || bell_ < 0)
    fatal("this process cannot be watched over: epoll or eventfd: " + error_text(), "start-up");
  add(epoll_, bell_, EPOLLIN, kBell);
  for (std::size_t i = 0; i < watched_.sockets.size(); ++i) add(epoll_, watched_.sockets[i], EPOLLIN | EPOLLRDHUP, i);
  if (watched_.launcher_fd >= 0) add(epoll_, watched_.launcher_fd, EPOLLIN, kLauncher);
  // Signals are for the program's own threads.
  sigset_t all, former;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &former);
  thread_ = make_thread("that watches over this process", [this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
}

Watch::~Watch() {
  stop_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  static_cast<void>(!::write(bell_, &one, sizeof one));
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
    ::close(epoll_);
    ::close(bell_);
  }
}

// Known to epoll_ only while a PE sleeps: what arrives at a descriptor tells each epoll that knows it, and the
// sender pays for that.
void Watch::arm_net() {
  for (int fd : watched_.net_fds) add(epoll_, fd, EPOLLIN, kNet);  // one that is there already stays
}

// Before net_ready(): a PE that arms at this moment in vain is woken by it.
void Watch::disarm_net() {
  for (int fd : watched_.net_fds) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

void Watch::leave_badly() {
  if (thread_.get_id() == std::this_thread::get_id()) {
    if (watched_.leaving_badly) watched_.leaving_badly();
    return;
  }
  badly_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  static_cast<void>(!::write(bell_, &one, sizeof one));
  constexpr timespec kPause{0, 1'000'000};
  for (int i = 0; i < 1000 && !badly_done_.load(std::memory_order_acquire); ++i) ::nanosleep(&kPause, nullptr);
}

void Watch::look_at_launcher() {
  if (!watched_.launcher || ends_expected_.load(std::memory_order_acquire)) return;
  std::string reason;
  if (!watched_.launcher(&reason)) watched_.ended_by_launcher(reason);
}

void Watch::run() {
  const int timeout = watched_.launcher && watched_.launcher_fd < 0 ? kLookMs : -1;
  while (true) {
    epoll_event event{};
    const int found = ::epoll_wait(epoll_, &event, 1, timeout);
    if (stop_.load(std::memory_order_acquire)) return;
    if (badly_.load(std::memory_order_acquire)) {
      if (watched_.leaving_badly) watched_.leaving_badly();
      badly_done_.store(true, std::memory_order_release);
      return;
    }
    if (found <= 0 || event.data.u64 == kLauncher) {
      look_at_launcher();
    } else if (event.data.u64 == kNet) {
      disarm_net();
      watched_.net_ready();
    } else if (event.data.u64 < watched_.sockets.size()) {
      ::epoll_ctl(epoll_, EPOLL_CTL_DEL, watched_.sockets[event.data.u64], nullptr);
      if (!ends_expected_.load(std::memory_order_acquire)) watched_.gone(static_cast<int>(event.data.u64));
    }
  }
}

}  // namespace periapt::machine
