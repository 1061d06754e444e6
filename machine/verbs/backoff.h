// How long something that failed is left alone before it is tried again.
#pragma once

#include <algorithm>
#include <cstdint>

namespace periapt::verbs {

/// The first rest is as long as it is told, each further one twice the one before, up to kMost. What has worked for
/// longer than that begins anew.
class Backoff {
 public:
  static constexpr std::uint64_t kMost = 60'000'000'000;

  void set_first(std::uint64_t first_ns) { first_ns_ = first_ns; }
  /// What had worked so far does not any more.
  void begin(std::uint64_t now_ns) {
    if (now_ns - worked_since_ns_ > kMost) wait_ns_ = 0;
    failed(now_ns);
  }
  void failed(std::uint64_t now_ns) {
    wait_ns_ = std::max(first_ns_, std::min(2 * wait_ns_, kMost));
    put_off(now_ns);
  }
  /// It could not be tried: once more after the same time.
  void put_off(std::uint64_t now_ns) { due_ns_ = now_ns + wait_ns_; }
  void worked(std::uint64_t now_ns) { worked_since_ns_ = now_ns; }
  bool is_due(std::uint64_t now_ns) const { return now_ns >= due_ns_; }

 private:
  std::uint64_t first_ns_ = 0, wait_ns_ = 0, due_ns_ = 0, worked_since_ns_ = 0;
};

}  // namespace periapt::verbs
