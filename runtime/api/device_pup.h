// pup of memory of GPUs, for objects that own some and migrate, or are kept in checkpoints. C++17, and no vendor's
// toolkit: reached from charm++.h.
//
//   void pup(PUP::er& p) {
//     p | n;
//     p | PUP::device(field, n);  // double* field, from cudaMalloc()
//   }
//   ~Block() { cudaFree(field); }
//
// What the GPU has been given so far is done before its memory is read: a stream need not be waited for (of pinned
// memory: the GPU that was the thread's when it was made). Where the
// object arrives, memory of the same kind is made, on the GPU that is the PE's there (cudaSetDevice() by its thread),
// and holds the elements when pup() returns. The object that has left gives its own back in its destructor, as with
// memory of the host.
#pragma once
#include <cstddef>
#include <type_traits>

#include "runtime/pup/er.h"

namespace PUP {

namespace detail {
void pup_device(er& p, void*& memory, std::size_t count, std::size_t item_bytes);
void pup_device_contents(er& p, void* memory, std::size_t count, std::size_t item_bytes);
}  // namespace detail

template <class T>
struct DeviceArray {
  static_assert(std::is_trivially_copyable<T>::value, "only plain bytes lie in the memory of a GPU");
  T*& memory;
  std::size_t count;
  void pup(er& p) {
    void* at = memory;
    detail::pup_device(p, at, count, sizeof(T));
    memory = static_cast<T*>(at);
  }
};
template <class T>
struct DeviceContents {
  static_assert(std::is_trivially_copyable<T>::value, "only plain bytes lie in the memory of a GPU");
  T* memory;
  std::size_t count;
  void pup(er& p) { detail::pup_device_contents(p, memory, count, sizeof(T)); }
};

/// `count` elements and the memory that they lie in: from cudaMalloc(), cudaMallocManaged(), cudaMallocHost(),
/// cudaMallocAsync() or what HIP calls these. Unpacking sets the pointer. What is null, or has no elements, comes as
/// null. A stream that deletes what it packs (isDeleting()) gives the memory back.
template <class T>
DeviceArray<T> device(T*& memory, std::size_t count) {
  return {memory, count};
}
/// The elements alone: the memory is made by the program, before this is unpacked.
template <class T>
DeviceContents<T> device_contents(T* memory, std::size_t count) {
  return {memory, count};
}

}  // namespace PUP
