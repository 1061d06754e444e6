// What the programs of this folder share: a demand that ends the program, and arrays whose elements say whose they are.
#pragma once
#include <cstddef>
#include <vector>

#include "charm++.h"

#define DEMAND(condition) \
  if (!(condition)) CkAbort("line %d on PE %d: this does not hold: %s", __LINE__, CkMyPe(), #condition)

namespace checked {

inline int element(std::size_t i, int seed) {
  return static_cast<int>(static_cast<unsigned>(i * 2654435761u) ^ static_cast<unsigned>(seed) * 40503u);
}
template <class T>
void fill(T* x, std::size_t n, int seed) {
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(element(i, seed));
}
template <class T>
bool holds(const T* x, std::size_t n, int seed) {
  for (std::size_t i = 0; i < n; ++i)
    if (x[i] != static_cast<T>(element(i, seed))) return false;
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
  for (std::size_t i = 0; i < sent.cnt; ++i) static_cast<unsigned char*>(sent.ptr)[i] = 0xEE;
  if (sent.regMode == CK_BUFFER_PREREG)
    CkRdmaFree(sent.ptr);
  else
    operator delete(sent.ptr);
}

}  // namespace checked
