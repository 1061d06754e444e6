// Memory that a program maps by hand, through CUDA's driver: the fake one or the real one, whichever the environment
// names. For tests of what the runtime makes of it.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace periapt::by_hand {

using Address = unsigned long long;
using Handle = unsigned long long;

template <class Function>
Function* function(const char* name) {
  const char* const file = std::getenv("PERIAPT_LIBCUDA");
  void* const library = ::dlopen(file ? file : "libcuda.so.1", RTLD_NOW);
  void* const found = library ? ::dlsym(library, name) : nullptr;
  if (found == nullptr) std::fprintf(stderr, "no %s\n", name), std::abort();
  return reinterpret_cast<Function*>(found);
}
inline void check(int error, const char* call) {
  if (error != 0) std::fprintf(stderr, "%s: error %d\n", call, error), std::abort();
}

/// Addresses of a GPU for several pieces of memory, side by side.
class Pieces {
 public:
  static constexpr std::size_t kBytes = 2 << 20;  ///< of a piece; what drivers map is a multiple of that

  Pieces(int gpu, std::size_t count) : gpu_(gpu), bytes_(count * kBytes) {
    void* context = nullptr;
    check(function<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, gpu), "cuDevicePrimaryCtxRetain");
    check(function<int(void*)>("cuCtxPushCurrent_v2")(context), "cuCtxPushCurrent");
    check(function<int(Address*, std::size_t, std::size_t, Address, unsigned long long)>("cuMemAddressReserve")(
              &begin_, bytes_, 0, 0, 0),
          "cuMemAddressReserve");
  }
  ~Pieces() {
    check(function<int(Address, std::size_t)>("cuMemAddressFree")(begin_, bytes_), "cuMemAddressFree");
    void* context = nullptr;
    check(function<int(void**)>("cuCtxPopCurrent_v2")(&context), "cuCtxPopCurrent");
  }
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  std::byte* at(std::size_t piece) const { return reinterpret_cast<std::byte*>(begin_ + piece * kBytes); }
  static constexpr int kFile = 1, kFabric = 8;  ///< what other processes may be given of a piece
  /// New memory there. `handles`: true, of its file.
  void map(std::size_t piece, int handles) {
    struct {
      int type = 1, handle_types = 0, location_type = 1, location = 0;
      void* of_windows = nullptr;
      unsigned char flags[8] = {};
    } wishes;
    wishes.handle_types = handles;
    wishes.location = gpu_;
    Handle handle = 0;
    check(function<int(Handle*, std::size_t, const void*, unsigned long long)>("cuMemCreate")(&handle, kBytes, &wishes,
                                                                                              0),
          "cuMemCreate");
    const Address address = begin_ + piece * kBytes;
    check(function<int(Address, std::size_t, std::size_t, Handle, unsigned long long)>("cuMemMap")(address, kBytes, 0,
                                                                                                   handle, 0),
          "cuMemMap");
    const int access[3] = {1, gpu_, 3};
    check(function<int(Address, std::size_t, const int*, std::size_t)>("cuMemSetAccess")(address, kBytes, access, 1),
          "cuMemSetAccess");
    check(function<int(Handle)>("cuMemRelease")(handle), "cuMemRelease");
  }
  void unmap(std::size_t piece) {
    check(function<int(Address, std::size_t)>("cuMemUnmap")(begin_ + piece * kBytes, kBytes), "cuMemUnmap");
  }

 private:
  const int gpu_;
  const std::size_t bytes_;
  Address begin_ = 0;
};

}  // namespace periapt::by_hand
