#include "tests/zero-copy/checked.h"

#include <algorithm>

namespace checked {
namespace {

// The elements of one block. The sanitizers look at the blocks, which are copied and compared, not at each element.
constexpr std::size_t kBlock = 1024;
template <class T>
__attribute__((no_sanitize("thread", "address", "undefined"))) void make_block(T* x, std::size_t first, int seed) {
  for (std::size_t i = 0; i < kBlock; ++i)
    x[i] = static_cast<T>(
        static_cast<int>(static_cast<unsigned>((first + i) * 2654435761u) ^ static_cast<unsigned>(seed) * 40503u));
}

}  // namespace

template <class T>
void fill(T* x, std::size_t n, int seed) {
  T block[kBlock];
  for (std::size_t at = 0; at < n; at += kBlock) {
    make_block(block, at, seed);
    std::memcpy(x + at, block, std::min(kBlock, n - at) * sizeof(T));
  }
}
template <class T>
bool holds(const T* x, std::size_t n, int seed) {
  T block[kBlock];
  for (std::size_t at = 0; at < n; at += kBlock) {
    make_block(block, at, seed);
    if (std::memcmp(x + at, block, std::min(kBlock, n - at) * sizeof(T)) != 0) return false;
  }
  return true;
}

template void fill(int*, std::size_t, int);
template void fill(char*, std::size_t, int);
template bool holds(const int*, std::size_t, int);
template bool holds(const char*, std::size_t, int);

}  // namespace checked
