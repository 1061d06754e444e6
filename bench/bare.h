// What two cores can do at all: the physical limits that benchmarks print beside their own figures. Both sides call the
// same function at the same time, side 0 and side 1, on the same Bare (zeroed once, in memory that both see).
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/clock.h"
#include "machine/host/ring.h"

namespace periapt::bare {

struct alignas(64) Line {
  std::atomic<std::uint64_t> word;
};
struct Bare {
  Line there, back, met;
  host::Slot ring[2][512];
};

// A barrier of the two sides. `passed`: how many meetings each has passed before, the same on both.
class Meeting {
 public:
  Meeting(Bare& bare, std::uint64_t passed = 0) : met_(bare.met.word), passed_(passed) {}
  void operator()() {
    ++passed_;
    met_.fetch_add(1, std::memory_order_acq_rel);
    while (met_.load(std::memory_order_acquire) < 2 * passed_) {
    }
  }
  std::uint64_t passed() const { return passed_; }

 private:
  std::atomic<std::uint64_t>& met_;
  std::uint64_t passed_;
};

// One cache line to and fro: ns one way.
template <class Meet>
double bounce_one_line(Bare& bare, int side, int n, Meet&& meet) {
  std::atomic<std::uint64_t>& word = bare.there.word;
  if (side == 0) word.store(0);
  meet();
  const std::uint64_t begin = clock::now_ns();
  for (int i = 0; i < n; ++i) {
    const std::uint64_t mine = 2u * static_cast<unsigned>(i) + static_cast<unsigned>(side);
    while (word.load(std::memory_order_acquire) != mine) {
    }
    word.store(mine + 1, std::memory_order_release);
  }
  return static_cast<double>(clock::now_ns() - begin) / (2.0 * n);
}

// A ring of one-line cells without flow control.
struct BareRing {
  host::Slot* slots;
  std::uint64_t next = 0;
  void put(std::uint64_t value) {
    host::Slot& slot = slots[next & 511];
    std::memcpy(slot.body, &value, 8);
    slot.word.store(1 + (next >> 9), std::memory_order_release);
    ++next;
  }
  std::uint64_t get() {
    host::Slot& slot = slots[next & 511];
    while (slot.word.load(std::memory_order_acquire) != 1 + (next >> 9)) {
    }
    std::uint64_t value;
    std::memcpy(&value, slot.body, 8);
    ++next;
    return value;
  }
};

// 8 B to and fro through two such rings: ns one way.
template <class Meet>
double ring_ping_pong(Bare& bare, int side, int n, Meet&& meet) {
  meet();
  if (side == 0) std::memset(static_cast<void*>(bare.ring), 0, sizeof(bare.ring));
  meet();
  BareRing out{bare.ring[side]}, in{bare.ring[1 - side]};
  const std::uint64_t begin = clock::now_ns();
  for (int i = 0; i < n; ++i) {
    if (side == 0) out.put(static_cast<std::uint64_t>(i));
    in.get();
    if (side == 1) out.put(static_cast<std::uint64_t>(i));
  }
  return static_cast<double>(clock::now_ns() - begin) / (2.0 * n);
}

// 8 B in one direction, no flow control but a count that comes back every 128: ns each.
template <class Meet>
double ring_stream(Bare& bare, int side, int n, Meet&& meet) {
  meet();
  if (side == 0) {
    std::memset(static_cast<void*>(bare.ring), 0, sizeof(bare.ring));
    bare.back.word.store(0);
  }
  meet();
  BareRing ring{bare.ring[0]};
  const std::uint64_t begin = clock::now_ns();
  std::uint64_t seen = 0;
  for (int i = 0; i < n; ++i) {
    if (side == 0) {
      while (ring.next - seen >= 512) seen = bare.back.word.load(std::memory_order_acquire);
      ring.put(static_cast<std::uint64_t>(i));
    } else {
      ring.get();
      if ((ring.next & 127) == 0) bare.back.word.store(ring.next, std::memory_order_release);
    }
  }
  if (side == 1) bare.back.word.store(ring.next, std::memory_order_release);
  while (side == 0 && bare.back.word.load(std::memory_order_acquire) != static_cast<std::uint64_t>(n)) {
  }
  return static_cast<double>(clock::now_ns() - begin) / n;
}

}  // namespace periapt::bare
