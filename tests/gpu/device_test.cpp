// The face of a vendor on the GPUs of this host: what its driver really answers. Skipped, with the reason, where there
// is none. Needs no compiler and no toolkit: the program alone can be taken to a machine with GPUs.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "machine/gpu/kind_cache.h"
#include "machine/gpu/vendors.h"

namespace periapt::gpu {
namespace {

class OnDevice : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override {
    const Result<Driver*>& found = vendors()[GetParam()].driver();
    if (!found) GTEST_SKIP() << vendors()[GetParam()].title << ": " << found.message();
    driver = found.value();
    stream = *driver->make_stream(0);
    event = *driver->make_event(0);
  }
  void TearDown() override {
    if (driver == nullptr) return;
    driver->destroy(event);
    driver->destroy(stream);
  }
  /// Copies, and asks until it is there.
  Status copied(void* to, const void* from, std::uint64_t bytes) {
    if (Status given = driver->copy(stream, to, from, bytes); !given) return given;
    if (Status given = driver->record(event, stream); !given) return given;
    Result<bool> reached = driver->reached(event);
    while (reached && !*reached) reached = driver->reached(event);
    return reached.status();
  }
  std::byte* make(MemoryType kind, std::uint64_t bytes, int gpu = 0) {
    Result<std::byte*> made = driver->allocate(gpu, kind, bytes);
    EXPECT_TRUE(made.ok()) << made.message();
    return made ? *made : nullptr;
  }
  void free(MemoryType kind, std::byte* memory) { EXPECT_TRUE(driver->free(0, kind, memory).ok()); }

  Driver* driver = nullptr;
  Stream stream;
  Event event;
};

void fill(std::byte* bytes, std::uint64_t size, unsigned seed) {
  std::uint64_t state = seed * 0x9E37'79B9u + 1;
  for (std::uint64_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
  }
}

TEST_P(OnDevice, GpusHaveNamesPlacesAndNumbersOfTheirOwn) {
  for (const Gpu& gpu : driver->gpus()) {
    std::printf("%s %s: %s, %s, %.1f GiB\n", driver->vendor(), driver->version().c_str(), gpu.name.c_str(),
                gpu.pci.c_str(), static_cast<double>(gpu.bytes) / (1 << 30));
    EXPECT_FALSE(gpu.name.empty());
    EXPECT_GT(gpu.bytes, 1u << 20);
    EXPECT_EQ(std::count_if(driver->gpus().begin(), driver->gpus().end(),
                            [&](const Gpu& other) { return other.uuid == gpu.uuid; }),
              1);
  }
}

TEST_P(OnDevice, TheDriverSaysWhatMemoryIs) {
  std::vector<std::byte> plain(100);
  EXPECT_EQ(driver->look(plain.data())->kind, MemoryType::host);
  for (MemoryType kind : {MemoryType::pinned, MemoryType::device, MemoryType::managed, MemoryType::pool}) {
    SCOPED_TRACE(name_of(kind));
    std::byte* memory = make(kind, 100'000);
    // A thread that has never had anything to do with a GPU asks too.
    std::thread([&] {
      const Result<Memory> found = driver->look(memory + 50'000);
      ASSERT_TRUE(found.ok()) << found.message();
      EXPECT_EQ(found->kind, kind);
      EXPECT_TRUE(found->holds(reinterpret_cast<std::uintptr_t>(memory), 100'000));
      EXPECT_EQ(found->exportable, kind == MemoryType::device);
    }).join();
    free(kind, memory);
    EXPECT_EQ(driver->look(memory + 50'000)->kind == kind && kind == MemoryType::device, false) << "freed";
  }
}

TEST_P(OnDevice, ContentsSurviveEveryWay) {
  constexpr std::uint64_t kRoom = (std::uint64_t{64} << 20) + 4096;
  std::byte *from = make(MemoryType::pinned, kRoom), *back = make(MemoryType::pinned, kRoom);
  fill(from, kRoom, 3);
  for (MemoryType kind : {MemoryType::device, MemoryType::managed, MemoryType::pool}) {
    SCOPED_TRACE(name_of(kind));
    std::byte *a = make(kind, kRoom), *b = make(kind, kRoom);
    for (std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{4096},
                               std::uint64_t{65'537}, std::uint64_t{64} << 20}) {
      for (std::uint64_t offset : {0, 1, 13}) {
        SCOPED_TRACE(testing::Message() << size << " bytes at " << offset);
        std::memset(back, 0, size);
        ASSERT_TRUE(copied(a + offset, from + offset, size).ok());
        ASSERT_TRUE(copied(b + offset, a + offset, size).ok());
        ASSERT_TRUE(copied(back, b + offset, size).ok());
        ASSERT_EQ(std::memcmp(back, from + offset, size), 0);
      }
    }
    free(kind, a);
    free(kind, b);
  }
  free(MemoryType::pinned, from);
  free(MemoryType::pinned, back);
}

TEST_P(OnDevice, TimedEventsTellWhatACopyTakes) {
  constexpr std::uint64_t kBytes = std::uint64_t{256} << 20;
  std::byte *from = make(MemoryType::device, kBytes), *to = make(MemoryType::device, kBytes);
  const Event begin = *driver->make_timed_event(0), end = *driver->make_timed_event(0);
  ASSERT_TRUE(driver->copy(stream, to, from, kBytes).ok());  // the first one pays for what is made then
  ASSERT_TRUE(driver->record(begin, stream).ok());
  ASSERT_TRUE(driver->copy(stream, to, from, kBytes).ok());
  ASSERT_TRUE(driver->record(end, stream).ok());
  EXPECT_FALSE(*driver->is_captured(stream));
  ASSERT_TRUE(driver->finish(stream).ok());
  const Result<double> seconds = driver->seconds_between(begin, end);
  ASSERT_TRUE(seconds.ok()) << seconds.message();
  std::printf("a copy of %llu bytes within the GPU: %.0f us, %.0f GB/s\n", static_cast<unsigned long long>(kBytes),
              1e6 * *seconds, 1e-9 * static_cast<double>(kBytes) / *seconds);
  EXPECT_GT(*seconds, 1e-6);
  EXPECT_LT(*seconds, 1.0);
  driver->destroy(begin);
  driver->destroy(end);
  free(MemoryType::device, from);
  free(MemoryType::device, to);
}

TEST_P(OnDevice, WhatIsFreedAndMadeAnewIsKnownByItsNumber) {
  KindCache cache(*driver);
  for (unsigned round = 0; round < 20; ++round) {
    std::byte* memory = make(MemoryType::device, (round + 1) << 20);
    const Result<Memory> found = cache.look(memory);
    ASSERT_TRUE(found.ok()) << found.message();
    EXPECT_EQ(found->size, (round + 1) << 20) << "of an allocation that was there before";
    EXPECT_EQ(cache.look(memory + 1000)->buffer, found->buffer);
    free(MemoryType::device, memory);
  }
}

TEST_P(OnDevice, MoreMemoryThanThereIsIsRefusedWithASentence) {
  const Result<std::byte*> made = driver->allocate(0, MemoryType::device, driver->gpus()[0].bytes * 2);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.message(), ::testing::HasSubstr("on GPU 0: "));
  std::printf("%s\n", made.message().c_str());
}

TEST_P(OnDevice, GpusReachEachOtherOrSayWhyNot) {
  if (driver->gpus().size() < 2) GTEST_SKIP() << "one GPU";
  std::byte *here = make(MemoryType::device, 1 << 20), *there = make(MemoryType::device, 1 << 20, 1);
  std::byte *from = make(MemoryType::pinned, 1 << 20), *back = make(MemoryType::pinned, 1 << 20);
  fill(from, 1 << 20, 5);
  const Status reached = driver->reach(0, 1);
  std::printf("GPU 0 to GPU 1: %s\n", reached ? "directly" : reached.message().c_str());
  ASSERT_TRUE(copied(here, from, 1 << 20).ok());
  ASSERT_TRUE(copied(there, here, 1 << 20).ok());
  ASSERT_TRUE(copied(back, there, 1 << 20).ok());
  EXPECT_EQ(std::memcmp(back, from, 1 << 20), 0);
  for (std::byte* one : {from, back}) free(MemoryType::pinned, one);
  free(MemoryType::device, here);
  EXPECT_TRUE(driver->free(1, MemoryType::device, there).ok());
}

// Drivers do not outlive a fork, so the other process is this program anew: with the handle and the contents' seed in
// its environment.
TEST_P(OnDevice, MemoryIsGivenToOtherDevicesOrTheReasonIsTold) {
  for (const std::uint64_t size : {std::uint64_t{1000}, std::uint64_t{100'000}, std::uint64_t{5} << 20}) {
    std::byte *first = make(MemoryType::device, size), *memory = make(MemoryType::device, size);
    const Memory found = *driver->look(memory);
    const Result<ucx::DmaBuf> shared = driver->share(found);
    std::printf("%llu bytes at %p: %s\n", static_cast<unsigned long long>(size), static_cast<void*>(memory),
                shared ? "a dma-buf" : shared.message().c_str());
    if (shared) {
      EXPECT_EQ(shared->offset(), found.begin % static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
    }
    EXPECT_TRUE(shared.ok() || !driver->may_share(0).ok()) << "it says that it can, and does not";
    driver->written_by_devices(found);
    EXPECT_TRUE(driver->may_be_written(found.buffer));
    free(MemoryType::device, first);
    free(MemoryType::device, memory);
  }
}

TEST_P(OnDevice, AnotherProcessReadsAndWritesByAHandle) {
  constexpr std::uint64_t kSize = 5 << 20;
  std::byte *memory = make(MemoryType::device, kSize), *host = make(MemoryType::pinned, kSize);
  fill(host, kSize, 7);
  ASSERT_TRUE(copied(memory, host, kSize).ok());
  const Result<IpcHandle> handle = driver->export_memory(*driver->look(memory + 10));
  if (!handle) GTEST_SKIP() << handle.message();
  std::string text;
  for (std::byte byte : *handle) {
    char two[3];
    std::snprintf(two, sizeof(two), "%02x", static_cast<unsigned>(byte));
    text += two;
  }
  const std::string which = std::to_string(GetParam());
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("PERIAPT_TEST_HANDLE", text.c_str(), 1);
    ::setenv("PERIAPT_TEST_VENDOR", which.c_str(), 1);
    ::execl("/proc/self/exe", "device_test", nullptr);
    ::_exit(9);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "what it found wrong stands above";
  std::vector<std::byte> expected(kSize);
  fill(expected.data(), kSize, 8);
  ASSERT_TRUE(copied(host, memory, kSize).ok());
  EXPECT_EQ(std::memcmp(host, expected.data(), kSize), 0);
  free(MemoryType::device, memory);
  free(MemoryType::pinned, host);
}

int other_process(const std::string& text, const Vendor& vendor) {
  constexpr std::uint64_t kSize = 5 << 20;
  const auto failed = [](const std::string& what) {
    std::fprintf(stderr, "the other process: %s\n", what.c_str());
    return 1;
  };
  IpcHandle handle;
  for (std::size_t i = 0; i < handle.size(); ++i) {
    handle[i] = static_cast<std::byte>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
  }
  if (!vendor.driver()) return failed(vendor.driver().message());
  Driver& driver = **vendor.driver();
  const int gpu = static_cast<int>(driver.gpus().size()) - 1;
  Result<std::byte*> there = driver.import_memory(gpu, handle);
  if (!there) return failed(there.message());
  Result<std::byte*> host = driver.allocate(gpu, MemoryType::pinned, kSize);
  Result<Stream> stream = driver.make_stream(gpu);
  if (!host || !stream) return failed(host.message() + stream.message());
  Status copied = driver.copy(*stream, *host, *there, kSize);
  if (copied) copied = driver.finish(*stream);
  std::vector<std::byte> expected(kSize);
  fill(expected.data(), kSize, 7);
  if (!copied || std::memcmp(*host, expected.data(), kSize) != 0) return failed("other contents; " + copied.message());
  fill(*host, kSize, 8);
  copied = driver.copy(*stream, *there, *host, kSize);
  if (copied) copied = driver.finish(*stream);
  if (copied) copied = driver.forget(gpu, *there);
  return copied ? 0 : failed(copied.message());
}

INSTANTIATE_TEST_SUITE_P(All, OnDevice, ::testing::Values(0u, 1u),
                         [](const auto& info) { return std::string(vendors()[info.param].name); });

}  // namespace
}  // namespace periapt::gpu

int main(int argc, char** argv) {
  if (const char* handle = std::getenv("PERIAPT_TEST_HANDLE")) {
    const unsigned vendor = static_cast<unsigned>(std::atoi(std::getenv("PERIAPT_TEST_VENDOR")));
    return periapt::gpu::other_process(handle, periapt::gpu::vendors()[vendor]);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
