// Two processes of a host in one process of ours, a PE each, with an arena between them: requests for memory can be
// seen, and damaged, on their way.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "machine/host/heap.h"
#include "machine/layer/one_sided.h"

namespace periapt::two_sides {

using machine::Audience;
using machine::MemoryKey;
using machine::OneSided;

inline constexpr std::size_t kMost = 600'000;  // more than two requests
inline constexpr std::byte kFence{0x5A};
inline constexpr std::size_t kFenceBytes = 64;

inline bootstrap::HostLayout two_processes() {
  bootstrap::LayoutRequest request;
  request.pes = request.processes = 2;
  bootstrap::UsableCpus usable;
  usable.cpus = {0, 1};
  return *bootstrap::resolve_layout(request, usable);
}

// A PE, which is all of its process.
struct Side {
  host::Inbox inbox{};
  host::ReturnStack returns{};
  host::SleepWord sleep{};
  std::array<std::atomic<host::Ring*>, 2> rings{};
  std::array<std::atomic<std::uint64_t>, 1> may_hold{};
  machine::OneSidedWords words{};
  std::unique_ptr<host::Heap> heap;
  std::unique_ptr<host::Port> port;
  std::unique_ptr<OneSided> access;
  int process = 0;
};

struct Two {
  bootstrap::HostLayout layout = two_processes();
  Result<host::Arena> arena_of_host = host::Arena::map({0, 1});
  host::Arena& arena = *arena_of_host;
  std::array<Side, 2> sides;
  std::array<host::Inbox*, 2> inboxes{&sides[0].inbox, &sides[1].inbox};
  std::array<host::ReturnStack*, 2> returns{&sides[0].returns, &sides[1].returns};
  std::array<host::SleepWord*, 2> sleeps{&sides[0].sleep, &sides[1].sleep};
  // Private memory of both; that of the second one is registered, but for the fences around it.
  std::array<std::vector<std::byte>, 2> memory{std::vector<std::byte>(kMost),
                                               std::vector<std::byte>(kMost + 2 * kFenceBytes, kFence)};
  MemoryKey key{};

  Two() {
    for (int pe = 0; pe < 2; ++pe) {
      Side& side = sides[static_cast<std::size_t>(pe)];
      side.inbox.rings = side.rings.data();
      side.inbox.may_hold = side.may_hold.data();
      host::HeapConfig heap;
      heap.pe = pe;
      heap.pes = 2;
      heap.begin = arena.slice(pe);
      heap.end = arena.slice(pe) + arena.slice_bytes();
      heap.return_stacks = returns.data();
      side.heap = std::make_unique<host::Heap>(heap);
      host::PortConfig port;
      port.pe = pe;
      port.pes = 2;
      port.inboxes = inboxes.data();
      port.sleep = sleeps.data();
      port.heap = side.heap.get();
      side.port = std::make_unique<host::Port>(port);
      side.port->set_siblings({side.port.get()});
    }
    for (int pe = 0; pe < 2; ++pe) {
      Side& side = sides[static_cast<std::size_t>(pe)];
      side.process = pe;
      machine::OneSidedConfig config;
      config.layout = &layout;
      config.process = &side.process;
      config.arena = &arena;
      config.words = {&sides[0].words, &sides[1].words};
      config.ports = {side.port.get()};
      config.kernel_copies = false;
      side.access = std::make_unique<OneSided>(config);
    }
    key = *sides[1].access->register_memory(memory[1].data() + kFenceBytes, kMost, Audience::host);
  }
  bool fences_hold() const {
    const auto is_fence = [](std::byte byte) { return byte == kFence; };
    return std::all_of(memory[1].begin(), memory[1].begin() + kFenceBytes, is_fence) &&
           std::all_of(memory[1].end() - kFenceBytes, memory[1].end(), is_fence);
  }
};

// Where the fields are that the other process reads of a request, and that it writes of an answer: as
// one_sided_requests.cpp has them.
inline constexpr std::size_t kKey = 8, kRemote = 16, kPlace = 24, kSize = 40, kSeal = 48, kAsker = 56, kIsPut = 60,
                             kKind = 62, kState = 63, kWhy = 64;
inline constexpr std::byte kDone{1};

template <class T>
void put(std::byte* block, std::size_t at, T value) {
  std::memcpy(block + at, &value, sizeof value);
}

}  // namespace periapt::two_sides
