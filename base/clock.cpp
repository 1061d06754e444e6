#include "base/clock.h"

#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace periapt::clock {
namespace {

constexpr std::uint64_t kLearnNs = 2'000'000;   // a rate from a shorter time would be off by more than 25 ppm
constexpr std::uint64_t kAnchorNs = 1'000'000;  // a reading of the kernel's clock is good for so long
constexpr std::uint64_t kCloseTicks = 1'000;    // two readings closer than this were not interrupted

std::uint64_t kernel_ns(clockid_t which) {
  timespec now;
  clock_gettime(which, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

struct Pair {
  std::uint64_t ticks;
  std::uint64_t ns;
};

// The two clocks at one moment; tried again when we were interrupted between them.
Pair read_pair() {
  Pair best{};
  std::uint64_t best_gap = ~std::uint64_t{0};
  for (int i = 0; i < 4 && best_gap > kCloseTicks; ++i) {
    std::uint64_t before = platform::ticks();
    std::uint64_t ns = kernel_ns(CLOCK_MONOTONIC);
    std::uint64_t after = platform::ticks();
    if (after - before < best_gap) {
      best_gap = after - before;
      best = {before + (after - before) / 2, ns};
    }
  }
  return best;
}

// Does the counter run at one rate, in every sleep state?
bool counter_is_constant() {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  return __get_cpuid(0x8000'0007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
#elif defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

const Pair start = read_pair();
std::uint64_t (*other_source)() = nullptr;

}  // namespace

namespace detail {

thread_local Anchor anchor;

// The one place that knows of another source: with it no reading is ever good for the next time.
std::uint64_t refresh() {
  if (other_source != nullptr) return other_source();
  static const bool trusted = counter_is_constant();
  Pair now = read_pair();
  // Where we had come to by the old anchor: never go back behind it.
  std::uint64_t floor = anchor.ns;
  if (anchor.rate != 0 && now.ticks - anchor.ticks < 2 * anchor.span) {
    floor += ((now.ticks - anchor.ticks) * anchor.rate) >> 32;
  }
  anchor.ticks = now.ticks;
  anchor.ns = now.ns > floor ? now.ns : floor;
  std::uint64_t learnt_ns = now.ns - start.ns;
  std::uint64_t learnt_ticks = now.ticks - start.ticks;
  if (trusted && learnt_ns >= kLearnNs && learnt_ticks != 0) {
    anchor.rate = static_cast<std::uint64_t>((static_cast<unsigned __int128>(learnt_ns) << 32) / learnt_ticks);
    anchor.span = static_cast<std::uint64_t>(static_cast<unsigned __int128>(kAnchorNs) * learnt_ticks / learnt_ns);
  }
  return anchor.ns;
}

}  // namespace detail

double seconds_since_start() { return static_cast<double>(now_ns() - (other_source != nullptr ? 0 : start.ns)) * 1e-9; }

std::uint64_t thread_cpu_ns() { return other_source != nullptr ? other_source() : real_thread_cpu_ns(); }

void set_source(std::uint64_t (*source)()) {
  other_source = source;
  detail::anchor = {};
}

std::uint64_t real_thread_cpu_ns() { return kernel_ns(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace periapt::clock
