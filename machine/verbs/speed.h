// How fast a link's puts and gets go, measured on those that it has anyway.
#pragma once

#include <algorithm>
#include <cstdint>

namespace periapt::verbs {

/// When the transport looked at completions, and the time before that when it left none.
struct Look {
  std::uint64_t before_ns = 0, at_ns = 0;
};

/// Bytes that have ended over the time in which some were under way. What is small, or alone and short, tells how long
/// the way is rather than how wide, and is left out. So is what ended while the worker did something else: it is seen
/// at the next look only, and the time until then is the processor's.
class Speed {
 public:
  static constexpr std::uint64_t kLarge = 64 << 10;         ///< what is smaller does not count
  static constexpr std::uint64_t kLeast = 1 << 20;          ///< of one measurement
  static constexpr std::uint64_t kWindow = 4 << 20;         ///< one that is so long is taken without a pause
  static constexpr std::uint64_t kKnownNs = 2'000'000'000;  ///< after the latest measurement it is not known any more

  void begin(std::uint64_t bytes, std::uint64_t now_ns) {
    if (bytes < kLarge || under_way_++ > 0) return;
    restart(now_ns);
  }
  /// `look`: that has found it.
  void end(std::uint64_t bytes, const Look& look) {
    if (bytes < kLarge || under_way_ == 0) return;
    moved_ += bytes;
    unseen_ns_ = std::max(unseen_ns_, look.at_ns - std::max(look.before_ns, since_ns_));
    if (--under_way_ > 0 ? moved_ < kWindow : moved_ < kLeast) return;
    const std::uint64_t took = look.at_ns - since_ns_;
    if (kUnseenPart * unseen_ns_ < took) note(moved_, took, look.at_ns);
    restart(look.at_ns);
  }
  /// What is under way will be begun again, or has failed.
  void drop() { under_way_ = 0; }

  /// Of the last few measurements; 0: not known.
  double bytes_per_ns(std::uint64_t now_ns) const { return is_known(now_ns) ? bytes_ / time_ns_ : 0; }

 private:
  static constexpr double kStays = 0.75;
  static constexpr std::uint64_t kUnseenPart = 10;  // of the time, that may be the processor's

  bool is_known(std::uint64_t now_ns) const { return time_ns_ > 0 && now_ns - noted_ns_ < kKnownNs; }
  void restart(std::uint64_t now_ns) {
    since_ns_ = now_ns;
    moved_ = unseen_ns_ = 0;
  }
  void note(std::uint64_t bytes, std::uint64_t ns, std::uint64_t now_ns) {
    const double stays = is_known(now_ns) ? kStays : 0;
    bytes_ = bytes_ * stays + static_cast<double>(bytes);
    time_ns_ = time_ns_ * stays + static_cast<double>(ns);
    noted_ns_ = now_ns;
  }

  std::uint64_t under_way_ = 0, moved_ = 0, since_ns_ = 0;
  std::uint64_t unseen_ns_ = 0;  // the longest time between two looks of which the later one found something
  double bytes_ = 0, time_ns_ = 0;
  std::uint64_t noted_ns_ = 0;
};

}  // namespace periapt::verbs
