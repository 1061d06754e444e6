// Memory of all kinds for programs of tests, on the GPUs of the process's driver; without any, all of it is the host's.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "charm++.h"
#include "machine/gpu/vendors.h"
#include "tests/zero-copy/checked.h"

namespace device_memory {

using periapt::gpu::Driver;
using periapt::gpu::MemoryType;
using periapt::gpu::Stream;

constexpr MemoryType kinds[] = {MemoryType::device, MemoryType::host, MemoryType::pinned, MemoryType::managed,
                                MemoryType::pool};

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

// An array whose elements are written next: without optimization, writing zeros first takes longer than all else.
template <class T>
std::unique_ptr<T[]> without_values(std::size_t n) {
  return std::unique_ptr<T[]>(new T[n]);
}

// Some memory of a kind, and a stream that works on it.
class Memory {
 public:
  Memory(MemoryType kind, std::size_t bytes)
      : kind_(driver() ? kind : MemoryType::host),
        gpu_(driver() ? CkMyPe() % static_cast<int>(driver()->gpus().size()) : -1) {
    at_ = kind_ == MemoryType::host ? static_cast<std::byte*>(std::malloc(bytes + 1))
                                    : must(driver()->allocate(gpu_, kind_, bytes + 1));
    if (driver()) stream_ = must(driver()->make_stream(gpu_));
  }
  Memory(const Memory&) = delete;
  ~Memory() {
    if (driver()) driver()->destroy(stream_);
    if (kind_ == MemoryType::host)
      std::free(at_);
    else
      must(driver()->free(gpu_, kind_, at_));
  }
  // Behind what the stream has to do; the host's memory at once.
  template <class T>
  void write(const std::vector<T>& from) {
    const std::size_t bytes = from.size() * sizeof(T);
    auto values = without_values<std::byte>(bytes);
    if (bytes != 0) std::memcpy(values.get(), from.data(), bytes);
    write(std::move(values), bytes);
  }
  template <class T>
  void fill(std::size_t n, int seed) {
    auto values = without_values<std::byte>(n * sizeof(T));
    checked::fill(reinterpret_cast<T*>(values.get()), n, seed);
    write(std::move(values), n * sizeof(T));
  }
  template <class T>
  std::vector<T> read(const T* at, std::size_t n) const {
    std::vector<T> values(n);
    read(values.data(), at, n * sizeof(T));
    return values;
  }
  template <class T>
  bool holds(const T* at, std::size_t n, int seed) const {
    const auto values = without_values<T>(n);
    read(values.get(), at, n * sizeof(T));
    return checked::holds(values.get(), n, seed);
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
  void write(std::unique_ptr<std::byte[]> from, std::size_t bytes) {
    if (bytes == 0) return;
    if (kind_ == MemoryType::host) {
      std::memcpy(at_, from.get(), bytes);
    } else {
      must(driver()->copy(stream_, at_, from.get(), bytes));
      written_.push_back(std::move(from));
    }
  }
  void read(void* to, const void* at, std::size_t bytes) const {
    if (bytes == 0) return;
    if (kind_ == MemoryType::host) {
      std::memcpy(to, at, bytes);
    } else {
      must(driver()->copy(stream_, to, at, bytes));
      must(driver()->finish(stream_));
    }
  }

  MemoryType kind_;
  int gpu_;
  std::byte* at_;
  Stream stream_;
  std::vector<std::unique_ptr<std::byte[]>> written_;  // the stream may read them yet
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
