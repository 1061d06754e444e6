// What the programs of bench/net measure, and how they say it: the same for all of them.
//
//   --ops latency,rate     only these (operations.h names them)
//   --sizes 8,1K,16M       bytes of a message, from 8
//   --pairs N              so many pairs at the same time; the first half of all sends to the second half
//   --effort X             times the repetitions: 0.05 for a try
//   --across HOST:PORT     this is one side only, --side 0 or 1; the other one is on another host, and they meet where
//                          side 1 listens
//
// Each figure is a line "row OPERATION VARIANT SIZE VALUE" on the standard output, and "about TEXT" says what was
// measured. bench/messages starts the programs by turns and sets the figures beside each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace periapt::bench {

/// Of one message, and of all that are under way at a time: what each process has room for, in each direction.
inline constexpr std::size_t kMostBytes = 16 << 20;
inline constexpr std::size_t kRoomBytes = 64 << 20;
inline constexpr int kWindow = 64;

struct Plan {
  std::vector<std::string> operations;
  std::vector<std::size_t> sizes = {8, 64, 1 << 10, 8 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
  int pairs = 1;
  double effort = 1;
  std::string across;  // empty: both sides are on this host
  int side = 0;

  bool wanted(const std::string& operation) const {
    return operations.empty() || std::find(operations.begin(), operations.end(), operation) != operations.end();
  }
  /// How often something is done that is done `full` times at effort 1.
  int times(int full) const { return std::max(2, static_cast<int>(full * effort)); }
  /// The same for one message of that size.
  int times_of(std::size_t size) const {
    return times(size <= 1024 ? 2000 : size <= (64 << 10) ? 500 : size <= (1 << 20) ? 60 : 12);
  }
  /// How often before that, uncounted: a tenth; of large ones as often as caches and clocks need to learn from the
  /// first few.
  int warm_up_of(std::size_t size) const { return std::max(size > (64 << 10) ? 10 : 1, times_of(size) / 10); }
};

inline void print_row(const std::string& operation, const std::string& variant, std::size_t size, double value) {
  std::printf("row %s %s %zu %.6g\n", operation.c_str(), variant.c_str(), size, value);
  std::fflush(stdout);
}
inline void print_about(const std::string& text) { std::printf("about %s\n", text.c_str()); }

}  // namespace periapt::bench
