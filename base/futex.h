// Sleeping on a word of memory until another thread, perhaps of another process, says that it has changed.
#pragma once

#include <atomic>
#include <cstdint>

namespace periapt {

inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

/// Sleeps if `word` still holds `expected`, until a waker does, for `limit_ns` at most. It may also return for no
/// reason, so the caller looks at the word again. `across_processes`: the word lies in memory that processes share.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint64_t limit_ns,
                bool across_processes);
/// Wakes one of those that sleep on the word, or all. Safe in a signal handler.
void futex_wake_one(std::atomic<std::uint32_t>& word, bool across_processes);
void futex_wake_all(std::atomic<std::uint32_t>& word, bool across_processes);

}  // namespace periapt
