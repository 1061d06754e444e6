// Requests for memory between two processes of a host, damaged on their way: keys, addresses, lengths, kinds and places
// that make no sense, and answers that are none. Both processes are in this one, with an arena between them; what the
// one has registered is all that a request may touch, and each transfer ends once.
#include <algorithm>
#include <array>
#include <memory>

#include "machine/host/heap.h"
#include "machine/layer/one_sided.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {
namespace {

using machine::Audience;
using machine::MemoryKey;
using machine::OneSided;

constexpr std::size_t kMost = 600'000;  // more than two requests
constexpr std::byte kFence{0x5A};

bootstrap::HostLayout two_processes() {
  bootstrap::LayoutRequest request;
  request.pes = request.processes = 2;
  bootstrap::UsableCpus usable;
  usable.cpus = {0, 1};
  return *bootstrap::resolve_layout(request, usable);
}

struct End : machine::Transfer {
  int times = 0;
  Status status;
  End() {
    done = [](machine::Transfer& self, const Status& status) {
      auto& end = static_cast<End&>(self);
      expect(++end.times == 1, "a transfer ends once");
      end.status = status;
    };
  }
};

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
                                               std::vector<std::byte>(kMost + 128, kFence)};
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
    key = *sides[1].access->register_memory(memory[1].data() + 64, kMost, Audience::host);
  }
  bool fences_hold() const {
    const auto is_fence = [](std::byte byte) { return byte == kFence; };
    return std::all_of(memory[1].begin(), memory[1].begin() + 64, is_fence) &&
           std::all_of(memory[1].end() - 64, memory[1].end(), is_fence);
  }
};

// Where the fields are that the other process reads of a request, and that it writes of an answer: as
// one_sided_requests.cpp has them.
constexpr std::size_t kKey = 8, kRemote = 16, kPlace = 24, kSize = 40, kIsPut = 60, kKind = 62, kState = 63, kWhy = 64;
constexpr std::byte kDone{1};

template <class T>
void put(std::byte* block, std::size_t at, T value) {
  std::memcpy(block + at, &value, sizeof value);
}

// Returns whether it is another request now; the block is put right again when its answer comes.
bool damage_request(Input& input, std::byte* block, const Two& two) {
  const std::size_t what = input.below(10);
  const auto wild = [&] { return input.flag() ? input.number<std::uint64_t>() : ~std::uint64_t{input.below(5000)}; };
  if (what == 0) put(block, kKey, wild());
  if (what == 1) put(block, kRemote, wild());
  if (what == 2) put(block, kRemote, two.key.address + kMost - input.below(100));
  if (what == 3) put(block, kSize, wild());
  if (what == 4) put(block, kPlace, wild());
  if (what == 5) put(block, kPlace, reinterpret_cast<std::uint64_t>(two.arena.host_page()) - 1 - input.below(100));
  if (what == 6) put(block, kKind, static_cast<std::uint8_t>(1 + input.below(255)));
  if (what == 7) put(block, kIsPut, static_cast<std::uint8_t>(!static_cast<bool>(block[kIsPut])));
  return what < 8;
}

void damage_answer(Input& input, std::byte* block) {
  if (!input.flag()) return;
  put(block, kState, static_cast<std::uint8_t>(1 + input.below(255)));  // an answer: 0 asks
  std::fill_n(block + kWhy, 200, std::byte{'x'});
}

}  // namespace

void target(Input input) {
  static Two two;
  const bool is_put = input.flag();
  const std::size_t size = std::min<std::size_t>(1 + input.number<std::uint32_t>() % kMost, kMost);
  End end;
  OneSided& asks = *two.sides[0].access;
  const std::uint64_t remote = two.key.address + input.below(kMost - size + 1);
  if (is_put)
    asks.put(0, two.memory[0].data(), size, two.key, remote, end);
  else
    asks.get(0, two.memory[0].data(), size, two.key, remote, end);
  std::array<std::byte, 64> whole{};
  bool all_done = true;
  for (int turn = 0; turn < 100 && end.times == 0; ++turn) {
    two.sides[1].port->poll(
        [&](std::uint64_t, const void* body, int) {
          std::byte* block;
          std::memcpy(&block, body, sizeof block);
          std::memcpy(whole.data(), block, whole.size());
          const bool damaged = damage_request(input, block, two);
          two.sides[1].access->take_request(1, block);
          if (!damaged) return;
          // The asker keeps what is its own: only how it went is told.
          const std::byte state = block[kState];
          std::memcpy(block, whole.data(), whole.size());
          block[kState] = state;
        },
        1);
    two.sides[1].access->poll(1);
    two.sides[0].port->poll(
        [&](std::uint64_t, const void* body, int) {
          std::byte* block;
          std::memcpy(&block, body, sizeof block);
          damage_answer(input, block);
          all_done = all_done && block[kState] == kDone;
          asks.take_request(0, block);
        },
        1);
    asks.poll(0);
  }
  expect(end.times == 1, "a transfer ends");
  expect(end.status.ok() == all_done, "it has ended well when all its requests have");
  expect(end.status.ok() || !end.status.message().empty(), "a failure has a reason");
  expect(two.fences_hold(), "what is not registered stays as it is");
}

}  // namespace periapt::fuzz
