// Copies that couriers take, and those that they do not: on fake GPUs, whose kernels are run by threads of the host.
#include <algorithm>
#include <string>

#include "machine/gpu/copies.h"
#include "tests/gpu/gpu_fixture.h"

namespace periapt::gpu {
namespace {

using ::testing::HasSubstr;

class CarriedTest : public GpuTest {
 protected:
  CarriedTest() {
    settings.warps = 2;
    settings.clock = 1;  // kernels stay, unless this host is very busy
  }
  static CourierSettings patient() { return {.patience_ns = 1'000'000'000'000, .doubt_ns = 1000}; }

  Told move(Copies& copies, const Copy& copy) {
    Told told;
    const Status begun = copies.begin(copy, told);
    EXPECT_TRUE(begun.ok()) << begun.message();
    while (begun && told.count == 0) copies.progress();
    EXPECT_EQ(told.count, 1u);
    return told;
  }
  /// The first message launches it.
  void wake(Copies& copies, int gpu) {
    std::byte* memory = make(MemoryType::device, 16, gpu);
    move(copies, {memory + 8, memory, 8, gpu, gpu, nullptr, Touch::peers, Touch::peers});
  }
  /// Whether a courier has taken it. What it is, is copied right either way.
  bool is_carried(Copies& copies, const Copy& copy) {
    const std::vector<std::byte> bytes = pattern(copy.bytes, ++seed_);
    write(static_cast<std::byte*>(const_cast<void*>(copy.from)), bytes);
    const std::uint64_t carried = copies.carried();
    const std::int64_t engines = settings.copies;
    EXPECT_EQ(move(copies, copy).outcome, ucx::Outcome::ok) << copies.failure();
    EXPECT_EQ(settings.copies - engines, copies.carried() == carried ? 1 : 0) << "one of both, once";
    EXPECT_EQ(read(static_cast<std::byte*>(copy.to), copy.bytes), bytes);
    return copies.carried() != carried;
  }

 private:
  unsigned seed_ = 0;
};

TEST_P(CarriedTest, SmallOnesAreTakenWhereItIsFasterAndMayTouchBothSides) {
  Couriers couriers(driver, patient());
  Copies copies(driver, couriers, CourierUse::on);
  constexpr std::uint64_t kMost = Courier::kMost, kRoom = kMost + 1000;
  std::byte *here = make(MemoryType::device, kRoom, 0), *near = make(MemoryType::device, kRoom, 0);
  std::byte *there = make(MemoryType::device, kRoom, 1), *pinned = make(MemoryType::pinned, kRoom);
  std::byte *pool = make(MemoryType::pool, kRoom, 1), *other = make(MemoryType::pool, kRoom, 0);
  EXPECT_FALSE(is_carried(copies, {near, here, 8, 0, 0, nullptr, Touch::peers, Touch::peers})) << "it sleeps";
  wake(copies, 0);
  wake(copies, 1);
  const struct {
    const char* name;
    Copy copy;
    bool carried;
  } ways[] = {
      {"within a GPU", {near, here, kMost, 0, 0, nullptr, Touch::peers, Touch::peers, true}, true},
      {"more", {near, here, kMost + 1, 0, 0, nullptr, Touch::peers, Touch::peers, true}, false},
      {"as much elsewhere", {there, here, kMost, 1, 0, nullptr, Touch::peers, Touch::peers}, false},
      {"askew", {near + 1, here, 5000, 0, 0, nullptr, Touch::peers, Touch::peers}, false},
      {"to another GPU", {there, here, 2048, 1, 0, nullptr, Touch::peers, Touch::peers}, true},
      {"and back", {here, there, 13, 0, 1, nullptr, Touch::peers, Touch::peers}, true},
      {"to the host", {pinned, here, kMost / 2, -1, 0, nullptr, Touch::any, Touch::peers}, true},
      {"from the host", {here, pinned, 8192, 0, -1, nullptr, Touch::peers, Touch::any}, true},
      {"more from there", {here, pinned, 8193, 0, -1, nullptr, Touch::peers, Touch::any}, false},
      {"from the host, not open", {here, pinned, 8, 0, -1, nullptr, Touch::peers, Touch::none}, false},
      {"into a pool of the other's", {pool, here, 8, 1, 0, nullptr, Touch::own, Touch::peers}, true},
      {"out of one", {here, pool, 8, 0, 1, nullptr, Touch::peers, Touch::own}, true},
  };
  for (const auto& way : ways) {
    SCOPED_TRACE(way.name);
    bool carried = is_carried(copies, way.copy);
    // One of them may have fallen asleep meanwhile.
    for (int again = 0; way.carried && !carried && again < 20; ++again) {
      wake(copies, 0);
      wake(copies, 1);
      carried = is_carried(copies, way.copy);
    }
    EXPECT_EQ(carried, way.carried);
  }
  Told told;
  EXPECT_FALSE(copies.begin({pool, other, 8, 1, 0, nullptr, Touch::own, Touch::own}, told).ok())
      << "neither GPU may touch both: the driver was asked";
  Stream program = *driver.make_stream(0);
  EXPECT_FALSE(is_carried(copies, {near, here, 8, 0, 0, program.native, Touch::peers, Touch::peers}))
      << "behind a stream";
  driver.destroy(program);
}

// Through one block they would come one after the other, where engines take some at the same time.
TEST_P(CarriedTest, OfLargeOnesOneAtATimeIsTaken) {
  Couriers couriers(driver, patient());
  Copies copies(driver, couriers, CourierUse::on);
  constexpr std::uint64_t kLarge = (64 << 10) + 4;
  constexpr unsigned kMany = 4;
  std::byte *here = make(MemoryType::device, kMany * kLarge), *there = make(MemoryType::device, kMany * kLarge);
  const std::vector<std::byte> bytes = pattern(kMany * kLarge, 17);
  // How many of these couriers take.
  const auto carried = [&](std::uint64_t size) {
    write(here, bytes);
    const std::uint64_t before = copies.carried();
    std::vector<Told> told(kMany);
    for (unsigned i = 0; i < kMany; ++i) {
      const std::uint64_t at = i * kLarge;
      EXPECT_TRUE(
          copies.begin({there + at, here + at, size, 0, 0, nullptr, Touch::peers, Touch::peers, true}, told[i]).ok());
    }
    while (copies.under_way() != 0) copies.progress();
    for (unsigned i = 0; i < kMany; ++i) {
      const std::vector<std::byte> got = read(there + i * kLarge, size);
      EXPECT_TRUE(std::equal(got.begin(), got.end(), bytes.begin() + static_cast<std::ptrdiff_t>(i * kLarge)));
    }
    return copies.carried() - before;
  };
  for (const auto& [size, expected] : {std::pair(kLarge, 1U), {kLarge - 4, kMany}, {kLarge, 1U}}) {
    std::uint64_t taken = 0;
    for (int again = 0; taken < expected && again < 20; ++again) {  // it may have fallen asleep
      wake(copies, 0);
      taken = carried(size);
      ASSERT_LE(taken, expected);
    }
    EXPECT_EQ(taken, expected) << size;
  }
}

TEST_P(CarriedTest, AFewBytesGoFromAndToPageableMemory) {
  Couriers couriers(driver, patient());
  Copies copies(driver, couriers, CourierUse::on);
  std::byte* here = make(MemoryType::device, 100, 0);
  std::vector<std::byte> host = pattern(Courier::kFew + 1, 13);
  const auto carry = [&](const Copy& copy) {
    Told told;
    for (int again = 0; again < 20; ++again) {
      if (!copies.carry(copy, told)) {  // it sleeps
        wake(copies, 0);
        continue;
      }
      while (told.count == 0) copies.progress();
      return told.outcome == ucx::Outcome::ok;
    }
    return false;
  };
  const std::uint64_t few = Courier::kFew;
  ASSERT_TRUE(carry({here, host.data(), few, 0, -1, nullptr, Touch::peers, Touch::any}));
  std::vector<std::byte> got = read(here, few);
  EXPECT_TRUE(std::equal(got.begin(), got.end(), host.begin()));
  std::vector<std::byte> back(few);
  ASSERT_TRUE(carry({back.data(), here, few, -1, 0, nullptr, Touch::any, Touch::peers}));
  EXPECT_EQ(back, got);
  Told told;
  EXPECT_FALSE(copies.carry({here, host.data(), few, 0, -1, nullptr, Touch::none, Touch::any}, told))
      << "which the courier may not touch";
  EXPECT_EQ(copies.under_way(), 0u);
}

TEST_P(CarriedTest, GpusThatDoNotReachEachOtherCopyThroughTheHost) {
  settings.peers = 0;
  Couriers couriers(driver, patient());
  Copies copies(driver, couriers, CourierUse::on);
  std::byte *here = make(MemoryType::device, 100, 0), *there = make(MemoryType::device, 100, 1);
  wake(copies, 0);
  wake(copies, 1);
  // HIP's answer comes from the call that enables it.
  if (std::string(GetParam()) == "cuda") {
    EXPECT_FALSE(is_carried(copies, {there, here, 8, 1, 0, nullptr, Touch::peers, Touch::peers}));
  }
}

TEST_P(CarriedTest, ManyAreUnderWayAndNoneIsLost) {
  Couriers couriers(driver, patient());
  Copies copies(driver, couriers, CourierUse::on);
  constexpr unsigned kMany = 300;  // more than a courier has places for
  std::byte *from = make(MemoryType::device, kMany), *to = make(MemoryType::device, kMany, 1);
  const std::vector<std::byte> bytes = pattern(kMany, 4);
  write(from, bytes);
  wake(copies, 0);
  std::vector<Told> told(kMany);
  for (unsigned i = 0; i < kMany; ++i)
    ASSERT_TRUE(copies.begin({to + i, from + i, 1, 1, 0, nullptr, Touch::peers, Touch::peers}, told[i]).ok());
  EXPECT_EQ(copies.under_way(), kMany);
  while (copies.under_way() != 0) copies.progress();
  for (const Told& one : told) {
    EXPECT_EQ(one.count, 1u);
    EXPECT_EQ(one.outcome, ucx::Outcome::ok);
  }
  EXPECT_EQ(read(to, kMany), bytes);
}

// ---- what can go wrong

TEST_P(CarriedTest, AKernelThatFindsNoRoomGivesItsMessagesBack) {
  settings.kernels = 0;
  Couriers couriers(driver, {.patience_ns = 1000});
  Copies copies(driver, couriers, CourierUse::on);
  std::byte *here = make(MemoryType::device, 100), *there = make(MemoryType::device, 100);
  for (unsigned i = 0; i < 20; ++i)
    EXPECT_FALSE(is_carried(copies, {there, here, 8, 0, 0, nullptr, Touch::peers, Touch::peers}));
  settings.kernels = 1;
  ASSERT_TRUE(driver.finish_all(0).ok());
}

TEST_P(CarriedTest, AKernelThatEndsInTheMiddleLosesNone) {
  settings.clock = 1'000'000;  // at once
  Couriers couriers(driver, patient());
  Copies copies(driver, couriers, CourierUse::on);
  constexpr unsigned kMany = 200;
  std::byte *from = make(MemoryType::device, kMany), *to = make(MemoryType::device, kMany);
  const std::vector<std::byte> bytes = pattern(kMany, 5);
  write(from, bytes);
  for (unsigned i = 0; i < kMany; ++i) move(copies, {to + i, from + i, 1, 0, 0, nullptr, Touch::peers, Touch::peers});
  EXPECT_EQ(read(to, kMany), bytes);
}

TEST_P(CarriedTest, ARefusedLaunchLeavesAllToTheEngines) {
  settings.launches = 0;
  Couriers couriers(driver, patient());
  Copies copies(driver, couriers, CourierUse::on);
  std::byte *here = make(MemoryType::device, 100), *there = make(MemoryType::device, 100);
  for (unsigned i = 0; i < 5; ++i)
    EXPECT_FALSE(is_carried(copies, {there, here, 8, 0, 0, nullptr, Touch::peers, Touch::peers}));
  EXPECT_EQ(copies.failure(), "");
}

TEST_P(CarriedTest, ALostGpuIsToldToEveryCopy) {
  Couriers couriers(driver, patient());
  Copies copies(driver, couriers, CourierUse::on);
  std::byte *here = make(MemoryType::device, 100), *there = make(MemoryType::device, 100);
  wake(copies, 0);
  settings.touches = 3;
  std::vector<Told> told(5);
  for (Told& one : told) {
    const Status begun = copies.begin({there, here, 16, 0, 0, nullptr, Touch::peers, Touch::peers}, one);
    if (!begun) ++one.count;  // it is known already
  }
  while (copies.under_way() != 0) copies.progress();
  for (const Told& one : told) EXPECT_EQ(one.count, 1u);
  EXPECT_NE(told.back().outcome, ucx::Outcome::ok);
}

TEST_P(CarriedTest, TheEndWaitsForWhatIsUnderWay) {
  Couriers couriers(driver, patient());
  std::byte *here = make(MemoryType::device, 100), *there = make(MemoryType::device, 100);
  write(here, pattern(100, 6));
  Told told;
  {
    Copies copies(driver, couriers, CourierUse::on);
    wake(copies, 0);
    ASSERT_TRUE(copies.begin({there, here, 100, 0, 0, nullptr, Touch::peers, Touch::peers}, told).ok());
  }
  EXPECT_EQ(told.count, 0u);
  EXPECT_EQ(read(there, 100), pattern(100, 6)) << "its memory may be freed from now on";
}

TEST_P(CarriedTest, TheEndWritesNothingToMemoryOfTheHost) {
  Couriers couriers(driver, patient());
  std::byte* here = make(MemoryType::device, 8);
  write(here, pattern(8, 6));
  std::vector<std::byte> host(8);
  Told told;
  for (int again = 0;; ++again) {
    ASSERT_LT(again, 20);
    Copies copies(driver, couriers, CourierUse::on);
    wake(copies, 0);
    if (copies.carry({host.data(), here, 8, -1, 0, nullptr, Touch::any, Touch::peers}, told)) break;
  }
  EXPECT_EQ(told.count, 0u);
  EXPECT_EQ(host, std::vector<std::byte>(8)) << "it may have been freed";
}

// ---- whether there is one

TEST_P(CarriedTest, WithoutACompilerThereIsASentence) {
  settings.compile_error = 6;
  settings.image_error = 209;
  Couriers couriers(driver, patient());
  const Couriers::Verdict verdict = couriers.judge(0);
  EXPECT_FALSE(verdict.is_used);
  EXPECT_THAT(verdict.why, HasSubstr("does not compile courier."));
}

TEST_P(CarriedTest, OneIsMadeWhenMessagesAreManyAndAComparisonSaysSo) {
  settings.delay = 1'000;  // a copy engine's answer takes long here
  Couriers couriers(driver, patient());
  unsigned asked = 0;
  while (couriers.at(0, CourierUse::automatic) == nullptr && asked < 200) ++asked;
  EXPECT_GE(asked, 15u);
  // What it comes to is a busy host's to say; that it is said is not.
  EXPECT_THAT(couriers.judge(0).why, ::testing::AnyOf(HasSubstr("8 bytes take it "), HasSubstr("is too busy")));
  EXPECT_EQ(couriers.at(0, CourierUse::off), nullptr);
}

TEST_P(CarriedTest, ProcessesThatShareAGpuHaveNoneUnlessTheirKernelsRunTogether) {
  Couriers first(driver, patient()), second(driver, patient());  // as if in another process
  static_cast<void>(first.judge(0));
  const Couriers::Verdict verdict = second.judge(0), again = first.judge(0);
  const bool takes_turns = std::string(GetParam()) == "cuda";
  EXPECT_EQ(verdict.why.find("other processes use this GPU too") != std::string::npos, takes_turns) << verdict.why;
  EXPECT_EQ(again.why.find("other processes use this GPU too") != std::string::npos, takes_turns) << again.why;
  settings.mps = 1;
  EXPECT_EQ(second.judge(0).why.find("other processes"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Both, CarriedTest, ::testing::Values("cuda", "hip"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace periapt::gpu
