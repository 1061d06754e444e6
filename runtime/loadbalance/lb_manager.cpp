#include "runtime/loadbalance/lb_manager.h"

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace {

int measure_speed() {
  constexpr std::uint64_t measured_ns = 10'000'000;
  constexpr int steps = 1000;
  const std::uint64_t begin = periapt::clock::now_ns();
  std::uint64_t now = begin;
  std::uint64_t done = 0;
  volatile double kept = 0;  // or the compiler would leave the loop out
  do {
    double x = kept;
    for (int i = 0; i < steps; ++i) x = x * 0.999 + 1.0;
    kept = x;
    done += steps;
    now = periapt::clock::now_ns();
  } while (now - begin < measured_ns);
  return std::max<int>(1, static_cast<int>(done * 1000 / (now - begin)));
}

}  // namespace

int LBManager::ProcessorSpeed() {
  static const int speed = measure_speed();
  return speed;
}
