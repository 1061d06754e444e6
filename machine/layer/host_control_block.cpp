// See host_control_block.h.
#include "machine/layer/host_control_block.h"

#include "base/futex.h"

namespace periapt::machine {

void HostControlBlock::announce_exit(int code, int carriers, bool across_processes) {
  std::uint64_t none = 0;
  // The first one stands. release: partners are the acquires in exit_announced() and exit_code().
  exit_.compare_exchange_strong(none, kAnnounced | static_cast<std::uint32_t>(code), std::memory_order_acq_rel);
  for (int c = 0; c < carriers; ++c) host::tell_news(sleep_[c], across_processes);
  futex_wake_all(generation_, true);
}

bool HostControlBlock::barrier(int carriers, bool oversubscribed) {
  std::uint32_t generation = generation_.load(std::memory_order_acquire);
  // acq_rel: what each did before the barrier comes before what any does after it; the last one collects all by its
  // fetch_add, and hands it on by the release of the generation.
  std::uint32_t arrived = arrived_.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (arrived == static_cast<std::uint32_t>(carriers)) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    futex_wake_all(generation_, true);
    return true;
  }
  constexpr int kSpins = 200;
  constexpr std::uint64_t kLookNs = 20'000'000;
  for (int i = 0; generation_.load(std::memory_order_acquire) == generation; ++i) {
    // All may have passed and one of them ended the run already, while we were not looking.
    if (exit_announced()) return generation_.load(std::memory_order_acquire) != generation;
    if (i < kSpins && !oversubscribed) {
      platform::pause();
    } else {
      futex_wait(generation_, generation, kLookNs, true);
    }
  }
  return true;
}

}  // namespace periapt::machine
