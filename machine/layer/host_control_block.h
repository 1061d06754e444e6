// HostControlBlock: what the processes of a host tell each other without messages, at the start of the memory they
// share: that the run ends, and with which code; the barrier; the words that carriers sleep on. Zero is its first
// state, and new memory is zero.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/platform.h"
#include "machine/bootstrap/layout.h"
#include "machine/host/arena.h"
#include "machine/host/inbox.h"

namespace periapt::machine {

class HostControlBlock {
 public:
  /// At the start of the memory.
  static HostControlBlock* of(const host::Arena& arena) {
    return reinterpret_cast<HostControlBlock*>(arena.host_page());
  }

  // ---- the end of the run

  /// The first code announced stands. Wakes all `carriers`, of other processes too if it says `across_processes`. Safe
  /// from any thread and from a signal handler.
  void announce_exit(int code, int carriers, bool across_processes);
  bool exit_announced() const { return exit_.load(std::memory_order_acquire) != 0; }
  int exit_code() const {  ///< 0 before
    return static_cast<int>(static_cast<std::uint32_t>(exit_.load(std::memory_order_acquire)));
  }
  /// The program has come to its end, on some PE of the host.
  void note_end() { ended_.store(1, std::memory_order_release); }
  bool has_ended() const { return ended_.load(std::memory_order_acquire) != 0; }
  /// Of a run of several partitions: processes of this host whose partitions have come to their end.
  void note_left() { left_.fetch_add(1, std::memory_order_acq_rel); }
  int left() const { return static_cast<int>(left_.load(std::memory_order_acquire)); }
  /// The caller wants to say why the run ends. False: another process or thread has said it.
  bool first_to_tell() { return told_.exchange(1, std::memory_order_relaxed) == 0; }
  void note_told() { told_.store(1, std::memory_order_relaxed); }

  // ---- the barrier

  /// Waits until all `carriers` of the host have called it as often. Returns false when the run is ending instead.
  [[nodiscard]] bool barrier(int carriers, bool oversubscribed);

  host::SleepWord* sleep(int carrier) { return &sleep_[carrier]; }

 private:
  static constexpr std::uint64_t kAnnounced = std::uint64_t{1} << 32;

  // 0: the run goes on; else the code announced, with kAnnounced.
  alignas(platform::kCacheLine) std::atomic<std::uint64_t> exit_;
  alignas(platform::kCacheLine) std::atomic<std::uint32_t> arrived_;         // at the barrier
  std::atomic<std::uint32_t> generation_;                                    // barriers passed; a futex
  std::atomic<std::uint32_t> ended_;                                         // the program has come to its end
  std::atomic<std::uint32_t> told_;                                          // why the run ends has been said
  std::atomic<std::uint32_t> left_;                                          // processes whose partitions have ended
  alignas(platform::kCacheLine) host::SleepWord sleep_[bootstrap::kMaxPes];  // by carrier
};
static_assert(sizeof(HostControlBlock) <= host::Arena::kHostBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace periapt::machine
