// Requests for memory between processes of a host that were written over on their way end the run with a sentence where
// nothing can be said to the asker. (What else may be damaged: tests/fuzz/one_sided_requests.cpp.)
#include <gtest/gtest.h>

#include "tests/machine/told.h"
#include "tests/machine/two_sides.h"

namespace periapt {
namespace {

using namespace two_sides;

struct OneSidedRequests : testing::Test {
  Two two;
  Told told;

  // PE 0 asks; the request, as PE 1 gets it.
  std::byte* ask() {
    two.sides[0].access->get(0, two.memory[0].data(), 100, two.key, two.key.address, told);
    return next_of(1);
  }
  std::byte* next_of(int pe) {
    std::byte* block = nullptr;
    two.sides[static_cast<std::size_t>(pe)].port->poll(
        [&](std::uint64_t, const void* body, int) { std::memcpy(&block, body, sizeof block); }, 1);
    return block;
  }
};

TEST_F(OneSidedRequests, WholeOnesAreAnswered) {
  std::byte* const request = ask();
  ASSERT_NE(request, nullptr);
  two.sides[1].access->take_request(1, request);
  ASSERT_EQ(next_of(0), request);
  two.sides[0].access->take_request(0, request);
  while (told.times == 0) two.sides[0].access->poll(0);
  EXPECT_EQ(two.memory[0][99], kFence);
}

TEST_F(OneSidedRequests, AnAskerThatTheHostHasNotIsNamed) {
  std::byte* const request = ask();
  for (const std::int32_t asker : {99, 2, -1, INT32_MIN, INT32_MAX}) {
    put(request, kAsker, asker);
    EXPECT_EXIT(two.sides[1].access->take_request(1, request), testing::ExitedWithCode(1),
                "a request for memory comes from PE " + std::to_string(asker) + ", which this host has not");
  }
}

// Memory of the other process's GPU, which cannot be mapped, comes through a stage.
struct OneSidedStage : OneSidedRequests {
  std::vector<std::byte> local = std::vector<std::byte>(16 << 20), remote = std::vector<std::byte>(local.size());
  MemoryKey on_gpu =
      *two.sides[1].access->register_memory(remote.data(), remote.size(), Audience::host, ucx::MemoryKind::cuda);

  // How many requests are on their way, and the bytes of the largest.
  std::pair<int, std::uint64_t> asked() {
    std::pair<int, std::uint64_t> count{0, 0};
    while (std::byte* const request = next_of(1)) {
      std::uint64_t size;
      std::memcpy(&size, request + kSize, sizeof size);
      count = {count.first + 1, std::max(count.second, size)};
      requests.push_back(request);
    }
    return count;
  }
  // No driver is in use here: they fail.
  void answer_all() {
    for (std::byte* const request : std::exchange(requests, {})) {
      two.sides[1].access->take_request(1, request);
      two.sides[1].access->poll(1);
      ASSERT_EQ(next_of(0), request);
      two.sides[0].access->take_request(0, request);
    }
    two.sides[0].access->poll(0);
  }
  std::vector<std::byte*> requests;
};

TEST_F(OneSidedStage, SmallTransfersDoNotWaitForLargeOnesOrForEachOther) {
  std::vector<Told> small(100);
  Told large;
  two.sides[0].access->get(0, local.data(), 8 << 20, on_gpu, on_gpu.address, large, ucx::MemoryKind::cuda);
  EXPECT_EQ(asked().first, 8) << "pieces of a megabyte";
  for (std::size_t i = 0; i < small.size(); ++i)
    two.sides[0].access->get(0, local.data() + i * 4096, 4096, on_gpu, on_gpu.address + i * 4096, small[i]);
  EXPECT_EQ(asked().first, 64) << "at once, where each took a piece of a megabyte";
  answer_all();
  EXPECT_EQ(asked().first, 36) << "they have the places of those before";
  answer_all();
  EXPECT_EQ(large.times, 1);
  for (const Told& told : small) EXPECT_EQ(told.times, 1);
}

// A processor copies what goes from or to memory of the host, within a call.
TEST_F(OneSidedStage, PiecesAreLargeOnlyWhereGpusCopyBothSides) {
  using ucx::MemoryKind;
  const MemoryKey of_host = *two.sides[1].access->register_memory(remote.data(), remote.size(), Audience::host);
  const auto largest = [&](MemoryKind kind, const MemoryKey& key) {
    Told told;
    two.sides[0].access->get(0, local.data(), 8 << 20, key, key.address, told, kind);
    const std::uint64_t bytes = asked().second;
    while (told.times == 0) {
      answer_all();
      asked();
    }
    return bytes;
  };
  EXPECT_EQ(largest(MemoryKind::cuda, on_gpu), 1u << 20);
  EXPECT_EQ(largest(MemoryKind::host, on_gpu), 256u << 10);
  EXPECT_EQ(largest(MemoryKind::cuda, of_host), 256u << 10);
}

// Of an answer only how it went is believed.
TEST_F(OneSidedRequests, AnAnswerToWhatWasNotAskedIsRefused) {
  std::byte* const request = ask();
  two.sides[1].access->take_request(1, request);
  for (const std::size_t word : {std::size_t{0}, kPlace, std::size_t{32}, kSize, kSeal}) {
    std::uint64_t was;
    std::memcpy(&was, request + word, sizeof was);
    put(request, word, was + 8);
    EXPECT_EXIT(two.sides[0].access->take_request(0, request), testing::ExitedWithCode(1),
                "an answer to a request for memory is none to what this process has asked");
    put(request, word, was);
  }
}

}  // namespace
}  // namespace periapt
