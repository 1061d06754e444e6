// Blocks that are packed and unpacked where they lie: on fake GPUs.
#include "machine/gpu/packs.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/this_host.h"
#include "machine/gpu/imports.h"
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
  PacksTest() : packer(std::move(*Packer::make(driver, 0, rooms))) {
    settings.launched = settings.copies = settings.row_copies = 0;
  }
  void move(Way way, const std::shared_ptr<const Layout>& layout, std::byte* scattered, std::byte* packed) {
    const Result<std::shared_ptr<const void>> begun = packer->begin(way, layout, scattered, packed);
    ASSERT_TRUE(begun.ok()) << begun.message();
    ASSERT_TRUE(driver.finish({packer->stream(way), 0}).ok());
  }
  std::byte* memory_of(MemoryType kind, std::uint64_t bytes) {
    return kind == MemoryType::vmm ? map(bytes) : make(kind, bytes);
  }
  // As cuMemMap() makes it; the driver has no function of its own that frees it.
  std::byte* map(std::uint64_t bytes) {
    void* made = nullptr;
    EXPECT_EQ(fake_gpu::function<int(void**, std::size_t)>(GetParam(), "periapt_fake_gpu_map")(&made, bytes), 0);
    return static_cast<std::byte*>(made);
  }
  // There and back, between memory of those kinds. They begin so far behind the beginnings of allocations.
  void round_trip(const std::shared_ptr<const Layout>& layout, MemoryType scattered = MemoryType::device,
                  MemoryType packed = MemoryType::device, std::uint64_t behind = 0, std::uint64_t packed_behind = 0) {
    const std::uint64_t size = layout->extent + 20;
    std::byte *const memory = memory_of(scattered, behind + size), *const piece = memory_of(
                                                                       packed, packed_behind + layout->bytes + 20);
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

  Rooms rooms;
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
    round_trip(layout, MemoryType::device, MemoryType::device, behind, packed_behind);
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
  for (MemoryType scattered :
       {MemoryType::device, MemoryType::pinned, MemoryType::managed, MemoryType::pool, MemoryType::vmm})
    for (MemoryType packed : {MemoryType::device, MemoryType::pinned, MemoryType::pool, MemoryType::vmm})
      round_trip(layout, scattered, packed);
}

TEST_P(PacksTest, ReachFromWhatIsMappedByHandToWhatIsMappedBehindIt) {
  constexpr std::uint64_t chunk = 1 << 20;  // larger than the gaps that other tests leave
  std::byte* const first = map(chunk);
  ASSERT_EQ(map(chunk), first + chunk);
  EXPECT_TRUE(gpu::memory_of(driver, *of_rows(0, 16, {{15, 140'000}}), first).ok());
  EXPECT_THAT(gpu::memory_of(driver, *of_rows(0, 16, {{16, 140'000}}), first).message(),
              HasSubstr("ends 2100016 bytes after its address, in an allocation that ends 2097152 bytes after it"));
  std::byte* const other = make(MemoryType::device, chunk);
  make(MemoryType::device, chunk);
  EXPECT_FALSE(gpu::memory_of(driver, *of_rows(0, 16, {{15, 140'000}}), other).ok());
}

TEST_P(PacksTest, LeaveToTheDriverWhatTheKernelMayNotTouch) {
  round_trip(of_rows(4, 12, {{10, 24}, {3, 300}}), MemoryType::managed);
  EXPECT_EQ(settings.launched, 0);
  EXPECT_EQ(settings.row_copies, 2 * 3) << "a copy for each innermost row";
  round_trip(of_blocks({{400, 16}, {0, 64}, {160, 32}}), MemoryType::managed);
  EXPECT_EQ(settings.launched, 0);
}

TEST_P(PacksTest, ReadBlocksThatLieOnOneAnother) {
  for (MemoryType kind : {MemoryType::device, MemoryType::managed}) {
    std::byte *const memory = make(kind, 100), *const piece = make(MemoryType::device, 100);
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
  std::byte* const there = make(MemoryType::device, 160, 1);
  EXPECT_TRUE(packer->touches(there, 160));
  EXPECT_FALSE(packer->touches(there, 161)) << "it is not as long";
  EXPECT_FALSE(packer->touches(there, 160, true)) << "of another process it was opened at another GPU";
  EXPECT_TRUE(packer->touches(make(MemoryType::device, 160), 160, true));
  EXPECT_FALSE(packer->touches(make(MemoryType::pool, 160, 1), 160)) << "a pool is its GPU's";
  const std::vector<std::byte> host(160);
  EXPECT_FALSE(packer->touches(host.data(), 160));
  const std::vector<std::byte> contents = pattern(160, 1);
  write(there, contents);
  std::byte* const here = make(MemoryType::device, 320);
  move(Way::unpack, of_rows(0, 16, {{10, 32}}), here, there);
  for (std::uint64_t i = 0; i < 10; ++i)
    EXPECT_EQ(read(here + i * 32, 16),
              std::vector<std::byte>(contents.begin() + static_cast<std::ptrdiff_t>(i * 16),
                                     contents.begin() + static_cast<std::ptrdiff_t>(i * 16 + 16)));
  settings.peers = 0;
  EXPECT_FALSE((*Packer::make(driver, 0, rooms))->touches(there, 160));
}

TEST_P(PacksTest, ReadAnotherProcesssMemoryAtTheGpuThatItWasOpenedAt) {
  std::byte* const memory = make(MemoryType::device, 160);
  const Memory seen = *driver.look(memory);
  const Export sent{*driver.export_memory(seen), boot_number(), this_process(), seen.buffer, seen.begin, seen.size, 0};
  in_another_process([&]() -> std::string {
    const Result<std::byte*> here = Imports::of(driver).acquire(1, sent);
    if (!here) return here.message();
    if (packer->touches(*here, 160, true)) return "by a GPU that it was not opened at";
    if (!(*Packer::make(driver, 1, rooms))->touches(*here, 160, true)) return "not by the one that it was opened at";
    Imports::of(driver).release(sent);
    return {};
  });
}

TEST_P(PacksTest, KeepListsAsLongAsTheProgramHasTheLayouts) {
  std::vector<std::shared_ptr<const Layout>> out, in;
  for (std::uint64_t i = 0; i < 20; ++i) {
    out.push_back(of_blocks({{32 + i, 16}, {0, 16}}));
    in.push_back(of_blocks({{64 + i, 16}, {0, 16}}));
  }
  std::byte *const memory = make(MemoryType::device, 100), *const piece = make(MemoryType::device, 100);
  const auto step = [&] {
    for (std::size_t i = 0; i < out.size(); ++i) {
      move(Way::pack, out[i], memory, piece);
      move(Way::unpack, in[i], memory, piece);
      move(Way::pack, in[i], memory, piece);
    }
  };
  step();
  EXPECT_EQ(settings.copies, 60) << "by each way that reads it";
  const std::int64_t left = settings.memory, waits = settings.waits;
  step();
  EXPECT_EQ(settings.copies, 60);
  EXPECT_EQ(settings.memory, left);
  EXPECT_EQ(settings.waits - waits, 60) << "those of this test";
}

TEST_P(PacksTest, GiveTheMemoryOfListsBackWhoseLayoutsAreGone) {
  std::byte *const memory = make(MemoryType::device, 100), *const piece = make(MemoryType::device, 100);
  const auto stays = of_blocks({{32, 16}, {0, 16}, {64, 16}});
  move(Way::pack, stays, memory, piece);
  move(Way::pack, of_blocks({{32, 16}, {0, 16}}), memory, piece);
  move(Way::pack, of_blocks({{33, 16}, {0, 16}}), memory, piece);
  const std::int64_t left = settings.memory;
  for (std::uint64_t i = 0; i < 20; ++i) move(Way::pack, of_blocks({{34 + i, 16}, {0, 16}}), memory, piece);
  EXPECT_EQ(settings.memory, left);
  move(Way::pack, stays, memory, piece);
  EXPECT_EQ(settings.copies, 23) << "one for each layout";
}

TEST_P(PacksTest, GiveListsBackWhereThereIsNoMemoryLeftForAnother) {
  std::byte *const memory = make(MemoryType::device, 100), *const piece = make(MemoryType::device, 100);
  const auto one = of_blocks({{32, 16}, {0, 16}, {64, 16}}), other = of_blocks({{8, 8}, {32, 8}, {64, 16}, {0, 2}});
  move(Way::pack, one, memory, piece);
  settings.memory = 0;
  EXPECT_FALSE(packer->begin(Way::pack, other, memory, piece).ok()) << "what is given back is not as long";
  EXPECT_EQ(settings.memory, 64);
  move(Way::pack, one, memory, piece);
  settings.memory = 16;
  move(Way::pack, other, memory, piece);
  EXPECT_EQ(settings.memory, 0);
}

TEST_P(PacksTest, HoldListsThatAKernelStillReads) {
  settings.kernels = 0;  // none begins before something waits for it
  std::byte *const memory = make(MemoryType::device, 4000), *const piece = make(MemoryType::device, 4000);
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
  std::byte *const memory = make(MemoryType::device, 303), *const piece = make(MemoryType::device, 160);
  EXPECT_THAT(
      packer->begin(Way::pack, layout, memory, piece).message(),
      HasSubstr("a layout that ends 304 bytes after its address, in an allocation that ends 303 bytes after it"));
  free(memory);
  EXPECT_THAT(packer->begin(Way::unpack, layout, memory, piece).message(), HasSubstr("it may have been freed"));
  EXPECT_EQ(settings.launched, 0);
}

TEST_P(PacksTest, AnswerWhatTheDriverRefuses) {
  std::byte *const memory = make(MemoryType::device, 400), *const piece = make(MemoryType::device, 400);
  settings.launches = 0;
  EXPECT_FALSE(packer->begin(Way::pack, of_rows(0, 16, {{10, 32}}), memory, piece).ok());
  settings.launches = -1;
  settings.memory = 10;
  const auto list = of_blocks({{32, 16}, {0, 16}});
  EXPECT_THAT(packer->begin(Way::pack, list, memory, piece).message(), HasSubstr("64 bytes"));
}

TEST_P(PacksTest, SayWhyAGpuHasNoKernelAndCopyRowsThere) {
  settings.compile_error = 6;
  settings.image_error = 209;
  const Result<Kernel>& none = Packer::kernel(driver, 1);  // no other test asks for that one's
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.message(), HasSubstr("does not compile pack.cu"));
  const std::unique_ptr<Packer> there = std::move(*Packer::make(driver, 1, rooms));
  std::byte *const memory = make(MemoryType::device, 400, 1), *const piece = make(MemoryType::device, 400, 1);
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
