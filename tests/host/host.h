// A host for tests: PEs of one process with Ports and Heaps of their own, rings as small as a test wants them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "machine/host/arena.h"
#include "machine/host/heap.h"
#include "machine/host/inbox.h"

namespace periapt::host {

class Host {
 public:
  explicit Host(int pes, std::uint32_t ring_capacity = 0, int pes_a_carrier = 1)
      : arena_(Arena::map(std::vector<int>(static_cast<std::size_t>(pes), 0))),
        shared_(static_cast<std::size_t>(pes)),
        sleep_(static_cast<std::size_t>(pes)) {
    EXPECT_TRUE(arena_.ok()) << arena_.message();
    for (int pe = 0; pe < pes; ++pe) {
      Shared& shared = shared_[static_cast<std::size_t>(pe)];
      shared.rings = std::vector<std::atomic<Ring*>>(static_cast<std::size_t>(pes));
      shared.may_hold = std::vector<std::atomic<std::uint64_t>>(static_cast<std::size_t>(pes + 63) / 64);
      shared.inbox.rings = shared.rings.data();
      shared.inbox.may_hold = shared.may_hold.data();
      inboxes_.push_back(&shared.inbox);
      return_stacks_.push_back(&shared.returns);
      sleep_of_.push_back(&sleep_[static_cast<std::size_t>(pe / pes_a_carrier)]);
    }
    for (int pe = 0; pe < pes; ++pe) {
      HeapConfig heap;
      heap.pe = pe;
      heap.pes = pes;
      heap.begin = arena_->slice(pe);
      heap.end = arena_->slice(pe) + arena_->slice_bytes();
      heap.return_stacks = return_stacks_.data();
      heaps_.push_back(std::make_unique<Heap>(heap));
      PortConfig port;
      port.pe = pe;
      port.pes = pes;
      port.inboxes = inboxes_.data();
      port.sleep = sleep_of_.data();
      port.heap = heaps_.back().get();
      port.ring_capacity = ring_capacity;
      ports_.push_back(std::make_unique<Port>(port));
    }
    for (int first = 0; first < pes; first += pes_a_carrier) {
      std::vector<Port*> siblings;
      for (int pe = first; pe < std::min(first + pes_a_carrier, pes); ++pe) siblings.push_back(&port(pe));
      for (Port* sibling : siblings) sibling->set_siblings(siblings);
    }
  }

  int pes() const { return static_cast<int>(ports_.size()); }
  Port& port(int pe) { return *ports_[static_cast<std::size_t>(pe)]; }
  Heap& heap(int pe) { return *heaps_[static_cast<std::size_t>(pe)]; }
  Arena& arena() { return *arena_; }

  /// Runs body(pe) on a thread for each PE, to the end.
  template <class Body>
  void run(Body&& body) {
    std::vector<std::thread> threads;
    for (int pe = 0; pe < pes(); ++pe) threads.emplace_back([&body, pe] { body(pe); });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  struct Shared {
    Inbox inbox{};
    ReturnStack returns{};
    std::vector<std::atomic<Ring*>> rings;
    std::vector<std::atomic<std::uint64_t>> may_hold;
  };
  Result<Arena> arena_;
  std::vector<Shared> shared_;
  std::vector<SleepWord> sleep_;
  std::vector<Inbox*> inboxes_;
  std::vector<ReturnStack*> return_stacks_;
  std::vector<SleepWord*> sleep_of_;
  std::vector<std::unique_ptr<Heap>> heaps_;
  std::vector<std::unique_ptr<Port>> ports_;
};

/// What the stress tests send, inline or in a block; the sum covers all of it.
struct Letter {
  std::uint32_t source;
  std::uint32_t target;
  std::uint64_t number;  ///< counts the letters of this source to this target
  std::uint64_t bytes;   ///< of the block; 0: inline
  std::uint64_t sum;

  std::uint64_t expected_sum() const { return (source * 31 + target) * 0x9E3779B97F4A7C15u ^ number * 7 ^ bytes; }
};
static_assert(sizeof(Letter) <= Slot::kBodyBytes);

/// Sends one letter: inline if `bytes` is 0, else in a block whose every 64th byte is marked.
inline void post_letter(Port& port, Letter letter) {
  const int target = static_cast<int>(letter.target);
  letter.sum = letter.expected_sum();
  if (letter.bytes == 0) {
    if (Slot* slot = port.claim(target)) {
      std::memcpy(slot->body, &letter, sizeof(letter));
      return port.publish(target, slot, letter.number & 0xFFFFFF);
    }
    std::byte body[Slot::kBodyBytes] = {};
    std::memcpy(body, &letter, sizeof(letter));
    return port.park(target, letter.number & 0xFFFFFF, body);
  }
  letter.bytes = std::max<std::uint64_t>(letter.bytes, 64);
  letter.sum = letter.expected_sum();
  auto* block = static_cast<unsigned char*>(port.heap().allocate(letter.bytes));
  for (std::size_t i = sizeof(letter); i < letter.bytes; i += 64) block[i] = static_cast<unsigned char>(letter.number);
  std::memcpy(block, &letter, sizeof(letter));
  port.send(target, 1ull << 55 | (letter.number & 0xFFFFFF), block);
}

/// Reads a letter out of what a sink was given, and releases its block. False: it was damaged.
inline bool read_letter(Port& port, std::uint64_t meta, const void* body, int source, Letter& letter) {
  if ((meta & 1ull << 55) == 0) {
    std::memcpy(&letter, body, sizeof(letter));
    return letter.sum == letter.expected_sum() && letter.bytes == 0 && meta == (letter.number & 0xFFFFFF) &&
           letter.source == static_cast<std::uint32_t>(source) && letter.target == static_cast<unsigned>(port.pe());
  }
  unsigned char* block;
  std::memcpy(&block, body, sizeof(block));
  std::memcpy(&letter, block, sizeof(letter));
  bool good = letter.sum == letter.expected_sum() && letter.source == static_cast<std::uint32_t>(source) &&
              letter.target == static_cast<unsigned>(port.pe());
  // The copy of the envelope that came along says the same.
  good = good && std::memcmp(static_cast<const std::byte*>(body) + 8, block, sizeof(letter)) == 0;
  for (std::size_t i = sizeof(letter); good && i < letter.bytes; i += 64) {
    good = block[i] == static_cast<unsigned char>(letter.number);
  }
  port.heap().release(block);
  return good;
}

}  // namespace periapt::host
