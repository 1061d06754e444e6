// Memory of a machine: what is given back is taken again, and goes to the heap together.
#include "runtime/sdag/blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/platform.h"
#include "runtime/sdag/held.h"

namespace periapt::sdag {
namespace {

TEST(Blocks, TakesWhatWasGivenBack) {
  if (platform::kAddressSanitizer) GTEST_SKIP() << "the sanitizer has a block of the heap for each";
  Blocks blocks;
  void* const first = blocks.take(100);
  void* const second = blocks.take(100);
  EXPECT_NE(first, second);
  blocks.give(first, 100);
  EXPECT_EQ(blocks.take(97), first) << "of one size with it";
  blocks.give(first, 97);
  EXPECT_NE(blocks.take(200), first) << "of another size";
}

TEST(Blocks, ManyGoBackToTheHeapTogether) {
  if (platform::kAddressSanitizer) GTEST_SKIP() << "the sanitizer has a block of the heap for each";
  Blocks blocks;
  std::vector<void*> all;
  for (int i = 0; i < 10000; ++i) all.push_back(blocks.take(128));
  EXPECT_GE(blocks.bytes(), 1280000u);
  EXPECT_LE(blocks.bytes(), 1500000u);
  for (void* block : all) blocks.give(block, 128);
  EXPECT_EQ(blocks.bytes(), 0u);
  blocks.give(blocks.take(128), 128);
  EXPECT_LE(blocks.bytes(), 1024u) << "few stay";
  EXPECT_GT(blocks.bytes(), 0u);
}

TEST(Blocks, OfAnySizeDoNotOverlapAndAreAligned) {
  Blocks blocks;
  struct Block {
    void* at;
    std::size_t bytes;
  };
  std::vector<Block> all;
  for (std::size_t bytes : {1, 31, 32, 33, 64, 511, 512, 513, 5000, 100000})
    for (int i = 0; i < 20; ++i) {
      all.push_back({blocks.take(bytes), bytes});
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.back().at) % 16, 0u) << bytes;
      std::memset(all.back().at, static_cast<int>(all.size()), bytes);
    }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto* byte = static_cast<const unsigned char*>(all[i].at);
    EXPECT_EQ(byte[0], static_cast<unsigned char>(i + 1));
    EXPECT_EQ(byte[all[i].bytes - 1], static_cast<unsigned char>(i + 1));
    blocks.give(all[i].at, all[i].bytes);
  }
}

// A when that looks for its message among very many pays for each line that it touches.
TEST(Blocks, AShortCallThatWaitsIsOneLine) {
  if (platform::kAddressSanitizer) GTEST_SKIP() << "the sanitizer has a block of the heap for each";
  Blocks blocks;
  char arguments[16] = {};
  std::vector<Held*> all;
  for (int i = 0; i < 100; ++i) {
    blocks.take(100);  // a frame
    Delivery call;
    call.arguments = arguments;
    call.length = sizeof arguments;
    all.push_back(Held::of(blocks, call));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.back()) % 64, 0u);
    EXPECT_LE(sizeof(Held) + sizeof arguments, 64u);
  }
  for (Held* held : all) Held::destroy(blocks, held);
}

}  // namespace
}  // namespace periapt::sdag
