// The courier on fake GPUs: its kernel is the real one's source, run by threads of the host.
#include "machine/gpu/courier.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/gpu/gpu_fixture.h"

namespace periapt::gpu {
namespace {

using ::testing::HasSubstr;

class CourierTest : public GpuTest {
 protected:
  CourierTest() { settings.warps = 1; }
  /// Patient, unless `with` says otherwise: threads of this host may begin late.
  std::unique_ptr<Courier> make_courier(CourierSettings with = {}, int gpu = 0) {
    if (with.patience_ns == CourierSettings().patience_ns) with.patience_ns = 1'000'000'000'000;
    Result<std::unique_ptr<Courier>> made = Courier::make(driver, gpu, with);
    EXPECT_TRUE(made.ok()) << made.message();
    return std::move(*made);
  }
  static Courier::State wait(Courier& courier, std::uint64_t number) {
    Courier::State state = Courier::State::under_way;
    while (state == Courier::State::under_way) {
      state = courier.look(number);
      std::this_thread::yield();
    }
    return state;
  }
};

TEST_P(CourierTest, BytesArriveWhateverTheirNumberAndPlace) {
  for (const std::int64_t warps : {1, 4}) {
    settings.warps = warps;
    const std::unique_ptr<Courier> courier = make_courier({.carriers = 2});
    constexpr std::uint64_t kRoom = 9000;
    std::byte *from = make(MemoryType::device, kRoom), *to = make(MemoryType::device, kRoom);
    const std::vector<std::byte> bytes = pattern(kRoom, 3), before = pattern(kRoom, 4);
    write(from, bytes);
    for (const std::uint64_t size : {0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 100, 2048, 2049, 8191}) {
      for (const auto& [there, here] : {std::pair{0, 0}, {1, 1}, {8, 0}, {13, 5}, {4, 0}, {3, 0}, {0, 15}}) {
        SCOPED_TRACE(testing::Message() << size << " bytes from " << here << " to " << there << ", warps " << warps);
        write(to, before);
        const std::uint64_t number = courier->post(to + there, from + here, size);
        ASSERT_NE(number, 0u);
        ASSERT_EQ(wait(*courier, number), Courier::State::done);
        std::vector<std::byte> expected = before;
        std::copy_n(bytes.begin() + here, size, expected.begin() + there);
        ASSERT_EQ(read(to, kRoom), expected);
      }
    }
  }
}

TEST_P(CourierTest, AFewBytesStandInTheCommandAndInTheAnswer) {
  const std::unique_ptr<Courier> courier = make_courier();
  std::byte *from = make(MemoryType::device, 100), *to = make(MemoryType::device, 100);
  const std::vector<std::byte> bytes = pattern(100, 11), before = pattern(100, 12);
  write(from, bytes);
  // More than there are places: what an answer's place held before is no answer.
  for (unsigned round = 0; round < 3; ++round) {
    for (std::uint64_t size = 1; size <= Courier::kFew; ++size) {
      for (const std::uint64_t at : {0, 3, 8}) {
        SCOPED_TRACE(testing::Message() << size << " bytes at " << at);
        write(to, before);
        std::vector<std::byte> expected = before;
        std::copy_n(bytes.begin() + 1, size, expected.begin() + static_cast<std::ptrdiff_t>(at));
        std::vector<std::byte> lent(bytes.begin() + 1, bytes.begin() + 1 + static_cast<std::ptrdiff_t>(size));
        const std::uint64_t sent = courier->send(to + at, lent.data(), size, true);
        lent.assign(lent.size(), std::byte{0});
        ASSERT_EQ(wait(*courier, sent), Courier::State::done);
        ASSERT_EQ(read(to, 100), expected);

        std::vector<std::byte> told(size + 1, std::byte{1});
        ASSERT_EQ(wait(*courier, courier->tell(told.data(), from + at, size)), Courier::State::done);
        ASSERT_TRUE(std::equal(told.begin(), told.end() - 1, bytes.begin() + static_cast<std::ptrdiff_t>(at)));
        ASSERT_EQ(told.back(), std::byte{1}) << "what lies behind them";
      }
    }
  }
}

TEST_P(CourierTest, WhatWasToBeToldComesBackFromAKernelThatNeverBegins) {
  settings.kernels = 0;
  const std::unique_ptr<Courier> courier = make_courier({.patience_ns = 1000, .rest_ns = 0});
  std::byte* from = make(MemoryType::device, 64);
  std::byte told[8] = {};
  EXPECT_EQ(wait(*courier, courier->tell(told, from, 8)), Courier::State::given_back);
  EXPECT_EQ(told[0], std::byte{0});
  settings.kernels = 1;
  ASSERT_TRUE(driver.finish_all(0).ok());
}

TEST_P(CourierTest, ManyAreUnderWayAndThePlacesComeBack) {
  settings.warps = 3;
  const std::unique_ptr<Courier> courier = make_courier({.carriers = 3});
  std::byte *from = make(MemoryType::device, 4096), *to = make(MemoryType::device, 4096);
  write(from, pattern(4096, 5));
  std::vector<std::uint64_t> under_way;
  unsigned posted = 0, refused = 0, ended = 0;
  while (ended < 512) {
    for (std::uint64_t number = 1; posted < 512 && number != 0;) {
      number = courier->post(to + posted * 8, from + posted * 8, 8);
      if (number == 0) ++refused;
      if (number == 0) break;
      under_way.push_back(number);
      ++posted;
    }
    ASSERT_LE(under_way.size(), std::size_t{CourierBoard::kPlaces});
    for (std::size_t i = 0; i < under_way.size();) {
      const Courier::State state = courier->look(under_way[i]);
      ASSERT_NE(state, Courier::State::given_back);
      if (state == Courier::State::under_way) {
        ++i;
        continue;
      }
      under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(i));
      ++ended;
    }
    std::this_thread::yield();
  }
  EXPECT_EQ(read(to, 4096), pattern(4096, 5));
  EXPECT_GT(refused, 0u) << "there are " << CourierBoard::kPlaces << " places";
}

TEST_P(CourierTest, ThreadsShareIt) {
  settings.warps = 2;
  const std::unique_ptr<Courier> courier = make_courier();
  constexpr unsigned kThreads = 3, kEach = 200;
  std::byte *from = make(MemoryType::device, 4096), *to = make(MemoryType::device, 4096);
  write(from, pattern(4096, 6));
  std::atomic<unsigned> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (unsigned i = 0; i < kEach; ++i) {
        const std::uint64_t at = (thread * kEach + i) * 6;
        std::uint64_t number = 0;
        while ((number = courier->post(to + at, from + at, 6)) == 0) std::this_thread::yield();
        if (wait(*courier, number) != Courier::State::done) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  std::vector<std::byte> got = read(to, kThreads * kEach * 6), expected = pattern(4096, 6);
  expected.resize(got.size());
  EXPECT_EQ(got, expected);
}

TEST_P(CourierTest, ItEndsByItselfAndIsLaunchedAgain) {
  // At once, in the middle of a message's way too.
  const std::unique_ptr<Courier> courier = make_courier({.idle_ns = 0, .whole_ns = 0});
  std::byte *from = make(MemoryType::device, 64), *to = make(MemoryType::device, 64);
  write(from, pattern(64, 7));
  for (unsigned i = 0; i < 64; ++i) {
    const std::uint64_t number = courier->post(to + i, from + i, 1);
    ASSERT_EQ(wait(*courier, number), Courier::State::done);
  }
  EXPECT_EQ(read(to, 64), pattern(64, 7));
  EXPECT_GT(courier->launches(), 10u);
  ASSERT_TRUE(driver.finish_all(0).ok()) << "and what waits for the GPU comes back";
}

TEST_P(CourierTest, AKernelThatNeverBeginsIsCalledOff) {
  settings.kernels = 0;
  const std::unique_ptr<Courier> courier = make_courier({.patience_ns = 1000, .rest_ns = 0});
  std::byte *from = make(MemoryType::device, 64), *to = make(MemoryType::device, 64);
  const std::uint64_t one = courier->post(to, from, 64), two = courier->post(to, from, 8);
  EXPECT_EQ(wait(*courier, one), Courier::State::given_back);
  EXPECT_EQ(wait(*courier, two), Courier::State::given_back);
  EXPECT_EQ(courier->post(to, from, 8), 0u) << "its last kernel may still begin";
  EXPECT_EQ(courier->failure(), "");
  // It does, touches nothing of what was given back, and the next one serves again.
  write(from, pattern(64, 8));
  write(to, pattern(64, 9));
  settings.kernels = 1;
  ASSERT_TRUE(driver.finish_all(0).ok());
  EXPECT_EQ(read(to, 64), pattern(64, 9));
  const std::uint64_t three = courier->post(to + 1, from + 1, 1);
  ASSERT_NE(three, 0u);
  EXPECT_EQ(wait(*courier, three), Courier::State::done);
  std::vector<std::byte> expected = pattern(64, 9);
  expected[1] = pattern(64, 8)[1];
  EXPECT_EQ(read(to, 64), expected);
}

TEST_P(CourierTest, ARefusedLaunchGivesAllBackForGood) {
  settings.launches = 0;
  const std::unique_ptr<Courier> courier = make_courier();
  std::byte *from = make(MemoryType::device, 64), *to = make(MemoryType::device, 64);
  const std::uint64_t number = courier->post(to, from, 64);
  ASSERT_NE(number, 0u);
  EXPECT_EQ(wait(*courier, number), Courier::State::given_back);
  EXPECT_EQ(courier->post(to, from, 8), 0u);
  EXPECT_THAT(courier->failure(), HasSubstr("LaunchKernel on GPU 0: "));
}

TEST_P(CourierTest, WhatAKernelMayNotTouchCostsTheGpuAndIsGivenBack) {
  const std::unique_ptr<Courier> courier = make_courier({.idle_ns = 1'000'000'000'000, .doubt_ns = 1000});
  std::byte *here = make(MemoryType::device, 64), *closed = make(MemoryType::pool, 64, 1);
  ASSERT_EQ(wait(*courier, courier->post(here, here, 64)), Courier::State::done);
  // Its end is not told any more.
  const std::uint64_t number = courier->post(here, closed, 64);
  EXPECT_EQ(wait(*courier, number), Courier::State::given_back);
  EXPECT_EQ(courier->post(here, here, 8), 0u);
  EXPECT_NE(courier->failure(), "");
}

INSTANTIATE_TEST_SUITE_P(Both, CourierTest, ::testing::Values("cuda", "hip"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace periapt::gpu
