// The processes of one native benchmark on this host: start_sides() forks one for each side, bound to a core each as
// long as there are cores; a Place is where they meet and tell each other what is needed to connect. With --across the
// two sides are on two hosts, started one by one, and meet over a socket.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/fatal.h"
#include "bench/net/meeting_socket.h"
#include "bench/net/plan.h"

namespace periapt::bench {

inline constexpr int kMostSides = 32;
/// Memory that a benchmark of what the machine can do at all shares, for each side.
inline constexpr std::size_t kSharedBytes = std::size_t{4} << 26;

/// What the sides share.
struct Board {
  std::atomic<std::uint64_t> met;
  struct alignas(64) Corner {
    std::atomic<std::uint64_t> size;
    std::byte bytes[2048];
    double value;
  } corner[kMostSides];
};

/// Binds this thread: the two of a pair to different cores. `side`: 0 to 2 pairs - 1. False: there are fewer cores than
/// sides, so a side that waits must let others run.
inline bool bind_side(int side, int pairs) {
  cpu_set_t allowed, mine;
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  const int cores = CPU_COUNT(&allowed), wanted = (side < pairs ? 2 * side : 2 * (side - pairs) + 1) % cores;
  CPU_ZERO(&mine);
  for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed) && seen++ == wanted) CPU_SET(cpu, &mine);
  }
  ::sched_setaffinity(0, sizeof mine, &mine);
  return 2 * pairs <= cores;
}

/// Pages that are touched when they are used.
inline std::byte* pages(std::size_t bytes, int sharing) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) fatal("no memory for the benchmark");
  return static_cast<std::byte*>(at);
}

class Place {
 public:
  Place(Board& board, std::byte* shared, int side, int pairs, MeetingSocket* other_host = nullptr)
      : board_(board),
        shared_(shared),
        side_(side),
        pairs_(pairs),
        other_host_(other_host),
        crowded_(other_host == nullptr && !bind_side(side, pairs)) {}
  int index() const { return side_; }
  int partner() const { return (side_ + pairs_) % sides(); }
  int sides() const { return 2 * pairs_; }
  int host() const { return other_host_ == nullptr ? 0 : side_; }
  /// Memory that all sides see, one side's part of it.
  std::byte* shared(int side) const { return shared_ + static_cast<std::size_t>(side) * kSharedBytes; }

  /// In every loop that waits, after a look that found nothing: one that found something has more to do.
  void relax() const {
    if (crowded_) ::sched_yield();
  }
  /// Until all sides are here; does `work` meanwhile.
  template <class Work>
  void meet(Work&& work) {
    if (other_host_ != nullptr) {
      swap_words(0, work);
      return;
    }
    const std::uint64_t target = ++meetings_ * static_cast<std::uint64_t>(sides());
    board_.met.fetch_add(1, std::memory_order_acq_rel);
    while (board_.met.load(std::memory_order_acquire) < target) {
      work();
      relax();
    }
  }
  template <class Work>
  std::vector<double> gather(double mine, Work&& work) {
    if (other_host_ != nullptr) {
      const double other = std::bit_cast<double>(swap_words(std::bit_cast<std::uint64_t>(mine), work));
      return side_ == 0 ? std::vector{mine, other} : std::vector{other, mine};
    }
    board_.corner[side_].value = mine;
    meet(work);
    std::vector<double> all;
    for (int side = 0; side < sides(); ++side) all.push_back(board_.corner[side].value);
    meet(work);
    return all;
  }
  /// Gives this side's bytes to its partner and answers the partner's.
  template <class Work>
  std::vector<std::byte> exchange(const void* bytes, std::size_t size, Work&& work) {
    if (other_host_ != nullptr) {
      std::vector<std::byte> theirs(swap_words(size, work));
      other_host_->write({static_cast<const std::byte*>(bytes), size});
      other_host_->read(theirs);
      meet(work);
      return theirs;
    }
    Board::Corner &here = board_.corner[side_], &there = board_.corner[partner()];
    if (size > sizeof here.bytes) fatal("an address of " + std::to_string(size) + " bytes is too long for the board");
    std::memcpy(here.bytes, bytes, size);
    here.size.store(size, std::memory_order_release);
    meet(work);
    std::vector<std::byte> theirs(there.bytes, there.bytes + there.size.load(std::memory_order_acquire));
    meet(work);
    return theirs;
  }

 private:
  /// Gives the other host a number and answers its own.
  template <class Work>
  std::uint64_t swap_words(std::uint64_t mine, Work&& work) {
    other_host_->write(std::as_bytes(std::span(&mine, 1)));
    while (!other_host_->has_come(sizeof mine)) work();
    other_host_->read(std::as_writable_bytes(std::span(&mine, 1)));
    return mine;
  }

  Board& board_;
  std::byte* shared_;
  int side_, pairs_;
  MeetingSocket* other_host_;
  bool crowded_;
  std::uint64_t meetings_ = 0;
};

/// Memory to send from and to receive into: slots of the size in question; the answers have a page of their own.
class Slots {
 public:
  static constexpr std::size_t kBytes = kRoomBytes + 4096;
  Slots() : Slots(pages(kBytes, MAP_PRIVATE), pages(kBytes, MAP_PRIVATE)) {}
  Slots(std::byte* out, std::byte* in) : out_(out), in_(in) {}
  std::byte* outgoing(int slot, std::size_t size) const { return at(out_, slot, size); }
  std::byte* incoming(int slot, std::size_t size) const { return at(in_, slot, size); }

 private:
  static std::byte* at(std::byte* base, int slot, std::size_t size) {
    return base + (slot < 0 ? kRoomBytes : static_cast<std::size_t>(slot) * size);
  }
  std::byte *out_, *in_;
};

/// Runs `body` in 2 * pairs processes, or as one side of two hosts. Answers the status of the whole.
inline int start_sides(const Plan& plan, const std::function<void(Place&)>& body) {
  auto* board = new (pages(sizeof(Board), MAP_SHARED)) Board{};
  if (!plan.across.empty()) {
    MeetingSocket other_host(plan.across, plan.side == 0);
    Place place(*board, nullptr, plan.side, 1, &other_host);
    body(place);
    return 0;
  }
  const int pairs = plan.pairs, sides = 2 * pairs;
  std::byte* shared = pages(static_cast<std::size_t>(sides) * kSharedBytes, MAP_SHARED);
  std::vector<pid_t> children;
  std::fflush(stdout);
  for (int side = 0; side < sides; ++side) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    Place place(*board, shared, side, pairs);
    body(place);
    std::fflush(stdout);
    std::_Exit(0);
  }
  int code = 0;
  for (std::size_t left = children.size(); left > 0; --left) {
    int status = 0;
    const pid_t gone = ::wait(&status);
    std::erase(children, gone);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    // The others would wait for it for ever. 77: it can't run here, and says why.
    for (pid_t child : children) ::kill(child, SIGKILL);
    if (code == 0) code = WIFEXITED(status) && WEXITSTATUS(status) == 77 ? 77 : 1;
  }
  return code;
}

}  // namespace periapt::bench
