#include "runtime/loadbalance/lb_manager.h"

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/fatal.h"
#include "runtime/loadbalance/load_model.h"

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

void LBRegisterLoadModel(const char* name, const char* summary, double (*predict)(const float* past, int intervals),
                         int depth) {
  if (predict == nullptr || depth < 1)
    periapt::fatal("the load model " + std::string(name) + " has no function, or looks back less than one interval",
                   "LBRegisterLoadModel()");
  static std::deque<std::string> texts;  // of programs that make theirs at run time
  const char* const kept_name = texts.emplace_back(name).c_str();
  const char* const kept_summary = texts.emplace_back(summary).c_str();
  periapt::loadbalance::add_load_model(
      {.name = kept_name,
       .summary = kept_summary,
       .predict =
           [predict](std::span<const float> past, const periapt::loadbalance::StrategyOptions&) {
             return predict(past.data(), static_cast<int>(past.size()));
           },
       .depth = static_cast<std::size_t>(depth)});
}
