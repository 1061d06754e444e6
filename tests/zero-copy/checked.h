// What the programs of this folder share: a demand that ends the program, and arrays whose elements say whose they are.
#pragma once
#include <cstddef>
#include <cstring>

#include "charm++.h"

#define DEMAND(condition) \
  if (!(condition)) CkAbort("line %d on PE %d: this does not hold: %s", __LINE__, CkMyPe(), #condition)

namespace checked {

// The elements of an array of int or char, which differ by their place and by the seed. checked.cpp is optimized,
// whatever its users are: these loops are most of what such a program computes.
template <class T>
void fill(T* x, std::size_t n, int seed);
template <class T>
bool holds(const T* x, std::size_t n, int seed);

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
