// The length of a message, from what its envelope says: also one that came from outside.
#include "runtime/message/envelope.h"

#include <gtest/gtest.h>

namespace periapt {
namespace {

std::size_t bytes_of(std::uint64_t payload, unsigned priority_bits) {
  Envelope envelope{};
  envelope.size = payload;
  envelope.priority_bits = static_cast<std::uint16_t>(priority_bits);
  return message_bytes(envelope);
}

TEST(Envelope, SaysHowLongTheMessageIs) {
  EXPECT_EQ(bytes_of(0, 0), sizeof(Envelope));
  EXPECT_EQ(bytes_of(13, 0), sizeof(Envelope) + 13);
  EXPECT_EQ(bytes_of(13, 33), sizeof(Envelope) + 16 + 8);
  EXPECT_EQ(bytes_of(kPayloadMax, 0), sizeof(Envelope) + kPayloadMax);
}

// Each of them adds up to a small number, which a message may well have.
TEST(Envelope, ThatClaimsMoreThanAnyMemoryHoldsHasNoLength) {
  EXPECT_EQ(bytes_of(kPayloadMax + 1, 0), 0u);
  EXPECT_EQ(bytes_of(~std::uint64_t{15}, 32'000), 0u);
  EXPECT_EQ(bytes_of(~std::uint64_t{0}, 0), 0u);
}

}  // namespace
}  // namespace periapt
