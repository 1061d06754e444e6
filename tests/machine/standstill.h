// A test that drives both sides of something until a condition holds would drive them for ever where it never does, and
// say nothing. This says it: when no round has moved anything for so long, the test ends, with what each side has to
// tell. It is no limit on how long a test may take. Where only time helps (a device's silence, another process), it
// leaves the processor to other tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "base/clock.h"

namespace periapt::test {

class Standstill {
 public:
  /// `state`: of both sides, in lines.
  explicit Standstill(std::function<std::string()> state, int seconds = 10)
      : state_(std::move(state)), limit_ns_(static_cast<std::uint64_t>(seconds) * 1'000'000'000) {}

  /// After each round; `moved`: anything was done in it.
  void look(bool moved) {
    if (moved) {
      rounds_ = 0;
      return;
    }
    if (++rounds_ > kBusyRounds) std::this_thread::sleep_for(std::chrono::microseconds(20));
    // Many rounds as well: a process that did not get a core for long has not seen the others stand still.
    if (rounds_ % kRounds != 0) return;
    const std::uint64_t now_ns = clock::now_ns();
    if (rounds_ == kRounds) since_ns_ = now_ns;
    if (now_ns - since_ns_ >= limit_ns_) end(static_cast<int>((now_ns - since_ns_) / 1'000'000'000));
  }

 private:
  static constexpr std::uint64_t kRounds = 4096, kBusyRounds = 256;

  [[noreturn]] void end(int seconds) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::fprintf(stderr, "%s.%s: nothing has moved for %d s\n%s\n", test != nullptr ? test->test_suite_name() : "",
                 test != nullptr ? test->name() : "?", seconds, state_().c_str());
    std::fflush(nullptr);
    std::_Exit(1);
  }

  std::function<std::string()> state_;
  std::uint64_t limit_ns_;
  std::uint64_t rounds_ = 0, since_ns_ = 0;
};

}  // namespace periapt::test
