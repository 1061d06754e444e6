// Copies that nothing waits for, pinned pieces, and memory of other processes: on fake GPUs.
#include "machine/gpu/copies.h"

#include <cstdlib>
#include <memory>
#include <string>

#include "base/this_host.h"
#include "machine/gpu/device_memory.h"
#include "machine/gpu/imports.h"
#include "machine/gpu/pinned_pool.h"
#include "tests/gpu/gpu_fixture.h"

namespace periapt::gpu {
namespace {

using ::testing::HasSubstr;

class CopiesTest : public GpuTest {
 protected:
  template <class Condition>
  void until(Copies& copies, Condition&& condition) {
    for (unsigned i = 0; i < 100'000 && !condition(); ++i) copies.progress();
    EXPECT_TRUE(condition());
  }
};

TEST_P(CopiesTest, GoInAcrossAndOutAndAreToldFromProgress) {
  constexpr std::uint64_t kSize = 300'001;
  Copies copies(driver);
  std::byte *from = make(MemoryType::pinned, kSize), *back = make(MemoryType::pinned, kSize);
  std::byte *here = make(MemoryType::device, kSize, 0), *there = make(MemoryType::pool, kSize, 1);
  const std::vector<std::byte> bytes = pattern(kSize, 3);
  std::memcpy(from, bytes.data(), kSize);
  std::memset(back, 0, kSize);
  settings.waits = 0;
  Told in, across, out;
  ASSERT_TRUE(copies.begin({here, from, kSize, 0, -1}, in).ok());
  EXPECT_EQ(in.count, 0u);
  until(copies, [&] { return in.count != 0; });
  ASSERT_TRUE(copies.begin({there, here, kSize, 1, 0}, across).ok());
  until(copies, [&] { return across.count != 0; });
  ASSERT_TRUE(copies.begin({back, there, kSize, -1, 1}, out).ok());
  EXPECT_EQ(copies.under_way(), 1u);
  until(copies, [&] { return out.count != 0; });
  EXPECT_EQ(std::memcmp(back, bytes.data(), kSize), 0);
  for (const Told* told : {&in, &across, &out}) {
    EXPECT_EQ(told->outcome, ucx::Outcome::ok);
    EXPECT_EQ(told->count, 1u);
  }
  EXPECT_EQ(copies.under_way(), 0u);
  EXPECT_EQ(copies.progress(), 0);
  EXPECT_EQ(settings.waits, 0) << "nothing may wait for a GPU";
}

TEST_P(CopiesTest, ManyAtATimeEndInTheirOrder) {
  Copies copies(driver);
  constexpr unsigned kMany = 100;
  std::byte *from = make(MemoryType::pinned, kMany), *to = make(MemoryType::device, kMany);
  const std::vector<std::byte> bytes = pattern(kMany, 4);
  std::memcpy(from, bytes.data(), kMany);
  std::vector<Told> told(kMany);
  for (unsigned i = 0; i < kMany; ++i) ASSERT_TRUE(copies.begin({to + i, from + i, 1, 0, -1}, told[i]).ok());
  EXPECT_EQ(copies.under_way(), kMany);
  unsigned ended = 0;
  while (ended < kMany) {
    copies.progress();
    while (ended < kMany && told[ended].count != 0) ++ended;
    for (unsigned i = ended; i < kMany; ++i) ASSERT_EQ(told[i].count, 0u);
  }
  EXPECT_EQ(read(to, kMany), bytes);
}

TEST_P(CopiesTest, ACopyBeginsBehindTheProgramsStream) {
  settings.delay = 10;
  Copies copies(driver);
  std::byte *first = make(MemoryType::device, 100), *second = make(MemoryType::device, 100),
            *third = make(MemoryType::device, 100);
  write(first, pattern(100, 5));
  Stream program = *driver.make_stream(0);
  Told told, again;
  ASSERT_TRUE(driver.copy(program, second, first, 100).ok());  // a kernel's work
  ASSERT_TRUE(copies.begin({third, second, 100, 0, 0, program.native}, told).ok());
  until(copies, [&] { return told.count != 0; });
  EXPECT_EQ(read(third, 100), pattern(100, 5)) << "it was copied before the program had made it";
  ASSERT_TRUE(copies.begin({first, third, 100, 0, 0, program.native}, again).ok());
  until(copies, [&] { return again.count != 0; });
  driver.destroy(program);
}

TEST_P(CopiesTest, WhatCannotBeginIsRefused) {
  Copies copies(driver);
  std::byte *device = make(MemoryType::device, 100), *pinned = make(MemoryType::pinned, 200);
  Told told;
  EXPECT_THAT(copies.begin({pinned, pinned, 10, -1, -1}, told).message(), HasSubstr("neither side on a GPU"));
  EXPECT_THAT(copies.begin({device, pinned, 200, 0, -1}, told).message(), HasSubstr("MemcpyAsync on GPU 0"));
  free(device);
  EXPECT_FALSE(copies.begin({device, pinned, 10, 0, -1}, told).ok());
  EXPECT_EQ(copies.under_way(), 0u);
  EXPECT_EQ(copies.progress(), 0);
  EXPECT_EQ(told.count, 0u);
}

TEST_P(CopiesTest, ALostGpuIsToldToEveryCopy) {
  Copies copies(driver);
  std::byte *device = make(MemoryType::device, 100), *pinned = make(MemoryType::pinned, 100);
  std::vector<Told> told(5);
  settings.copies_until_loss = 2;
  for (Told& one : told) ASSERT_TRUE(copies.begin({device, pinned, 100, 0, -1}, one).ok());
  until(copies, [&] { return told.back().count != 0; });
  EXPECT_EQ(told[1].outcome, ucx::Outcome::ok);
  for (unsigned i = 2; i < told.size(); ++i) EXPECT_EQ(told[i].outcome, ucx::Outcome::failed);
  EXPECT_THAT(copies.failure(), HasSubstr("EventQuery on GPU 0: "));
}

// A completion asks for the reason while it is called.
TEST_P(CopiesTest, TheFirstCopyThatFailsHasItsReasonAtHand) {
  struct Asks : ucx::Completion {
    ucx::DeviceMemory* memory = nullptr;
    std::string why = "it is under way";
  } asks;
  asks.done = [](ucx::Completion& self, ucx::Outcome) {
    auto& asks = static_cast<Asks&>(self);
    asks.why = asks.memory->failure();
  };
  const std::unique_ptr<ucx::DeviceMemory> memory = make_device_memory();
  asks.memory = memory.get();
  std::byte *device = make(MemoryType::device, 100), *pinned = make(MemoryType::pinned, 100);
  settings.copies_until_loss = 0;
  ASSERT_TRUE(memory->copy({device, memory->kind_of(device)}, {pinned, memory->kind_of(pinned)}, 100, asks).ok());
  for (unsigned i = 0; i < 100'000 && asks.why == "it is under way"; ++i) memory->progress();
  EXPECT_THAT(asks.why, HasSubstr(" on GPU 0: "));
}

// Where the driver may not pin them the bytes go through pieces, as before.
TEST_P(CopiesTest, PagesThatArePinnedAreCopiedToInOnePiece) {
  constexpr std::uint64_t kBytes = 1 << 20;  // two pieces
  const std::unique_ptr<std::byte, decltype(&std::free)> pages(
      static_cast<std::byte*>(std::aligned_alloc(4096, kBytes)), std::free);
  std::byte* const device = make(MemoryType::device, kBytes, 1);
  const std::vector<std::byte> bytes = pattern(kBytes, 12);
  write(device, bytes);
  for (const bool may : {true, false}) {
    settings.pins = may ? 1 : 0;
    const std::int64_t pinned = settings.pinned;
    {
      const std::unique_ptr<ucx::DeviceMemory> memory = make_device_memory();
      const ucx::Place there{device, memory->kind_of(device)};
      std::memset(pages.get(), 0, kBytes);
      memory->pin({pages.get(), kBytes}, there);
      memory->pin({pages.get(), kBytes}, there);
      EXPECT_EQ(pinned - settings.pinned, may ? static_cast<std::int64_t>(kBytes) : 0);
      const std::int64_t copies = settings.copies;
      Told told;
      ASSERT_TRUE(memory->copy({pages.get(), ucx::MemoryKind::host}, there, kBytes, told).ok());
      for (unsigned i = 0; i < 100'000 && told.count == 0; ++i) memory->progress();
      EXPECT_EQ(told.outcome, ucx::Outcome::ok);
      EXPECT_EQ(std::memcmp(pages.get(), bytes.data(), kBytes), 0);
      EXPECT_EQ(settings.copies - copies, may ? 1 : 2);
    }
    EXPECT_EQ(settings.pinned, pinned) << "what was pinned is the process's again";
  }
}

// Memory that is no GPU's says nothing about whose driver is meant; it may do so later.
TEST_P(CopiesTest, PagesAreNotPinnedForMemoryThatWasFreed) {
  const std::unique_ptr<std::byte, decltype(&std::free)> pages(static_cast<std::byte*>(std::aligned_alloc(4096, 4096)),
                                                               std::free);
  const std::unique_ptr<ucx::DeviceMemory> memory = make_device_memory();
  std::byte* const device = make(MemoryType::device, 100);
  const ucx::Place there{device, memory->kind_of(device)};
  free(device);
  const std::int64_t pinned = settings.pinned;
  memory->pin({pages.get(), 4096}, there);
  EXPECT_EQ(settings.pinned, pinned);
  std::byte* const other = make(MemoryType::device, 100);
  memory->pin({pages.get(), 4096}, {other, memory->kind_of(other)});
  EXPECT_EQ(pinned - settings.pinned, 4096);
}

TEST_P(CopiesTest, TheEndWaitsForWhatIsUnderWayAndTellsNothing) {
  std::byte *device = make(MemoryType::device, 100), *pinned = make(MemoryType::pinned, 100);
  std::memset(pinned, 6, 100);
  Told told;
  {
    Copies copies(driver);
    ASSERT_TRUE(copies.begin({device, pinned, 100, 0, -1}, told).ok());
  }
  EXPECT_EQ(told.count, 0u);
  EXPECT_EQ(read(device, 100), std::vector<std::byte>(100, std::byte{6})) << "its memory may be freed from now on";
}

// ---- pinned pieces

TEST_P(CopiesTest, PinnedPiecesAreBoundedAndComeBack) {
  PinnedPool pool(driver, 0, 1000, 3);
  std::vector<ucx::Buffer> taken;
  for (unsigned i = 0; i < 3; ++i) {
    taken.push_back(std::move(*pool.take()));
    ASSERT_TRUE(taken.back());
    EXPECT_EQ(taken.back().size(), 1000u);
    EXPECT_EQ(driver.look(taken.back().data())->kind, MemoryType::pinned);
  }
  EXPECT_FALSE(*pool.take());
  const std::byte* given = taken[1].data();
  taken.erase(taken.begin() + 1);
  EXPECT_EQ(pool.in_use(), 2u);
  EXPECT_EQ(pool.take()->data(), given);
}

TEST_P(CopiesTest, WithoutPinnedMemoryThereIsASentence) {
  settings.pinned = 2500;
  PinnedPool pool(driver, 0, 1000, 8);
  ucx::Buffer one = std::move(*pool.take()), two = std::move(*pool.take());
  EXPECT_TRUE(one && two);
  Result<ucx::Buffer> three = pool.take();
  EXPECT_TRUE(three.ok() && !*three) << "less than wanted will do";
  settings.pinned = 0;
  PinnedPool none(driver, 0, 1000, 8);
  EXPECT_THAT(none.take().message(), HasSubstr("through pinned memory of the host here, and there is none: "));
}

// ---- memory of other processes

class ImportsTest : public CopiesTest {
 protected:
  Export exported(std::byte* memory) {
    const Memory known = *driver.look(memory);
    return {*driver.export_memory(known), boot_number(), this_process(), known.buffer, known.begin, known.size, 0};
  }
};

TEST_P(ImportsTest, WhatTravelsIsCheckedWhenItArrives) {
  const Export sent = exported(make(MemoryType::device, 100));
  std::vector<std::byte> packed = pack(sent);
  EXPECT_LE(packed.size(), 128u);
  const std::optional<Export> got = unpack(packed);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->handle, sent.handle);
  EXPECT_EQ(got->buffer, sent.buffer);
  EXPECT_TRUE(got->holds(sent.begin + 99, 1));
  EXPECT_FALSE(got->holds(sent.begin + 99, 2));
  for (std::size_t at = 0; at < packed.size(); ++at) {
    packed[at] ^= std::byte{1};
    EXPECT_FALSE(unpack(packed).has_value()) << at;
    packed[at] ^= std::byte{1};
  }
  packed.pop_back();
  EXPECT_FALSE(unpack(packed).has_value());
}

TEST_P(ImportsTest, OnesOwnMemoryIsWhereItIs) {
  Imports imports(driver);
  std::byte* memory = make(MemoryType::device, 100);
  EXPECT_EQ(*imports.acquire(0, exported(memory)), memory);
  imports.release(exported(memory));
  EXPECT_EQ(imports.mapped(), 0u);
}

TEST_P(ImportsTest, AMappingServesAgainAndCarriesBothWays) {
  std::byte* memory = make(MemoryType::device, 5000);
  write(memory, pattern(5000, 7));
  const Export sent = exported(memory);
  in_another_process([&]() -> std::string {
    if (sent.process == this_process()) return "it takes itself for its parent";
    Imports imports(driver);
    Result<std::byte*> first = imports.acquire(1, sent);
    Result<std::byte*> second = imports.acquire(0, sent);
    if (!first || !second) return first.message() + second.message();
    if (*first != *second || imports.maps() != 1) return "mapped twice";
    if (read(*first, 5000) != pattern(5000, 7)) return "other contents";
    write(*first + 1, pattern(100, 8));
    imports.release(sent);
    imports.release(sent);
    if (imports.mapped() != 1) return "not kept";
    if (!imports.acquire(1, sent) || imports.maps() != 1) return "not found again";
    imports.release(sent);
    return {};
  });
  EXPECT_EQ(read(memory + 1, 100), pattern(100, 8));
}

TEST_P(ImportsTest, MappingsAreBoundedAndThoseInUseStay) {
  std::vector<Export> all;
  for (unsigned i = 0; i < 10; ++i) all.push_back(exported(make(MemoryType::device, 4096)));
  in_another_process([&]() -> std::string {
    {
      Imports imports(driver, 3);
      if (!imports.acquire(0, all[0])) return "no mapping";
      for (unsigned i = 1; i < 10; ++i) {
        if (!imports.acquire(0, all[i])) return "no mapping of " + std::to_string(i);
        imports.release(all[i]);
      }
      if (imports.mapped() != 4) return std::to_string(imports.mapped()) + " mappings";
      if (!imports.acquire(0, all[0]) || !imports.acquire(0, all[9]) || imports.maps() != 10)
        return "the wrong ones went";
      imports.release(all[0]);
      imports.release(all[0]);
    }
    return settings.imports == 0 ? "" : "still open at the end";
  });
}

TEST_P(ImportsTest, AMappingOfWhatWasFreedGoesWhenItsPlaceIsTaken) {
  std::byte* memory = make(MemoryType::device, 5000);
  const Export old = exported(memory);
  int to_child[2], to_parent[2];
  ASSERT_EQ(::pipe(to_child) | ::pipe(to_parent), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Imports imports(driver);
    bool right = imports.acquire(0, old).ok();
    imports.release(old);
    char go = 0;
    Export fresh;
    right &= ::write(to_parent[1], &go, 1) == 1 && ::read(to_child[0], &fresh, sizeof(fresh)) == sizeof(fresh);
    Result<std::byte*> here = imports.acquire(0, fresh);
    right &= here.ok() && imports.mapped() == 1 && read(*here, 3000) == pattern(3000, 9);
    // What was freed and is not mapped any more is refused by the driver.
    right &= !imports.acquire(0, old).ok();
    ::_exit(right ? 0 : 1);
  }
  char go = 0;
  ASSERT_EQ(::read(to_parent[0], &go, 1), 1);
  free(memory);
  std::byte* again = make(MemoryType::device, 3000);
  ASSERT_EQ(again, memory);
  write(again, pattern(3000, 9));
  const Export fresh = exported(again);
  ASSERT_EQ(::write(to_child[1], &fresh, sizeof(fresh)), static_cast<ssize_t>(sizeof(fresh)));
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  for (int end : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) ::close(end);
}

// A peer that says it once more: with another handle, since drivers refuse to open one twice.
TEST_P(ImportsTest, AMappingInUseWhosePlaceIsTakenIsNotMappedOver) {
  std::vector<Export> all;
  for (unsigned i = 0; i < 3; ++i) all.push_back(exported(make(MemoryType::device, 4096)));
  Export taking = all[1], again = all[0];
  taking.begin = all[0].begin;
  again.handle = all[2].handle;
  in_another_process([&]() -> std::string {
    {
      Imports imports(driver);
      if (!imports.acquire(0, all[0]) || !imports.acquire(0, taking)) return "no mapping";
      if (imports.acquire(0, again).message() != "other memory has taken the place of that") return "mapped over";
      imports.release(again);
      if (imports.mapped() != 1) return "kept, though it is no longer in use";
      if (!imports.acquire(0, again)) return "no mapping when it is no longer in use";
    }
    return settings.imports == 0 ? "" : "still open at the end";
  });
}

TEST_P(ImportsTest, WhatCannotBeMappedIsASentence) {
  Export sent = exported(make(MemoryType::device, 100));
  in_another_process([&]() -> std::string {
    settings.ipc = 0;
    Imports imports(driver);
    const Result<std::byte*> denied = imports.acquire(0, sent);
    if (denied.ok() || denied.message().find("IpcOpenMemHandle on GPU 0: ") == std::string::npos)
      return denied.message();
    sent.boot ^= 1;
    return imports.acquire(0, sent).message() == "that GPU's memory is another host's" ? ""
                                                                                       : "another host's is mapped";
  });
}

INSTANTIATE_TEST_SUITE_P(Both, CopiesTest, ::testing::Values("cuda", "hip"),
                         [](const auto& info) { return std::string(info.param); });
INSTANTIATE_TEST_SUITE_P(Both, ImportsTest, ::testing::Values("cuda", "hip"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace periapt::gpu
