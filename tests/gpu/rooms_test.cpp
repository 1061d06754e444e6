// Memory of ours that is kept for what comes next: on fake GPUs.
#include "machine/gpu/rooms.h"

#include <cstring>
#include <vector>

#include "tests/gpu/gpu_fixture.h"

namespace periapt::gpu {
namespace {

using ::testing::HasSubstr;

class RoomsTest : public GpuTest {};

TEST_P(RoomsTest, KeepMemoryForThoseThatComeNext) {
  const OnGpu where{&driver, 0};
  const std::int64_t before = settings.memory;
  {
    Rooms rooms;
    const Room one = *rooms.take(where, MemoryType::device, 1000);
    rooms.give(one);
    EXPECT_NE(rooms.take({&driver, 1}, MemoryType::device, 1000)->at, one.at);
    EXPECT_NE(rooms.take(where, MemoryType::pinned, 1000)->at, one.at);
    EXPECT_NE(rooms.take(where, MemoryType::device, 2000)->at, one.at);
    EXPECT_NE(rooms.take(where, MemoryType::device, 100)->at, one.at) << "small ones do not hold large memory";
    EXPECT_EQ(rooms.take(where, MemoryType::device, 900)->at, one.at);
  }
  EXPECT_EQ(before - settings.memory, 1000 + 1000 + 2000 + 100) << "what was not given back is not freed";
}

TEST_P(RoomsTest, KeepAsManyAsWereOutAtOnce) {
  const OnGpu where{&driver, 0};
  const std::int64_t before = settings.memory;
  Rooms rooms;
  std::vector<Room> out;
  for (int step = 0; step < 5; ++step) {
    for (int i = 0; i < 40; ++i) out.push_back(*rooms.take(where, MemoryType::device, 1000));
    for (const Room& room : out) rooms.give(room);
    out.clear();
    EXPECT_EQ(before - settings.memory, 40 * 1000);
    EXPECT_EQ(settings.waits, 0) << "none is freed";
  }
}

TEST_P(RoomsTest, KeepNoMoreBytesThanWereOutAtOnce) {
  const OnGpu where{&driver, 0};
  const std::int64_t before = settings.memory;
  Rooms rooms;
  for (std::uint64_t bytes = 1000; bytes < 100'000; bytes *= 3)
    rooms.give(*rooms.take(where, MemoryType::device, bytes));
  EXPECT_EQ(before - settings.memory, 81'000);
  rooms.give(*rooms.take(where, MemoryType::device, 900));
  EXPECT_EQ(before - settings.memory, 900) << "the oldest goes first";
  const Room pinned = *rooms.take(where, MemoryType::pinned, 1'000'000);
  rooms.give(*rooms.take(where, MemoryType::device, 50'000));
  rooms.give(*rooms.take(where, MemoryType::device, 50'000));
  rooms.give(pinned);
  EXPECT_EQ(before - settings.memory, 50'900) << "each kind is counted by itself";
}

TEST_P(RoomsTest, KeepThatOfTheSmallestToo) {
  Rooms rooms;
  const Room one = *rooms.take({&driver, 0}, MemoryType::device, 7);
  rooms.give(one);
  EXPECT_EQ(rooms.take({&driver, 0}, MemoryType::device, 1)->at, one.at);
  EXPECT_TRUE(rooms.take({&driver, 0}, MemoryType::device, 0).ok());
  rooms.give(one);
}

TEST_P(RoomsTest, FreeWhatIsKeptWhereThereIsNoMemoryLeft) {
  Rooms rooms;
  rooms.give(*rooms.take({&driver, 0}, MemoryType::device, 4000));
  settings.memory = 3000;
  const Result<Room> larger = rooms.take({&driver, 0}, MemoryType::device, 5000);
  ASSERT_TRUE(larger.ok()) << larger.message();
  EXPECT_EQ(settings.memory, 3000 + 4000 - 5000);
  EXPECT_FALSE(rooms.take({&driver, 0}, MemoryType::device, 3000).ok()) << "nothing is kept now";
  rooms.give(*larger);
}

TEST_P(RoomsTest, AreOfTheHostWithoutADriver) {
  Rooms rooms;
  const Room room = *rooms.take({}, MemoryType::host, 100);
  std::memset(room.at, 1, 100);
  rooms.give(room);
  EXPECT_EQ(rooms.take({}, MemoryType::host, 100)->at, room.at);
  rooms.give(room);
}

TEST_P(RoomsTest, SayThatThereIsNoMemory) {
  Rooms rooms;
  settings.memory = 10;
  const Result<Room> none = rooms.take({&driver, 0}, MemoryType::device, 1000);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.message(), HasSubstr("1000 bytes"));
}

INSTANTIATE_TEST_SUITE_P(Both, RoomsTest, ::testing::Values("cuda", "hip"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace periapt::gpu
