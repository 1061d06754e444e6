// Thread-local variables of a library loaded at run time, wherever malloc() places them: the thread sanitizer by itself
// guesses wrongly about those that begin 16 bytes into a page (tests/thread_sanitizer.cmake), and ends the program.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kBytes = 48;  // of the library's variables
constexpr std::size_t kPage = 4096;

std::uintptr_t within_page(const void* at) { return reinterpret_cast<std::uintptr_t>(at) % kPage; }

// The next malloc(kBytes) of this thread answers a block that begins 16 bytes into a page, behind a block that ends
// with two words which, taken for a size and an address, name nearly all of a program's addresses. Where malloc() does
// otherwise, nothing is prepared.
void prepare_next_block() {
  std::vector<std::uintptr_t*> blocks;
  void* chosen = nullptr;
  for (std::size_t i = 0; i < 4 * kPage / 16; ++i) {
    auto* block = static_cast<std::uintptr_t*>(std::malloc(kBytes));
    block[4] = reinterpret_cast<std::uintptr_t>(block);
    block[5] = 0x1000301000;
    if (within_page(block) == 16) {
      chosen = block;
    } else {
      blocks.push_back(block);
    }
  }
  std::free(chosen);
  static std::vector<std::uintptr_t*> kept;  // in place while the library's variable is looked at
  kept.swap(blocks);
}

TEST(ThreadLocals, OfALibraryLieWhereMallocPlacesThem) {
  void* const library = ::dlopen(THREAD_LOCALS, RTLD_NOW);
  ASSERT_NE(library, nullptr) << ::dlerror();
  auto* const words = reinterpret_cast<long* (*)()>(::dlsym(library, "words_of_thread"));
  ASSERT_NE(words, nullptr);
  std::uintptr_t began_at = 0;
  long third = 0;
  std::thread([&] {
    prepare_next_block();
    const long* mine = words();
    began_at = within_page(mine);
    third = mine[2];
  }).join();
  EXPECT_EQ(third, 3);
  RecordProperty("within_page", static_cast<int>(began_at));
  if (began_at != 16) {
    GTEST_SKIP() << "malloc() placed the variable " << began_at << " bytes into a page";
  }
}

}  // namespace
