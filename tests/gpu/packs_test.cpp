// Blocks that are packed and unpacked where they lie: on fake GPUs.
#include "machine/gpu/packs.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/gpu/gpu_fixture.h"

namespace periapt::gpu {
namespace {

using ::testing::HasSubstr;
using Way = Packer::Way;

std::shared_ptr<const Layout> of_rows(std::uint64_t first, std::uint64_t block, std::vector<Layout::Row> rows) {
  return std::make_shared<const Layout>(*layout_of_rows(first, block, rows));
}
std::shared_ptr<const Layout> of_blocks(const std::vector<Layout::Block>& blocks) {
  return std::make_shared<const Layout>(*layout_of_blocks(blocks));
}

class PacksTest : public GpuTest {
 protected:
  PacksTest() : packer(std::move(*Packer::make(driver, 0))) {
    settings.launched = settings.copies = settings.row_copies = 0;
  }
  void move(Way way, const std::shared_ptr<const Layout>& layout, std::byte* scattered, std::byte* packed) {
    const Result<std::shared_ptr<const void>> begun = packer->begin(way, layout, scattered, packed);
    ASSERT_TRUE(begun.ok()) << begun.message();
    ASSERT_TRUE(driver.finish({packer->stream(way), 0}).ok());
  }
  // There and back, between memory of those kinds. They begin so far behind the beginnings of allocations.
  void round_trip(const std::shared_ptr<const Layout>& layout, Kind scattered = Kind::device,
                  Kind packed = Kind::device, std::uint64_t behind = 0, std::uint64_t packed_behind = 0) {
    const std::uint64_t size = layout->extent + 20;
    std::byte *const memory = make(scattered, behind + size), *const piece =
                                                                  make(packed, packed_behind + layout->bytes + 20);
    const std::vector<std::byte> contents = pattern(behind + size, 1), other = pattern(behind + size, 2);
    const std::vector<std::byte> before = pattern(packed_behind + layout->bytes + 20, 3);
    write(memory, contents);
    write(piece, before);
    std::vector<std::byte> expected = before;
    gather(*layout, expected.data() + packed_behind, contents.data() + behind);
    move(Way::pack, layout, memory + behind, piece + packed_behind);
    EXPECT_EQ(read(piece, before.size()), expected);
    EXPECT_EQ(read(memory, contents.size()), contents);
    write(memory, other);
    std::vector<std::byte> back = other;
    scatter(*layout, back.data() + behind, expected.data() + packed_behind);
    move(Way::unpack, layout, memory + behind, piece + packed_behind);
    EXPECT_EQ(read(memory, back.size()), back) << "what lies between the blocks is as it was";
    EXPECT_EQ(read(piece, expected.size()), expected);
    free(memory);
    free(piece);
  }

  std::unique_ptr<Packer> packer;
};

TEST_P(PacksTest, MoveBlocksByOneKernelWhateverTheirNumber) {
  settings.warps = 3;
  round_trip(of_rows(0, 16, {{1000, 48}}));
  EXPECT_EQ(settings.launched, 2);
  EXPECT_EQ(settings.copies, 7) << "those of this test";
}

TEST_P(PacksTest, MoveUnitsAsWideAsAllOfItAllows) {
  settings.warps = 2;
  settings.touches = 1'000'000;
  const auto touched = [&](const std::shared_ptr<const Layout>& layout, std::uint64_t behind = 0,
                           std::uint64_t packed_behind = 0) {
    const std::int64_t before = settings.touches;
    round_trip(layout, Kind::device, Kind::device, behind, packed_behind);
    return static_cast<std::uint64_t>(before - settings.touches);
  };
  EXPECT_EQ(touched(of_rows(0, 16, {{30, 32}})), 4u * 30);
  EXPECT_EQ(touched(of_rows(0, 64, {{30, 80}})), 4u * 30 * 4);
  EXPECT_EQ(touched(of_rows(0, 16, {{30, 40}})), 4u * 30 * 2);
  EXPECT_EQ(touched(of_rows(8, 16, {{30, 32}})), 4u * 30 * 2);
  EXPECT_EQ(touched(of_rows(0, 4, {{30, 12}})), 4u * 30);
  EXPECT_EQ(touched(of_rows(0, 6, {{30, 12}})), 4u * 30 * 3);
  EXPECT_EQ(touched(of_rows(0, 16, {{30, 33}})), 4u * 30 * 16);
  EXPECT_EQ(touched(of_rows(0, 16, {{30, 32}}), 4), 4u * 30 * 4);
  EXPECT_EQ(touched(of_rows(0, 16, {{30, 32}}), 0, 4), 4u * 30 * 4);
  EXPECT_EQ(touched(of_rows(0, 16, {{30, 32}}), 1), 4u * 30 * 16);
}

TEST_P(PacksTest, MoveRowsWithinRows) {
  round_trip(of_rows(12, 12, {{5, 20}, {7, 100}, {3, 1000}}));
  round_trip(of_rows(0, 1, {{9, 2}}));
  round_trip(of_rows(3, 250, {}));
}

TEST_P(PacksTest, MoveBlocksOfAList) {
  settings.warps = 3;
  round_trip(of_blocks({{400, 16}, {0, 64}, {160, 32}}));
  round_trip(of_blocks({{401, 1}, {0, 3}, {10, 2}, {64, 100}}));
  round_trip(of_blocks({{30'000, 20'000}, {0, 12'345}, {20'001, 8}}));
}

TEST_P(PacksTest, MoveBetweenAllKindsOfMemory) {
  const auto layout = of_rows(4, 12, {{10, 24}, {3, 300}});
  for (Kind scattered : {Kind::device, Kind::pinned, Kind::managed, Kind::pool, Kind::vmm}) {
    if (scattered == Kind::vmm) continue;  // made by another function
    for (Kind packed : {Kind::device, Kind::pinned, Kind::pool}) round_trip(layout, scattered, packed);
  }
}

TEST_P(PacksTest, LeaveToTheDriverWhatTheKernelMayNotTouch) {
  round_trip(of_rows(4, 12, {{10, 24}, {3, 300}}), Kind::managed);
  EXPECT_EQ(settings.launched, 0);
  EXPECT_EQ(settings.row_copies, 2 * 3) << "a copy for each innermost row";
  round_trip(of_blocks({{400, 16}, {0, 64}, {160, 32}}), Kind::managed);
  EXPECT_EQ(settings.launched, 0);
}

TEST_P(PacksTest, ReadBlocksThatLieOnOneAnother) {
  for (Kind kind : {Kind::device, Kind::managed}) {
    std::byte *const memory = make(kind, 100), *const piece = make(Kind::device, 100);
    const std::vector<std::byte> contents = pattern(100, 1);
    write(memory, contents);
    for (std::uint64_t stride : {0, 8}) {
      const auto layout = of_rows(0, 16, {{4, stride}});
      std::vector<std::byte> expected(64);
      gather(*layout, expected.data(), contents.data());
      move(Way::pack, layout, memory, piece);
      EXPECT_EQ(read(piece, 64), expected);
    }
  }
}

TEST_P(PacksTest, ReadAnotherGpusMemoryWhereTheBusAllowsIt) {
  std::byte* const there = make(Kind::device, 160, 1);
  EXPECT_TRUE(packer->touches(there, 160));
  EXPECT_FALSE(packer->touches(there, 161)) << "it is not as long";
  EXPECT_FALSE(packer->touches(there, 160, true)) << "of another process it was opened at another GPU";
  EXPECT_TRUE(packer->touches(make(Kind::device, 160), 160, true));
  EXPECT_FALSE(packer->touches(make(Kind::pool, 160, 1), 160)) << "a pool is its GPU's";
  const std::vector<std::byte> host(160);
  EXPECT_FALSE(packer->touches(host.data(), 160));
  const std::vector<std::byte> contents = pattern(160, 1);
  write(there, contents);
  std::byte* const here = make(Kind::device, 320);
  move(Way::unpack, of_rows(0, 16, {{10, 32}}), here, there);
  for (std::uint64_t i = 0; i < 10; ++i)
    EXPECT_EQ(read(here + i * 32, 16),
              std::vector<std::byte>(contents.begin() + static_cast<std::ptrdiff_t>(i * 16),
                                     contents.begin() + static_cast<std::ptrdiff_t>(i * 16 + 16)));
  settings.peers = 0;
  EXPECT_FALSE((*Packer::make(driver, 0))->touches(there, 160));
}

TEST_P(PacksTest, KeepListsForThoseThatComeNext) {
  const auto layout = of_blocks({{32, 16}, {0, 16}, {64, 16}});
  std::byte *const memory = make(Kind::device, 100), *const piece = make(Kind::device, 100);
  move(Way::pack, layout, memory, piece);
  const std::int64_t with_one = settings.memory;
  move(Way::pack, layout, memory, piece);
  EXPECT_EQ(settings.memory, with_one);
  EXPECT_EQ(settings.copies, 1);
  std::vector<std::shared_ptr<const void>> held;
  for (std::uint64_t i = 0; i < 20; ++i) {
    move(Way::pack, of_blocks({{32 + i, 16}, {0, 16}}), memory, piece);
    move(Way::pack, layout, memory, piece);  // is used, and stays
  }
  EXPECT_EQ(settings.copies, 21);
  EXPECT_EQ(with_one - settings.memory, 7 * 3 * 16) << "a bounded number is kept";
}

TEST_P(PacksTest, HoldListsThatAKernelStillReads) {
  settings.kernels = 0;  // none begins before something waits for it
  std::byte *const memory = make(Kind::device, 4000), *const piece = make(Kind::device, 4000);
  const std::vector<std::byte> contents = pattern(4000, 1);
  write(memory, contents);
  std::vector<std::shared_ptr<const void>> held;
  for (std::uint64_t i = 0; i < 20; ++i) {
    Result<std::shared_ptr<const void>> begun =
        packer->begin(Way::pack, of_blocks({{32 + 16 * i, 16}, {0, 16}}), memory, piece + 32 * i);
    ASSERT_TRUE(begun.ok()) << begun.message();
    held.push_back(*begun);
  }
  ASSERT_TRUE(driver.finish({packer->stream(Way::pack), 0}).ok());
  for (std::uint64_t i = 0; i < 20; ++i)
    EXPECT_EQ(read(piece + 32 * i, 16),
              std::vector<std::byte>(contents.begin() + static_cast<std::ptrdiff_t>(32 + 16 * i),
                                     contents.begin() + static_cast<std::ptrdiff_t>(48 + 16 * i)));
}

TEST_P(PacksTest, RefuseMemoryThatWasFreedOrIsNotAsLong) {
  const auto layout = of_rows(0, 16, {{10, 32}});
  std::byte *const memory = make(Kind::device, 303), *const piece = make(Kind::device, 160);
  EXPECT_THAT(
      packer->begin(Way::pack, layout, memory, piece).message(),
      HasSubstr("a layout that ends 304 bytes after its address, in an allocation that ends 303 bytes after it"));
  free(memory);
  EXPECT_THAT(packer->begin(Way::unpack, layout, memory, piece).message(), HasSubstr("it may have been freed"));
  EXPECT_EQ(settings.launched, 0);
}

TEST_P(PacksTest, AnswerWhatTheDriverRefuses) {
  std::byte *const memory = make(Kind::device, 400), *const piece = make(Kind::device, 400);
  settings.launches = 0;
  EXPECT_FALSE(packer->begin(Way::pack, of_rows(0, 16, {{10, 32}}), memory, piece).ok());
  settings.launches = -1;
  settings.memory = 10;
  const auto list = of_blocks({{32, 16}, {0, 16}});
  EXPECT_THAT(packer->begin(Way::pack, list, memory, piece).message(), HasSubstr("48 bytes"));
}

TEST_P(PacksTest, SayWhyAGpuHasNoKernelAndCopyRowsThere) {
  settings.compile_error = 6;
  settings.image_error = 209;
  const Result<Kernel>& none = Packer::kernel(driver, 1);  // no other test asks for that one's
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.message(), HasSubstr("does not compile pack.cu"));
  const std::unique_ptr<Packer> there = std::move(*Packer::make(driver, 1));
  std::byte *const memory = make(Kind::device, 400, 1), *const piece = make(Kind::device, 400, 1);
  const std::vector<std::byte> contents = pattern(400, 1);
  write(memory, contents);
  const auto layout = of_rows(4, 12, {{5, 24}, {3, 130}});
  std::vector<std::byte> expected(layout->bytes);
  gather(*layout, expected.data(), contents.data());
  ASSERT_TRUE(there->begin(Way::pack, layout, memory, piece).ok());
  ASSERT_TRUE(driver.finish({there->stream(Way::pack), 1}).ok());
  EXPECT_EQ(read(piece, expected.size()), expected);
  EXPECT_EQ(settings.row_copies, 3);
}

INSTANTIATE_TEST_SUITE_P(Both, PacksTest, ::testing::Values("cuda", "hip"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace periapt::gpu
