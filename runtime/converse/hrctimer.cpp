// See include/hrctimer.h.
#include <atomic>
#include <chrono>
#include <cstdint>

namespace {

std::int64_t clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
// Any PE may begin anew; the others only read it.
std::atomic<std::int64_t>& begin_ns() {
  static std::atomic<std::int64_t> begin{clock_ns()};
  return begin;
}
std::int64_t passed_ns() {
  const std::int64_t begin = begin_ns().load(std::memory_order_relaxed);
  return clock_ns() - begin;
}

}  // namespace

extern "C" {
double inithrc() {
  const std::int64_t now = clock_ns();
  begin_ns().store(now, std::memory_order_relaxed);
  return static_cast<double>(now) * 1e-9;
}
double gethrctime() { return static_cast<double>(passed_ns()) * 1e-9; }
std::uint64_t gethrctime_micro() { return static_cast<std::uint64_t>(passed_ns() / 1000); }
}
