#include "base/futex.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace periapt {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

void wake(std::atomic<std::uint32_t>& word, int most, bool across_processes) {
  ::syscall(SYS_futex, &word, across_processes ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, most, nullptr, nullptr, 0);
}

}  // namespace

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint64_t limit_ns,
                bool across_processes) {
  const timespec limit{static_cast<time_t>(limit_ns / kSecond), static_cast<long>(limit_ns % kSecond)};
  ::syscall(SYS_futex, &word, across_processes ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, expected,
            limit_ns == kNoLimit ? nullptr : &limit, nullptr, 0);
}

void futex_wake_one(std::atomic<std::uint32_t>& word, bool across_processes) { wake(word, 1, across_processes); }
void futex_wake_all(std::atomic<std::uint32_t>& word, bool across_processes) { wake(word, INT_MAX, across_processes); }

}  // namespace periapt
