// What the programs of this folder share: a demand that ends the program, and arrays whose elements say whose they are.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "charm++.h"

#define DEMAND(condition) \
  if (!(condition)) CkAbort("line %d on PE %d: this does not hold: %s", __LINE__, CkMyPe(), #condition)

namespace checked {

// The elements of one block. The sanitizers look at the blocks, which are copied and compared, not at each element.
constexpr std::size_t kBlock = 1024;
template <class T>
__attribute__((no_sanitize("thread", "address", "undefined"))) void make_block(T* x, std::size_t first, int seed) {
  for (std::size_t i = 0; i < kBlock; ++i)
    x[i] = static_cast<T>(
        static_cast<int>(static_cast<unsigned>((first + i) * 2654435761u) ^ static_cast<unsigned>(seed) * 40503u));
}
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

// Memory that is sent: spoilt and freed by the callback that says that it may be. Stays on the process that made it.
template <class T>
T* to_send(std::size_t n, int seed, unsigned short mode) {
  void* memory = mode == CK_BUFFER_PREREG ? CkRdmaAlloc(n * sizeof(T)) : operator new(n * sizeof(T));
  fill(static_cast<T*>(memory), n, seed);
  return static_cast<T*>(memory);
}
inline void spoil_and_free(const CkNcpyBuffer& sent) {
  std::memset(const_cast<void*>(sent.ptr), 0xEE, sent.cnt);
  if (sent.regMode == CK_BUFFER_PREREG)
    CkRdmaFree(sent.ptr);
  else
    operator delete(sent.ptr);
}

}  // namespace checked
