// How long something that failed is left alone before it is tried again.
#pragma once

#include <algorithm>
#include <cstdint>

namespace periapt::verbs {

/// The first rest is as long as it is told, each further one twice the one before, up to kMost; one that is told to be
/// longer stays as it is. What has worked for longer than kMost begins anew. With a first rest of 0 all are 0, but what
/// was tried in vain rests for kLeast.
class Backoff {
 public:
  static constexpr std::uint64_t kMost = 60'000'000'000, kLeast = 20'000'000;

  void set_first(std::uint64_t first_ns) { first_ns_ = first_ns; }
  /// What had worked so far does not any more.
  void begin(std::uint64_t now_ns) {
    if (now_ns - worked_since_ns_ > kMost) wait_ns_ = 0;
    lengthen();
    due_ns_ = now_ns + wait_ns_;
  }
  void failed(std::uint64_t now_ns) {
    lengthen();
    put_off(now_ns);
  }
  /// It could not be tried: once more after the same time.
  void put_off(std::uint64_t now_ns) { due_ns_ = now_ns + std::max(wait_ns_, kLeast); }
  void worked(std::uint64_t now_ns) { worked_since_ns_ = now_ns; }
  bool is_due(std::uint64_t now_ns) const { return now_ns >= due_ns_; }

 private:
  void lengthen() { wait_ns_ = std::max(first_ns_, std::min(2 * wait_ns_, kMost)); }

  std::uint64_t first_ns_ = 0, wait_ns_ = 0, due_ns_ = 0, worked_since_ns_ = 0;
};

}  // namespace periapt::verbs
