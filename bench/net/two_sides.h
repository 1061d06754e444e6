// Benchmarks between two processes of this host, the same loops for everything that is compared: a Side is one
// process's end of whatever carries the bytes (a transport of ours, UCX, bare memory). The two processes are started
// separately, each bound to a core, and share a page for meeting and for results.
//
// Latencies are one way, from before the sender's call to after the receiver has the bytes. `rewritten` writes the
// whole source before each send, as a program that computes does, and is not timed: each message carries the time of
// its sending, read from the counter that all cores share, and both directions are averaged. `untouched` sends the same
// bytes again and again and halves the round trip, as ucx_perftest and OSU's benchmarks do.
#pragma once

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "bench/bare.h"

namespace periapt::bench {

using clock::now_ns;

struct Board {
  bare::Bare bare;
  std::atomic<std::uint64_t> met;
  struct alignas(64) Corner {
    std::atomic<std::uint64_t> size;
    std::byte bytes[4096];
    double ns;
  } corner[2];
  alignas(4096) std::byte memory[2][16 << 20];  // of bare transfers
};

/// Times of equal pieces of work, whose median does not show that the machine did something else now and then.
class Laps {
 public:
  /// A lap is at least `least` pieces.
  explicit Laps(int least) : least_(least), begin_(now_ns()) {}
  void piece() {
    if (++pieces_ < least_) return;
    std::uint64_t now = now_ns();
    ns_.push_back(static_cast<double>(now - begin_) / pieces_);
    pieces_ = 0;
    begin_ = now;
  }
  /// ns a piece
  double median() {
    if (ns_.empty()) return 0;
    std::sort(ns_.begin(), ns_.end());
    return ns_[ns_.size() / 2];
  }

 private:
  int least_, pieces_ = 0;
  std::uint64_t begin_;
  std::vector<double> ns_;
};
inline int pieces_a_lap(std::size_t size) { return size <= 8192 ? 50 : size <= (64 << 10) ? 5 : 1; }

struct Table {
  std::vector<std::string> order;
  std::vector<std::vector<double>> values;
  void add(const std::string& name, double value) {
    auto at = std::find(order.begin(), order.end(), name);
    if (at == order.end()) {
      order.push_back(name);
      values.emplace_back();
      at = order.end() - 1;
    }
    values[static_cast<std::size_t>(at - order.begin())].push_back(value);
  }
  void print() {
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::vector<double>& v = values[i];
      std::sort(v.begin(), v.end());
      std::printf("%-58s %12.3f %12.3f %12.3f\n", order[i].c_str(), v[v.size() / 2], v.front(), v.back());
    }
  }
};

/// The meeting point of both processes, and what each tells the other.
class Place {
 public:
  Place(Board& board, int side) : board_(board), side_(side) {}
  int side() const { return side_; }
  Board& board() { return board_; }
  /// Waits until both are here, and does `work` meanwhile.
  template <class Work>
  void meet(Work&& work) {
    std::uint64_t target = ++meetings_ * 2;
    board_.met.fetch_add(1, std::memory_order_acq_rel);
    while (board_.met.load(std::memory_order_acquire) < target) work();
  }
  void meet() {
    meet([] {});
  }
  void tell(const void* bytes, std::size_t size) {
    std::memcpy(board_.corner[side_].bytes, bytes, size);
    board_.corner[side_].size.store(size, std::memory_order_release);
  }
  std::vector<std::byte> other() {
    auto& corner = board_.corner[1 - side_];
    return {corner.bytes, corner.bytes + corner.size.load(std::memory_order_acquire)};
  }
  /// Both sides' figure, the mean of them: called by both.
  template <class Work>
  double both(double mine, Work&& work) {
    board_.corner[side_].ns = mine;
    meet(work);
    double mean = (board_.corner[0].ns + board_.corner[1].ns) / 2;
    meet(work);
    return mean;
  }

 private:
  Board& board_;
  int side_;
  std::uint64_t meetings_ = 0;
};

inline int repetitions(std::size_t size) {
  return size <= 1024 ? 2000 : size <= (64 << 10) ? 500 : size <= (1 << 20) ? 50 : 10;
}

inline void rewrite(std::byte* bytes, std::size_t size, int i) { std::memset(bytes, i & 0x7F, size); }

/// ns one way of `size` bytes. Side: send(bytes, size) and receive(bytes, size), both to their end; expect(bytes):
/// where a message that comes early goes; work().
template <class Side>
double latency(Place& place, Side& side, std::byte* out, std::byte* in, std::size_t size, bool rewritten) {
  const int n = repetitions(size), warm = std::max(1, n / 10);
  rewrite(out, size, 1);
  rewrite(in, size, 1);
  std::vector<double> ways;
  side.expect(in);
  place.meet([&] { side.work(); });
  Laps laps(pieces_a_lap(size));
  auto send = [&](int i) {
    if (rewritten) {
      rewrite(out, size, i);
      std::uint64_t now = now_ns();
      std::memcpy(out, &now, 8);
    }
    side.send(out, size);
  };
  auto receive = [&](int i) {
    side.receive(in, size);
    if (!rewritten || i < warm) return;
    std::uint64_t sent;
    std::memcpy(&sent, in, 8);
    // Signed: the clocks of two processes differ by some tens of ns, which the mean of both directions takes out.
    ways.push_back(static_cast<double>(static_cast<std::int64_t>(now_ns() - sent)));
  };
  for (int i = 0; i < n + warm; ++i) {
    if (i == warm) laps = Laps(pieces_a_lap(size));
    if (place.side() == 0) send(i);
    receive(i);
    if (place.side() == 1) send(i);
    laps.piece();
  }
  double mine = laps.median() / 2;
  if (rewritten) {
    std::sort(ways.begin(), ways.end());
    mine = ways[ways.size() / 2];
  }
  return place.both(mine, [&] { side.work(); });
}

/// Starts this program again as two processes, bound to a core each, and gives back this one's side of them.
inline int start_sides(int argc, char** argv, const std::function<void(Place&, int argc, char** argv)>& body) {
  const char* inherited = std::getenv("PERIAPT_BENCH_SIDE");
  if (inherited == nullptr) {
    int file = ::memfd_create("bench", 0);
    if (file < 0 || ::ftruncate(file, sizeof(Board)) != 0) return std::perror("memfd"), 1;
    pid_t children[2];
    for (int side = 0; side < 2; ++side) {
      children[side] = ::fork();
      if (children[side] != 0) continue;
      ::setenv("PERIAPT_BENCH_SIDE", (std::to_string(side) + " " + std::to_string(file)).c_str(), 1);
      ::execv("/proc/self/exe", argv);
      std::perror("exec");
      std::_Exit(127);
    }
    int code = 0;
    for (pid_t child : children) {
      int status = 0;
      ::waitpid(child, &status, 0);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) code = 1;
    }
    return code;
  }
  int side = 0, file = 0;
  std::sscanf(inherited, "%d %d", &side, &file);
  cpu_set_t allowed, mine;
  ::sched_getaffinity(0, sizeof(allowed), &allowed);
  CPU_ZERO(&mine);
  for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed) && seen++ == side) CPU_SET(cpu, &mine);
  }
  if (::sched_setaffinity(0, sizeof(mine), &mine) != 0) return std::fputs("two cpus are needed\n", stderr), 1;
  void* at = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  if (at == MAP_FAILED) return std::perror("mmap"), 1;
  Place place(*static_cast<Board*>(at), side);
  body(place, argc, argv);
  return 0;
}

inline std::string in_words(std::size_t size) {
  if (size >= (1u << 20)) return std::to_string(size >> 20) + " MB";
  return size >= 1024 ? std::to_string(size >> 10) + " KB" : std::to_string(size) + " B";
}

/// What is asked for on the command line.
struct Wishes {
  int rounds = 7;
  std::string only;
  std::vector<std::string> rest;
  Wishes(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      std::string word = argv[i];
      if (word == "--rounds" && i + 1 < argc) {
        rounds = std::max(1, std::atoi(argv[++i]));
      } else if (word == "--only" && i + 1 < argc) {
        only = argv[++i];
      } else {
        rest.push_back(word);
      }
    }
  }
  bool wanted(const std::string& name) const { return only.empty() || name.find(only) != std::string::npos; }
};

inline const std::size_t kSizes[] = {8, 64, 1024, 8192, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};

}  // namespace periapt::bench
