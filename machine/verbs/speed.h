// How fast a link's puts and gets go, measured on those that it has anyway.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace periapt::verbs {

/// Bytes that have ended over the time in which some were under way. What is small, or alone and short, tells how long
/// the way is rather than how wide, and is left out.
class Speed {
 public:
  void begin(std::uint64_t bytes) {
    if (bytes < kLarge || under_way_++ > 0) return;
    since_ns_ = clock::now_ns();
    moved_ = 0;
  }
  void end(std::uint64_t bytes) {
    if (bytes < kLarge || under_way_ == 0) return;
    moved_ += bytes;
    if (--under_way_ > 0 ? moved_ < kWindow : moved_ < kLeast) return;
    const std::uint64_t now = clock::now_ns();
    note(moved_, now - since_ns_);
    since_ns_ = now;
    moved_ = 0;
  }
  /// What is under way will be begun again, or has failed.
  void drop() { under_way_ = 0; }

  /// Of the last few; 0: not known.
  double bytes_per_ns() const { return time_ns_ == 0 ? 0 : bytes_ / time_ns_; }
  void note(std::uint64_t bytes, std::uint64_t ns) {
    bytes_ = bytes_ * kStays + static_cast<double>(bytes);
    time_ns_ = time_ns_ * kStays + static_cast<double>(ns);
  }

 private:
  static constexpr std::uint64_t kLarge = 64 << 10, kLeast = 256 << 10, kWindow = 4 << 20;
  static constexpr double kStays = 0.75;

  std::uint64_t under_way_ = 0, moved_ = 0, since_ns_ = 0;
  double bytes_ = 0, time_ns_ = 0;
};

}  // namespace periapt::verbs
