// PUP::device and what stands under it (machine/gpu/contents.h) on the fake GPUs: through streams of each make, and
// what has to be told.
#include "pup.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <string>
#include <vector>

#include "machine/gpu/contents.h"
#include "runtime/api/device_pup.h"
#include "tests/gpu/gpu_fixture.h"

namespace periapt::gpu {
namespace {

using ::testing::HasSubstr;

class DevicePup : public GpuTest {
 protected:
  DevicePup() {
    before_ = PUP::set_error_handler([](const PUP::error& e) { throw e; });
  }
  ~DevicePup() override { PUP::set_error_handler(before_); }

  /// Of `count` bytes at `memory`, with what PUP::device packs.
  static std::vector<char> packed(char* memory, std::size_t count) {
    PUP::sizer sizer;
    sizer | PUP::device(memory, count);
    std::vector<char> bytes(sizer.size());
    PUP::toMem p(bytes.data(), bytes.size());
    p | PUP::device(memory, count);
    EXPECT_EQ(p.size(), bytes.size());
    return bytes;
  }
  static char* unpacked(const std::vector<char>& bytes, std::size_t count) {
    char* memory = nullptr;
    PUP::fromMem p(bytes.data(), bytes.size());
    p | PUP::device(memory, count);
    EXPECT_EQ(p.size(), bytes.size());
    return memory;
  }
  template <class Body>
  static std::string said(Body&& body) {
    try {
      body();
    } catch (const PUP::error& e) {
      return e.what();
    }
    return "";
  }
  char* filled(MemoryType kind, std::uint64_t bytes, unsigned seed) {
    std::byte* memory = make(kind, bytes);
    write(memory, pattern(bytes, seed));
    return reinterpret_cast<char*>(memory);
  }
  /// Whatever driver made it.
  static void expect_and_free(char* memory, MemoryType kind, const std::vector<std::byte>& contents) {
    const Result<Contents> found = Contents::at(memory, contents.size());
    ASSERT_TRUE(found.ok()) << found.message();
    EXPECT_EQ(found->kind(), kind);
    std::vector<std::byte> bytes(contents.size());
    EXPECT_TRUE(found->read(bytes.data(), 0, bytes.size()).ok());
    EXPECT_EQ(bytes, contents);
    EXPECT_TRUE(found->free().ok());
  }

 private:
  PUP::error_handler before_;
};

TEST_P(DevicePup, MemoryOfEachKindComesAsTheSameWithItsContents) {
  for (MemoryType kind : {MemoryType::pinned, MemoryType::device, MemoryType::managed, MemoryType::pool}) {
    SCOPED_TRACE(name_of(kind));
    char* const memory = filled(kind, 12'345, 3);
    char* const copy = unpacked(packed(memory, 12'345), 12'345);
    ASSERT_NE(copy, memory);
    expect_and_free(copy, kind, pattern(12'345, 3));
  }
}

TEST_P(DevicePup, WhatIsNullOrHasNoElementsComesAsNull) {
  EXPECT_EQ(unpacked(packed(nullptr, 1000), 1000), nullptr);
  EXPECT_EQ(unpacked(packed(filled(MemoryType::device, 10, 1), 0), 0), nullptr);
}

TEST_P(DevicePup, AStreamWithoutMemoryOfItsOwnTakesItPieceByPiece) {
  constexpr std::size_t kBytes = (9 << 20) + 5;
  char* memory = filled(MemoryType::device, kBytes, 4);
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  {
    PUP::toDisk p(file);
    p | PUP::device(memory, kBytes);
  }
  std::rewind(file);
  char* copy = nullptr;
  PUP::fromDisk p(file);
  p | PUP::device(copy, kBytes);
  expect_and_free(copy, MemoryType::device, pattern(kBytes, 4));
  std::fclose(file);
}

TEST_P(DevicePup, AStreamThatDeletesGivesTheMemoryBack) {
  char* memory = reinterpret_cast<char*>(*driver.allocate(0, MemoryType::device, 100));
  char* const was = memory;
  std::vector<char> bytes(200);
  PUP::toMem p(bytes.data(), bytes.size());
  p.becomeDeleting();
  p | PUP::device(memory, 100);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(driver.look(was)->kind, MemoryType::host);
}

TEST_P(DevicePup, WhatTheProgramMakesGetsTheElementsAlone) {
  void* mapped = nullptr;
  ASSERT_EQ(fake_gpu::function<int(void**, std::size_t)>(GetParam(), "periapt_fake_gpu_map")(&mapped, 5000), 0);
  char *vmm = static_cast<char*>(mapped), *from = filled(MemoryType::device, 5000, 6);
  std::vector<char> bytes(6000);
  PUP::toMem out(bytes.data(), bytes.size());
  out | PUP::device_contents(from, 5000);
  PUP::fromMem in(bytes.data(), out.size());
  in | PUP::device_contents(vmm, 5000);
  EXPECT_EQ(read(static_cast<std::byte*>(mapped), 5000), pattern(5000, 6));
  EXPECT_THAT(said([&] { packed(vmm, 5000); }), HasSubstr("mapped by hand is made by the program"));
  EXPECT_THAT(said([&] {
                PUP::fromMem again(bytes.data(), out.size());
                again | PUP::device_contents(vmm, 4999);
              }),
              HasSubstr("4999 bytes are to be unpacked, and 5000 were packed"));
}

TEST_P(DevicePup, WhatCannotBeIsASentence) {
  char* const memory = filled(MemoryType::device, 1000, 7);
  std::vector<char> bytes = packed(memory, 1000);
  EXPECT_THAT(said([&] { packed(memory, 1001); }), HasSubstr("1001 bytes of an allocation of 1000"));
  EXPECT_THAT(said([&] { unpacked(bytes, 999); }), HasSubstr("999 bytes are to be unpacked, and 1000 were packed"));
  char on_stack[100] = {};
  EXPECT_THAT(said([&] { packed(on_stack, 100); }), HasSubstr("no driver of a GPU knows the memory at 0x"));
  std::vector<char> cut(bytes.begin(), bytes.end() - 1);
  EXPECT_THAT(said([&] { unpacked(cut, 1000); }), HasSubstr("PUP: unpacking needed"));
  bytes[8] = 77;
  EXPECT_THAT(said([&] { unpacked(bytes, 1000); }), HasSubstr("no kind of memory has the number 77"));
  free(reinterpret_cast<std::byte*>(memory));
  EXPECT_THAT(said([&] { packed(memory, 1000); }), HasSubstr("it may have been freed"));
}

TEST_P(DevicePup, AllThatAGpuWasGivenIsDoneWhenAllOfItIsWaitedFor) {
  std::byte *pinned = make(MemoryType::pinned, 100), *here = make(MemoryType::device, 100),
            *there = make(MemoryType::device, 100, 1);
  std::vector<Stream> streams;
  for (int gpu : {0, 0, 1}) {
    streams.push_back(*driver.make_stream(gpu));
    ASSERT_TRUE(driver.copy(streams.back(), gpu == 0 ? here : there, pinned, 100).ok());
  }
  ASSERT_TRUE(driver.finish_all(0).ok());
  EXPECT_TRUE(*driver.is_idle(streams[0]));
  EXPECT_TRUE(*driver.is_idle(streams[1]));
  EXPECT_FALSE(*driver.is_idle(streams[2])) << "it is another GPU's";
  for (Stream stream : streams) driver.destroy(stream);
}

INSTANTIATE_TEST_SUITE_P(Both, DevicePup, ::testing::Values("cuda", "hip"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace periapt::gpu
