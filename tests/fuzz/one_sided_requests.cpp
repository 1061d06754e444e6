// Requests for memory between two processes of a host, damaged on their way: keys, addresses, lengths, kinds and places
// that make no sense, and answers that are none. Both processes are in this one, with an arena between them; what the
// one has registered is all that a request may touch, and each transfer ends once.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "tests/machine/two_sides.h"

namespace periapt::fuzz {
namespace {

using machine::OneSided;
using namespace two_sides;

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

std::vector<std::byte> patterned() {
  std::vector<std::byte> bytes(kMost);
  for (std::size_t i = 0; i < kMost; ++i) bytes[i] = static_cast<std::byte>(i * 2654435761u >> 8 | 1);
  return bytes;
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
  static const std::vector<std::byte> sent = patterned();
  const bool is_put = input.flag();
  const std::size_t size = std::min<std::size_t>(1 + input.number<std::uint32_t>() % kMost, kMost);
  const std::size_t offset = input.below(kMost - size + 1);
  // Its own memory lies in the arena, where the other process reaches it, or not.
  const bool in_arena = input.flag();
  host::Heap& heap = *two.sides[0].heap;
  std::byte* const local = in_arena ? static_cast<std::byte*>(heap.allocate(size)) : two.memory[0].data();
  std::byte* const remote = two.memory[1].data() + kFenceBytes + offset;
  std::memcpy(is_put ? local : remote, sent.data(), size);
  std::memset(is_put ? remote : local, 0, size);
  End end;
  OneSided& asks = *two.sides[0].access;
  if (is_put)
    asks.put(0, local, size, two.key, two.key.address + offset, end);
  else
    asks.get(0, local, size, two.key, two.key.address + offset, end);
  bool any_damaged = false;
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
          any_damaged = any_damaged || damaged;
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
  if (!any_damaged && end.status.ok())
    expect(std::memcmp(is_put ? remote : local, sent.data(), size) == 0, "what was asked for has been copied");
  if (in_arena) heap.release(local);
}

}  // namespace periapt::fuzz
