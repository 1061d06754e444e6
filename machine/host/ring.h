// Ring: the way of small things from one PE to one other PE of the host. A power of two of 64-byte slots, one sender,
// one receiver. A slot is published by one store of its word, which holds the lap number: the receiver knows a slot is
// new when its lap is the one expected, so it never writes to a slot, and the sender never reads one.
// The receiver says how far it has come only now and then (flow control costs one line a quarter ring).
// C++17.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/platform.h"

namespace periapt::host {

/// The word: meta (56 bits, the runtime's) << 8 | lap (7 bits) << 1 | kBlock. An untouched slot is all zero; the first
/// lap is number 1.
struct alignas(platform::kCacheLine) Slot {
  static constexpr std::size_t kBodyBytes = 56;
  static constexpr std::uint64_t kLapMask = 0xFE;
  static constexpr std::uint64_t kBlock = 0x01;  ///< the body begins with the address of a block

  std::atomic<std::uint64_t> word;
  std::byte body[kBodyBytes];
};
static_assert(sizeof(Slot) == 64, "a message is one cache line");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "words are shared between processes");

/// The shared head of a ring; the slots follow.
struct Ring {
  // Written by the receiver.
  alignas(platform::kCacheLine) std::atomic<std::uint64_t> consumed;  ///< slots that may be written again
  // Written by the sender when it sleeps with messages parked for want of a slot; the receiver then wakes it.
  std::atomic<std::uint32_t> sender_waits;
  // Set before the ring is announced, then constant.
  alignas(platform::kCacheLine) std::uint32_t capacity;
  std::uint32_t capacity_log;
  std::int32_t sender;
  std::int32_t receiver;

  Slot* slots() { return reinterpret_cast<Slot*>(this + 1); }
  static std::size_t bytes(std::uint32_t capacity) { return sizeof(Ring) + capacity * sizeof(Slot); }

  /// The lap of the n-th slot ever used, in its place in the word: never what the slot held one lap before.
  static std::uint64_t lap(std::uint64_t n, unsigned capacity_log) {
    return (((n >> capacity_log) + 1) << 1) & Slot::kLapMask;
  }
};
static_assert(sizeof(Ring) == 2 * platform::kCacheLine, "slots start on a line");

}  // namespace periapt::host
