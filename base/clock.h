// Time. CLOCK_MONOTONIC at a fraction of its price: between two readings of the kernel's clock, at most about a
// millisecond apart, the processor's cycle counter fills in. The rate is learnt from the readings themselves, so
// nothing is spent on calibration at start-up; until it is known, and on machines whose counter is not constant, the
// kernel's clock is read every time. All processes of a host agree to some tens of nanoseconds. C++17.
#pragma once

#include <cstdint>

#include "base/platform.h"

namespace periapt::clock {

namespace detail {
/// One thread's latest pair of readings, good for `span` ticks; 0: not at all.
struct Anchor {
  std::uint64_t ticks = 0;
  std::uint64_t span = 0;
  std::uint64_t ns = 0;
  std::uint64_t rate = 0;  ///< ns a tick, 32.32 fixed point
};
extern thread_local Anchor anchor __attribute__((tls_model("initial-exec")));
std::uint64_t refresh();
}  // namespace detail

/// Nanoseconds of CLOCK_MONOTONIC. Never goes back on one thread.
inline std::uint64_t now_ns() {
  detail::Anchor& anchor = detail::anchor;
  std::uint64_t now = platform::ticks();
  if (PERIAPT_UNLIKELY(now - anchor.ticks >= anchor.span)) return detail::refresh();
  return anchor.ns + (((now - anchor.ticks) * anchor.rate) >> 32);
}

inline double seconds() { return static_cast<double>(now_ns()) * 1e-9; }

/// Seconds since the process started (since this library was loaded).
double seconds_since_start();

/// Nanoseconds of processor time that this thread has used.
std::uint64_t thread_cpu_ns();

/// Another source of time for all of the above, from 0 at the start of the run: virtual time. Before the first thread
/// but the caller's asks for the time. It need not be monotonous over what the thread does in turns.
void set_source(std::uint64_t (*source)());
/// thread_cpu_ns(), whatever the source.
std::uint64_t real_thread_cpu_ns();

}  // namespace periapt::clock
