// Memory of all kinds for programs of tests, on the GPUs of the process's driver; without any, all of it is the host's.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "charm++.h"
#include "machine/gpu/vendors.h"
#include "tests/zero-copy/checked.h"

namespace device_memory {

using periapt::gpu::Driver;
using periapt::gpu::Kind;
using periapt::gpu::Stream;

constexpr Kind kinds[] = {Kind::device, Kind::host, Kind::pinned, Kind::managed, Kind::pool};

// Each process sees other GPUs than the next, under other numbers.
inline void hide_gpus() {
  const int node = CkMyNode();
  const std::string first = std::to_string(node), second = std::to_string(node + 1);
  setenv("CUDA_VISIBLE_DEVICES", (node % 2 ? first + "," + second : second + "," + first).c_str(), 1);
}

inline Driver* find_driver() {
  if (getenv("GPUS_DIFFER")) hide_gpus();
  return periapt::gpu::first_driver();
}
inline Driver* driver() {
  static Driver* const found = find_driver();
  return found;
}
template <class T>
T must(periapt::Result<T> result) {
  if (!result) CkAbort("%s", result.message().c_str());
  return *result;
}
inline void must(const periapt::Status& status) {
  if (!status) CkAbort("%s", status.message().c_str());
}

// Some memory of a kind, and a stream that works on it.
class Memory {
 public:
  Memory(Kind kind, std::size_t bytes)
      : kind_(driver() ? kind : Kind::host),
        gpu_(driver() ? CkMyPe() % static_cast<int>(driver()->gpus().size()) : -1) {
    at_ = kind_ == Kind::host ? static_cast<std::byte*>(std::malloc(bytes + 1))
                              : must(driver()->allocate(gpu_, kind_, bytes + 1));
    if (driver()) stream_ = must(driver()->make_stream(gpu_));
  }
  Memory(const Memory&) = delete;
  ~Memory() {
    if (driver()) driver()->destroy(stream_);
    if (kind_ == Kind::host)
      std::free(at_);
    else
      must(driver()->free(gpu_, kind_, at_));
  }
  // Behind what the stream has to do; the host's memory at once.
  template <class T>
  void write(const std::vector<T>& from) {
    const std::size_t bytes = from.size() * sizeof(T);
    if (bytes == 0) return;
    if (kind_ == Kind::host) {
      std::memcpy(at_, from.data(), bytes);
    } else {
      written_.assign(reinterpret_cast<const std::byte*>(from.data()),
                      reinterpret_cast<const std::byte*>(from.data()) + bytes);
      must(driver()->copy(stream_, at_, written_.data(), bytes));
    }
  }
  template <class T>
  void fill(std::size_t n, int seed) {
    std::vector<T> values(n);
    checked::fill(values.data(), n, seed);
    write(values);
  }
  template <class T>
  std::vector<T> read(const T* at, std::size_t n) const {
    std::vector<T> values(n);
    if (kind_ == Kind::host && n != 0) {
      std::memcpy(values.data(), at, n * sizeof(T));
    } else if (n != 0) {
      must(driver()->copy(stream_, values.data(), at, n * sizeof(T)));
      must(driver()->finish(stream_));
    }
    return values;
  }
  template <class T>
  bool holds(const T* at, std::size_t n, int seed) const {
    return checked::holds(read(at, n).data(), n, seed);
  }
  void finish() {
    if (driver()) must(driver()->finish(stream_));
  }
  template <class T>
  T* at() const {
    return reinterpret_cast<T*>(at_);
  }
  CkDeviceBuffer to_send(const CkCallback& cb) const { return CkDeviceBuffer(at_, cb, stream()); }
  CUstream_st* stream() const { return static_cast<CUstream_st*>(stream_.native); }

 private:
  Kind kind_;
  int gpu_;
  std::byte* at_;
  Stream stream_;
  std::vector<std::byte> written_;  // stays until the stream has read it
};

// For memory that is given: it is free again, holds something else from then on, and `told` is called.
inline CkCallback use_again(Memory& memory, std::size_t doubles, const CkCallback& told) {
  struct Given {
    Memory& memory;
    std::size_t doubles;
    CkCallback told;
  };
  const auto use = [](void* given, void* message) {
    CkFreeMsg(message);
    const std::unique_ptr<Given> part(static_cast<Given*>(given));
    part->memory.write(std::vector<double>(part->doubles, -2));
    part->told.send();
  };
  return CkCallback(use, new Given{memory, doubles, told});
}

}  // namespace device_memory
