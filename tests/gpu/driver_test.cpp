// The face of both vendors, on fake drivers: kinds of memory, copies that end later, other GPUs, and what is said when
// something cannot be done.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/this_host.h"
#include "machine/gpu/files.h"
#include "machine/gpu/imports.h"
#include "machine/gpu/kind_cache.h"
#include "tests/gpu/by_hand.h"
#include "tests/gpu/gpu_fixture.h"

namespace periapt::gpu {
namespace {

using ::testing::HasSubstr;

class DriverTest : public GpuTest {
 protected:
  Memory look(const void* address) {
    Result<Memory> found = driver.look(address);
    EXPECT_TRUE(found.ok()) << found.message();
    return found ? *found : Memory{};
  }
};

TEST_P(DriverTest, GpusAreNamedWithWhatTellsThemApart) {
  ASSERT_EQ(driver.gpus().size(), 2u);
  EXPECT_EQ(driver.gpus()[1].name, "Fake GPU 1");
  EXPECT_EQ(driver.gpus()[1].pci, "0000:11:00.0");
  EXPECT_NE(driver.gpus()[0].uuid, driver.gpus()[1].uuid);
  EXPECT_STREQ(driver.vendor(), GetParam());
}

TEST_P(DriverTest, TheDriverSaysWhatMemoryIs) {
  std::vector<std::byte> plain(100);
  EXPECT_EQ(look(plain.data()).kind, MemoryType::host);
  EXPECT_EQ(look(plain.data()).buffer, 0u);
  for (MemoryType kind : {MemoryType::pinned, MemoryType::device, MemoryType::managed, MemoryType::pool}) {
    SCOPED_TRACE(name_of(kind));
    std::byte* memory = make(kind, 10'000, 1);
    const Memory found = look(memory + 5000);
    EXPECT_EQ(found.kind, kind);
    EXPECT_EQ(found.gpu, kind == MemoryType::pinned ? -1 : 1);
    EXPECT_EQ(found.begin, reinterpret_cast<std::uintptr_t>(memory));
    EXPECT_EQ(found.size, 10'000u);
    EXPECT_EQ(found.exportable, kind == MemoryType::device);
    EXPECT_TRUE(found.holds(found.begin + 9999, 1));
    EXPECT_FALSE(found.holds(found.begin + 9999, 2));
    EXPECT_FALSE(found.holds(found.begin - 1, 1));
  }
  void* mapped = nullptr;
  ASSERT_EQ(fake_gpu::function<int(void**, std::size_t)>(GetParam(), "periapt_fake_gpu_map")(&mapped, 4096), 0);
  EXPECT_EQ(look(mapped).kind, MemoryType::vmm);
  EXPECT_TRUE(driver.free(0, MemoryType::device, static_cast<std::byte*>(mapped)).ok());
}

TEST_P(DriverTest, MemoryThatIsThereIsPinnedUntilItIsToldOtherwise) {
  constexpr std::uint64_t kBytes = 3 * 4096;
  const std::unique_ptr<std::byte, decltype(&std::free)> pages(
      static_cast<std::byte*>(std::aligned_alloc(4096, kBytes)), std::free);
  const std::int64_t before = settings.pinned;
  ASSERT_TRUE(driver.pin(1, pages.get(), kBytes).ok());
  const Memory found = look(pages.get() + 5000);
  EXPECT_EQ(found.kind, MemoryType::pinned);
  EXPECT_EQ(found.begin, reinterpret_cast<std::uintptr_t>(pages.get()));
  EXPECT_EQ(found.size, kBytes);
  EXPECT_TRUE(found.open);
  EXPECT_EQ(before - settings.pinned, static_cast<std::int64_t>(kBytes));
  EXPECT_THAT(driver.pin(0, pages.get(), kBytes).message(), HasSubstr("HostRegister (of 12288 bytes) on GPU 0"));
  EXPECT_TRUE(driver.unpin(1, pages.get()).ok());
  EXPECT_EQ(look(pages.get()).kind, MemoryType::host);
  EXPECT_FALSE(driver.unpin(1, pages.get()).ok());
  EXPECT_EQ(settings.pinned, before);
}

TEST_P(DriverTest, ACopyEndsLaterAndNothingWaitsForIt) {
  settings.delay = 5;
  std::byte *pinned = make(MemoryType::pinned, 1000), *device = make(MemoryType::device, 1000),
            *back = make(MemoryType::pinned, 1000);
  std::memset(pinned, 7, 1000);
  std::memset(back, 0, 1000);
  Stream stream = *driver.make_stream(0);
  Event there = *driver.make_event(0), done = *driver.make_event(0);
  EXPECT_TRUE(driver.copy(stream, device, pinned, 1000).ok());
  EXPECT_TRUE(driver.record(there, stream).ok());
  // Another stream goes on when the first one is so far.
  Stream other = *driver.make_stream(0);
  EXPECT_TRUE(driver.wait_for(other, there).ok());
  EXPECT_TRUE(driver.copy(other, back, device, 1000).ok());
  EXPECT_TRUE(driver.record(done, other).ok());
  EXPECT_EQ(back[999], std::byte{0});
  EXPECT_FALSE(*driver.reached(done));
  unsigned asked = 0;
  while (!*driver.reached(done)) ++asked;
  EXPECT_GE(asked, 5u);
  EXPECT_EQ(back[999], std::byte{7});
  EXPECT_TRUE(*driver.reached(there));
  EXPECT_EQ(settings.waits, 0);
  EXPECT_EQ(settings.pageable, 0);
  EXPECT_TRUE(driver.finish(other).ok());
  for (Event event : {there, done}) driver.destroy(event);
  for (Stream one : {stream, other}) driver.destroy(one);
}

TEST_P(DriverTest, WhatCannotBeDoneIsASentence) {
  settings.memory = 5000;
  const Result<std::byte*> large = driver.allocate(1, MemoryType::device, 6000);
  EXPECT_THAT(large.message(), HasSubstr("(of 6000 bytes, device) on GPU 1: out of memory"));
  EXPECT_THAT(driver.allocate(7, MemoryType::device, 10).message(), HasSubstr("on GPU 7: "));
  std::byte* device = make(MemoryType::device, 100);
  Stream stream = *driver.make_stream(0);
  std::byte* pinned = make(MemoryType::pinned, 200);
  EXPECT_THAT(driver.copy(stream, device, pinned, 200).message(), HasSubstr("MemcpyAsync on GPU 0: "));
  free(device);
  EXPECT_FALSE(driver.copy(stream, device, pinned, 10).ok()) << "it was freed";
  EXPECT_EQ(look(device).kind, MemoryType::host);
  driver.destroy(stream);
}

TEST_P(DriverTest, AGpuThatIsLostIsToldByTheEvent) {
  std::byte *device = make(MemoryType::device, 100), *pinned = make(MemoryType::pinned, 100);
  Stream stream = *driver.make_stream(0);
  Event event = *driver.make_event(0);
  settings.copies_until_loss = 0;
  EXPECT_TRUE(driver.copy(stream, device, pinned, 100).ok());
  EXPECT_TRUE(driver.record(event, stream).ok());
  Result<bool> reached = false;
  while (reached.ok() && !*reached) reached = driver.reached(event);
  EXPECT_THAT(reached.message(), HasSubstr("EventQuery on GPU 0: "));
  driver.destroy(event);
  driver.destroy(stream);
}

TEST_P(DriverTest, GpusReachEachOtherOrTheReasonIsTold) {
  EXPECT_TRUE(driver.reach(0, 1).ok());
  EXPECT_TRUE(driver.reach(0, 1).ok()) << "once more changes nothing";
  settings.peers = 0;
  EXPECT_THAT(driver.reach(1, 0).message(), HasSubstr("GPU 1 cannot read the memory of GPU 0 directly"));
}

TEST_P(DriverTest, HandlesAreForOtherProcesses) {
  std::byte* device = make(MemoryType::device, 100);
  const Result<IpcHandle> handle = driver.export_memory(look(device));
  ASSERT_TRUE(handle.ok()) << handle.message();
  EXPECT_FALSE(driver.import_memory(0, *handle).ok()) << "one's own memory is where it is";
  EXPECT_THAT(driver.export_memory(look(make(MemoryType::pool, 100))).message(),
              HasSubstr("memory of kind pool has no handle"));
  settings.ipc = 0;
  EXPECT_THAT(driver.export_memory(look(device)).message(), HasSubstr("not permitted"));
}

TEST_P(DriverTest, AnotherProcessReadsAndWritesByAHandle) {
  std::byte *device = make(MemoryType::device, 5000), *pinned = make(MemoryType::pinned, 5000);
  Stream stream = *driver.make_stream(0);
  std::memset(pinned, 9, 5000);
  ASSERT_TRUE(driver.copy(stream, device, pinned, 5000).ok());
  ASSERT_TRUE(driver.finish(stream).ok());
  const IpcHandle handle = *driver.export_memory(look(device));
  const pid_t child = ::fork();
  if (child == 0) {  // the fake does outlive a fork
    Result<std::byte*> there = driver.import_memory(1, handle);
    bool right = there.ok() && !driver.import_memory(1, handle).ok();
    std::byte* here = *driver.allocate(1, MemoryType::pinned, 5000);
    Stream mine = *driver.make_stream(1);
    right &= driver.copy(mine, here, *there, 5000).ok() && driver.finish(mine).ok() && here[4999] == std::byte{9};
    std::memset(here, 11, 5000);
    right &= driver.copy(mine, *there, here, 5000).ok() && driver.finish(mine).ok() && driver.forget(1, *there).ok();
    right &= !driver.copy(mine, here, *there, 5000).ok();
    ::_exit(right ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(driver.copy(stream, pinned, device, 5000).ok());
  ASSERT_TRUE(driver.finish(stream).ok());
  EXPECT_EQ(pinned[0], std::byte{11});
  driver.destroy(stream);
}

TEST_P(DriverTest, ADefaultStreamIsIdleWhenAllThatItWaitsForIs) {
  void* const of_thread = reinterpret_cast<void*>(2);
  const bool is_said = std::string(GetParam()) == "cuda";
  EXPECT_EQ(*driver.is_idle({of_thread, 0}), is_said) << "where it is not said an event has to";
  settings.busy_default = 1;
  EXPECT_FALSE(*driver.is_idle({of_thread, 0})) << "it waits for the process's";
  settings.busy_default = 0;
  settings.capturing = 1;
  if (is_said) {
    EXPECT_FALSE(driver.is_idle({of_thread, 0}).ok());
  }
  EXPECT_EQ(settings.capturing, 1) << "a question has broken the capture of a stream of the program's";
}

TEST_P(DriverTest, TwoTimedEventsTellHowLongTheGpuHasWorkedBetweenThem) {
  constexpr std::uint64_t kBytes = 2'000'000;
  std::byte *from = make(MemoryType::device, kBytes), *to = make(MemoryType::device, kBytes);
  const Stream stream = *driver.make_stream(0);
  const Event begin = *driver.make_timed_event(0), end = *driver.make_timed_event(0), plain = *driver.make_event(0);
  ASSERT_TRUE(driver.copy(stream, to, from, kBytes).ok());
  ASSERT_TRUE(driver.record(begin, stream).ok());
  ASSERT_TRUE(driver.copy(stream, to, from, kBytes).ok());
  ASSERT_TRUE(driver.record(end, stream).ok());
  ASSERT_TRUE(driver.record(plain, stream).ok());
  EXPECT_FALSE(driver.seconds_between(begin, end).ok()) << "they are not reached";
  ASSERT_TRUE(driver.finish(stream).ok());
  EXPECT_NEAR(*driver.seconds_between(begin, end), 0.002, 1e-6);
  EXPECT_THAT(driver.seconds_between(begin, plain).message(), HasSubstr("EventElapsedTime on GPU 0: "));
  for (const Event event : {begin, end, plain}) driver.destroy(event);
  driver.destroy(stream);
}

TEST_P(DriverTest, ACapturedStreamSaysSo) {
  const Stream stream = *driver.make_stream(0);
  EXPECT_FALSE(*driver.is_captured(stream));
  settings.capturing = 1;
  EXPECT_TRUE(*driver.is_captured(stream));
  EXPECT_FALSE(driver.is_captured({nullptr, 0}).ok()) << "the process's, while another one is captured";
  EXPECT_EQ(settings.capturing, 1);
  settings.capturing = 0;
  driver.destroy(stream);
}

// ---- the cache of kinds

TEST_P(DriverTest, WhatIsKnownOfARangeCostsOneQuestion) {
  KindCache cache(driver);
  std::byte* device = make(MemoryType::device, 10'000);
  EXPECT_EQ(cache.look(device)->kind, MemoryType::device);
  settings.questions = 0;
  EXPECT_EQ(cache.look(device + 9999)->begin, reinterpret_cast<std::uintptr_t>(device));
  EXPECT_EQ(settings.questions, 1);
  EXPECT_EQ(cache.hits, 1u);
  std::byte on_stack{};
  settings.questions = 0;
  EXPECT_EQ(cache.look(&on_stack)->kind, MemoryType::host);
  EXPECT_EQ(settings.questions, 1);
  EXPECT_EQ(cache.size(), 1u) << "host memory is not kept: there may be any amount";
}

TEST_P(DriverTest, AnAddressThatComesBackWithOtherMemoryIsAskedAnew) {
  KindCache cache(driver);
  std::byte* first = make(MemoryType::device, 100'000);
  EXPECT_EQ(cache.look(first + 50'000)->size, 100'000u);
  free(first);
  EXPECT_EQ(cache.look(first + 50'000)->kind, MemoryType::host) << "freed";
  std::byte* small = make(MemoryType::device, 4096);
  std::byte* pool = make(MemoryType::pool, 4096);
  ASSERT_EQ(small, first);
  ASSERT_EQ(pool, first + 4096);
  EXPECT_EQ(cache.look(pool)->kind, MemoryType::pool);
  EXPECT_EQ(cache.look(small + 4000)->size, 4096u);
  EXPECT_EQ(cache.look(pool)->kind, MemoryType::pool);
  // One that takes the place of smaller ones: they are not in its way.
  free(small);
  free(pool);
  std::byte *left = make(MemoryType::device, 4096), *right = make(MemoryType::device, 4096);
  EXPECT_TRUE(cache.look(left).ok() && cache.look(right).ok());
  free(left);
  free(right);
  std::byte* whole = make(MemoryType::device, 8192);
  ASSERT_EQ(whole, left);
  EXPECT_EQ(cache.look(whole)->size, 8192u);
  const std::uint64_t misses = cache.misses;
  EXPECT_EQ(cache.look(right)->size, 8192u);
  EXPECT_EQ(cache.misses, misses);
}

TEST_P(DriverTest, TheCacheIsBounded) {
  KindCache cache(driver);
  std::vector<std::byte*> all;
  for (unsigned i = 0; i < 5000; ++i) {
    all.push_back(*driver.allocate(0, MemoryType::device, 1));
    EXPECT_EQ(cache.look(all.back())->kind, MemoryType::device);
    if (i == 4095) {
      EXPECT_EQ(cache.size(), 4096u);
    }
    EXPECT_LE(cache.size(), 4096u);
  }
  for (std::byte* one : all) EXPECT_TRUE(driver.free(0, MemoryType::device, one).ok());
}

// The file is of whole pages; where in it the memory begins is said.
TEST_P(DriverTest, MemoryIsSharedWithOtherDevicesOrTheReasonIsTold) {
  const bool cuda = std::string(GetParam()) == "cuda";
  for (const std::int64_t begin : {0, 512}) {
    settings.begin = begin;
    std::byte* memory = make(MemoryType::device, 10'000);
    write(memory, pattern(10'000, 3));
    EXPECT_TRUE(driver.may_share(0).ok());
    Result<ucx::DmaBuf> shared = driver.share(look(memory));
    ASSERT_TRUE(shared.ok()) << shared.message();
    EXPECT_EQ(shared->offset(), static_cast<std::uint64_t>(begin));
    std::vector<std::byte> there(10'000);
    ASSERT_EQ(::pread(shared->fd(), there.data(), there.size(), begin), 10'000);
    EXPECT_EQ(there, pattern(10'000, 3));
  }
  EXPECT_THAT(driver.share(look(make(MemoryType::pool, 100))).message(), HasSubstr(" on GPU 0: "));
  settings.dma_buf = 0;
  if (cuda) {
    EXPECT_THAT(driver.may_share(1).message(), HasSubstr("GPU 1: its driver has no dma-buf; it wants NVIDIA's"));
  }
}

TEST_P(DriverTest, WhatDevicesMayWriteIsKnownUntilItIsFreed) {
  settings.in_time = 0;
  const Memory stays = look(make(MemoryType::device, 100)), other = look(make(MemoryType::device, 100));
  driver.written_by_devices(stays);
  EXPECT_EQ(settings.in_time, std::string(GetParam()) == "cuda" ? 1 : 0);
  EXPECT_TRUE(driver.may_be_written(stays.buffer));
  EXPECT_FALSE(driver.may_be_written(other.buffer));
  std::uint64_t first = 0;
  for (unsigned i = 0; i < 1100; ++i) {
    std::byte* memory = *driver.allocate(0, MemoryType::device, 100);
    const Memory found = look(memory);
    driver.written_by_devices(found);
    if (first == 0) first = found.buffer;
    EXPECT_TRUE(driver.free(0, MemoryType::device, memory).ok());
  }
  EXPECT_FALSE(driver.may_be_written(first)) << "numbers of what was freed would fill the memory";
  EXPECT_TRUE(driver.may_be_written(stays.buffer));
}

// What a driver says of an address there is about all that was reserved with it; the numbers tell mappings apart.
TEST_P(DriverTest, MemoryThatIsMappedByHandIsGivenByFiles) {
  if (std::string(GetParam()) != "cuda") {
    EXPECT_THAT(driver.may_give_files(0).message(), HasSubstr("HIP does not say"));
    return;
  }
  constexpr std::uint64_t kPiece = by_hand::Pieces::kBytes;
  {
    by_hand::Pieces pieces(1, 5);
    for (const std::size_t piece : {1, 2, 4}) pieces.map(piece, piece != 4);
    for (const std::size_t piece : {1, 2, 4}) {
      for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1}, kPiece / 2, kPiece - 1}) {
        const Memory memory = look(pieces.at(piece) + offset);
        EXPECT_EQ(memory.kind, MemoryType::vmm);
        EXPECT_EQ(memory.size, 5 * kPiece);
        EXPECT_EQ(memory.exportable, piece != 4);
        const Result<Driver::Mapped> mapped = driver.mapping_of(memory, pieces.at(piece) + offset);
        ASSERT_TRUE(mapped.ok()) << mapped.message();
        EXPECT_EQ(mapped->begin, reinterpret_cast<std::uintptr_t>(pieces.at(piece)));
        EXPECT_EQ(mapped->size, kPiece);
      }
    }
    const Memory memory = look(pieces.at(1));
    EXPECT_FALSE(driver.mapping_of(memory, pieces.at(3)).ok());
    EXPECT_THAT(driver.open_file(pieces.at(4)).message(), HasSubstr("cuMemExportToShareableHandle on GPU 1: "));
    ASSERT_TRUE(give_files(driver).ok());
    ASSERT_TRUE(give_files(driver).ok()) << "one thread is enough";
    FileName name{this_process(), memory.buffer, reinterpret_cast<std::uintptr_t>(pieces.at(1))};
    const std::int64_t before = settings.imports;
    const Result<int> file = ask_for_file(driver, name);
    ASSERT_TRUE(file.ok()) << file.message();
    const Result<std::byte*> there = driver.import_file(1, *file, kPiece);
    ASSERT_TRUE(there.ok()) << there.message();
    EXPECT_EQ(settings.imports, before + 1);
    EXPECT_FALSE(look(*there).exportable) << "it is another process's";
    write(*there, pattern(5000, 3));
    EXPECT_EQ(read(pieces.at(1), 5000), pattern(5000, 3));
    EXPECT_TRUE(driver.forget(1, *there).ok());
    EXPECT_EQ(settings.imports, before);
    EXPECT_FALSE(driver.import_file(1, *file, kPiece / 2).ok());
    ::close(*file);
    settings.files = 0;
    EXPECT_THAT(ask_for_file(driver, name).message(), HasSubstr("on GPU 1: operation not permitted"));
    EXPECT_THAT(driver.may_give_files(1).message(), HasSubstr("GPU 1: its driver gives no files"));
    settings.files = 1;
    pieces.unmap(1);
    EXPECT_THAT(ask_for_file(driver, name).message(), HasSubstr("not mapped there any more"));
    pieces.map(1, true);
    EXPECT_THAT(ask_for_file(driver, name).message(), HasSubstr("not mapped there any more"));
    EXPECT_NE(look(pieces.at(1)).buffer, memory.buffer);
    ++name.process;
    EXPECT_THAT(ask_for_file(driver, name).message(), HasSubstr("cannot be asked for its file"));
    for (const std::size_t piece : {1, 2, 4}) pieces.unmap(piece);
  }
}

// On other hosts of the NVLink domain, and where a file is not to be had.
TEST_P(DriverTest, MemoryThatIsMappedByHandIsGivenOverTheFabric) {
  if (std::string(GetParam()) != "cuda") {
    EXPECT_THAT(driver.may_use_fabric(0).message(), HasSubstr("HIP has no handles"));
    return;
  }
  constexpr std::uint64_t kPiece = by_hand::Pieces::kBytes;
  EXPECT_THAT(driver.may_use_fabric(1).message(), HasSubstr("GPU 1: its driver gives no fabric handles"));
  settings.fabric = 1;
  EXPECT_TRUE(driver.may_use_fabric(1).ok());
  by_hand::Pieces pieces(1, 2);
  pieces.map(0, by_hand::Pieces::kFabric);
  pieces.map(1, by_hand::Pieces::kFile);
  const Memory memory = look(pieces.at(0));
  EXPECT_TRUE(memory.on_fabric && !memory.exportable);
  EXPECT_TRUE(!look(pieces.at(1)).on_fabric);
  EXPECT_FALSE(driver.export_to_fabric(pieces.at(1)).ok());
  const Result<IpcHandle> handle = driver.export_to_fabric(pieces.at(0));
  ASSERT_TRUE(handle.ok()) << handle.message();
  write(pieces.at(0), pattern(5000, 3));

  const std::int64_t before = settings.imports;
  {
    Imports imports(driver);
    Export there{
        *handle, boot_number() ^ 1, this_process() ^ 1, memory.buffer, reinterpret_cast<std::uintptr_t>(pieces.at(0)),
        kPiece,  Export::kByFile};
    EXPECT_THAT(imports.acquire(1, there).message(), HasSubstr("another host's"));
    there.by_hand |= Export::kByFabric;
    const Result<std::byte*> far = imports.acquire(1, there);
    ASSERT_TRUE(far.ok()) << far.message();
    EXPECT_EQ(read(*far, 5000), pattern(5000, 3));
    EXPECT_EQ(settings.imports, before + 1);
    imports.release(there);
    there.boot = boot_number();  // of a process that cannot be asked for its file
    there.process ^= 2;
    const Result<std::byte*> near = imports.acquire(1, there);
    ASSERT_TRUE(near.ok()) << near.message();
    EXPECT_EQ(read(*near, 5000), pattern(5000, 3));
    imports.release(there);
    settings.fabric = 0;
    there.process ^= 4;
    EXPECT_THAT(imports.acquire(1, there).message(), HasSubstr("cuMemImportFromShareableHandle on GPU 1: "));
  }
  EXPECT_EQ(settings.imports, before) << "the last ones are unmapped with the others";
  for (const std::size_t piece : {0, 1}) pieces.unmap(piece);
}

TEST_P(DriverTest, AFileThatFindsNoDescriptorIsASentence) {
  if (std::string(GetParam()) != "cuda") return;
  by_hand::Pieces pieces(1, 1);
  pieces.map(0, true);
  ASSERT_TRUE(give_files(driver).ok());
  const FileName name{this_process(), look(pieces.at(0)).buffer, reinterpret_cast<std::uintptr_t>(pieces.at(0))};
  in_another_process([&]() -> std::string {
    const int left = ::dup(0);  // the one that is, for the socket
    ::close(left);
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = static_cast<rlim_t>(left) + 1;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    const std::string said = ask_for_file(driver, name).message();
    return said == "no descriptor is left here for its file" ? "" : said;
  });
  pieces.unmap(0);
}

// A process that stands still, in whose place the test has its socket.
TEST_P(DriverTest, AProcessThatDoesNotAnswerIsNotAskedAgain) {
  if (std::string(GetParam()) != "cuda") return;
  constexpr std::uint64_t kProcess = 0x5711;
  const std::uint64_t number = kProcess ^ this_process();
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const int length = std::snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "periapt-gpu-files-%016llx-cuda",
                                   static_cast<unsigned long long>(number));
  const int listening = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listening, reinterpret_cast<const sockaddr*>(&name),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length))),
            0);
  ASSERT_EQ(::listen(listening, 4), 0);
  Imports imports(driver);
  Export there;
  there.boot = boot_number();
  there.process = number;
  there.buffer = 1;
  there.size = 4096;
  there.by_hand = Export::kByFile;
  EXPECT_THAT(imports.acquire(0, there).message(), HasSubstr("does not answer"));
  EXPECT_THAT(imports.acquire(0, there).message(), HasSubstr("is not asked again for a while"));
  ::close(listening);
}

INSTANTIATE_TEST_SUITE_P(Both, DriverTest, ::testing::Values("cuda", "hip"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace periapt::gpu
