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
