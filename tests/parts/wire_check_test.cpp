// Lines and blocks from another host: what PEs send is taken, and all else is refused with a reason.
#include "runtime/scheduler/wire_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "runtime/scheduler/work.h"

namespace periapt::scheduler {
namespace {

using ::testing::HasSubstr;

std::string said(const char* wrong) { return wrong == nullptr ? "nothing" : wrong; }

std::string said_of_line(std::uint64_t meta, std::size_t bytes, const SmallMessage& small = {}) {
  std::byte body[sizeof(Work)] = {};
  std::memcpy(body + sizeof(Work::element), &small, sizeof small);
  return said(wrong_line(meta, std::span(body, bytes)));
}

SmallMessage small_for(Target target, unsigned flags = 0) {
  SmallMessage small{};
  small.target = target;
  small.flags = static_cast<std::uint8_t>(flags);
  return small;
}

TEST(WrongLine, IsNoneOfThoseThatAreSent) {
  for (unsigned length = 0; length <= inline_arguments_max; ++length)
    EXPECT_EQ(said_of_line(call_meta(0xffff, ~0u, length), 8 + length), "nothing") << length;
  for (unsigned length = 0; length <= SmallMessage::payload_max; ++length)
    for (Target target : {Target::chare, Target::group, Target::array})
      EXPECT_EQ(said_of_line(small_meta(7, 3, length), 24 + length, small_for(target, envelope_counted)), "nothing");
}

// Else the bytes behind the line would be taken for arguments.
TEST(WrongLine, ClaimsAnotherLengthThanHasCome) {
  for (unsigned length = 0; length < 64; ++length) {
    for (std::size_t bytes = 8; bytes <= 56; ++bytes) {
      const bool call = said_of_line(call_meta(7, 3, length), bytes) == "nothing";
      const bool small = said_of_line(small_meta(7, 3, length), bytes, small_for(Target::array)) == "nothing";
      EXPECT_EQ(call, bytes == 8 + length && length <= 48) << length << " in " << bytes;
      EXPECT_EQ(small, bytes == 24 + length && length <= 32) << length << " in " << bytes;
    }
  }
  EXPECT_THAT(said_of_line(call_meta(7, 3, 8), 24), HasSubstr("another length"));
  EXPECT_THAT(said_of_line(call_meta(7, 3, 49), 57), HasSubstr("longer than a line"));
  EXPECT_THAT(said_of_line(small_meta(7, 3, 33), 57), HasSubstr("longer than a line"));
}

// Its first eight bytes would be taken for an address here.
TEST(WrongLine, ReferToMemory) {
  for (std::uint64_t kind : {message_meta, thread_meta, message_meta | 8 << 2, thread_meta | 8 << 2})
    EXPECT_THAT(said_of_line(kind, 16), HasSubstr("no kind that lines have")) << kind;
  EXPECT_THAT(said_of_line(call_meta(7, 3, 8) | std::uint64_t{1} << 63, 16), HasSubstr("no kind that lines have"))
      << "the mark of a block";
}

TEST(WrongLine, HoldsASmallMessageThatNoneIs) {
  for (unsigned target = 0; target < 256; ++target) {
    const Target to = static_cast<Target>(target);
    const bool may = to == Target::chare || to == Target::group || to == Target::array;
    EXPECT_EQ(said_of_line(small_meta(7, 3, 8), 32, small_for(to)) == "nothing", may) << target;
  }
  EXPECT_THAT(said_of_line(small_meta(7, 3, 8), 32, small_for(Target::array, envelope_tree)), HasSubstr("a mark"));
}

Envelope envelope_for(Target target) {
  Envelope envelope{};
  envelope.target = target;
  return envelope;
}

TEST(WrongBlock, IsNoMessageOrOneThatNobodySends) {
  for (unsigned target = 0; target < 256; ++target) {
    const bool may = target >= 1 && target <= static_cast<unsigned>(last_target);
    EXPECT_EQ(wrong_block(message_meta, envelope_for(static_cast<Target>(target)), 4) == nullptr, may) << target;
  }
  for (std::uint64_t meta = 0; meta < 128; ++meta)
    EXPECT_EQ(wrong_block(meta, envelope_for(Target::array), 4) == nullptr, meta == message_meta) << meta;
}

TEST(WrongBlock, IsABroadcastWhoseRootIsNoPe) {
  for (std::int32_t source : {-1, 4, 1 << 30}) {
    Envelope envelope = envelope_for(Target::group);
    envelope.source = source;
    EXPECT_EQ(wrong_block(message_meta, envelope, 4), nullptr) << "passed on by nobody";
    envelope.flags = envelope_tree;
    EXPECT_THAT(said(wrong_block(message_meta, envelope, 4)), HasSubstr("a PE that is not there"));
  }
  Envelope envelope = envelope_for(Target::group);
  envelope.flags = envelope_tree;
  envelope.source = 3;
  EXPECT_EQ(wrong_block(message_meta, envelope, 4), nullptr);
}

}  // namespace
}  // namespace periapt::scheduler
