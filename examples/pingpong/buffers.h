// Memory that pingpong's arrays lie in, by the letters of OSU's benchmarks: H of the host, D of a GPU, M managed.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "charm++.h"
#include "machine/gpu/vendors.h"

class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (letter_ == 'H') delete[] at_;
    if (letter_ == 'H' || !at_) return;
    driver().destroy(stream_);
    must(driver().free(gpu_, kind(), reinterpret_cast<std::byte*>(at_)));
  }

  // So many bytes of that memory, on the GPU of the PE that asks first. They stay until the run ends: arrays that a
  // stream has sent may still arrive when its end is known.
  char* room(char letter, std::size_t bytes) {
    if (at_) return at_;
    letter_ = letter;
    if (letter == 'H') return at_ = new char[bytes];
    gpu_ = CkMyPe() % static_cast<int>(driver().gpus().size());
    stream_ = must(driver().make_stream(gpu_));
    return at_ = reinterpret_cast<char*>(must(driver().allocate(gpu_, kind(), bytes)));
  }
  char* at() const { return at_; }
  // What its elements are written and read by: of its own, as in programs that keep a GPU busy.
  periapt::DeviceStream stream() const {
    return letter_ == 'H' ? periapt::DeviceStream() : periapt::DeviceStream(static_cast<CUstream_st*>(stream_.native));
  }
  void write(const std::vector<char>& bytes) { copy(at_, bytes.data(), bytes.size()); }
  std::vector<char> read(std::size_t count) const {
    std::vector<char> bytes(count);
    copy(bytes.data(), at_, count);
    return bytes;
  }

  static periapt::gpu::Driver& driver() {
    std::string reasons;
    for (const periapt::gpu::Vendor& vendor : periapt::gpu::vendors()) {
      if (vendor.driver().ok() && !(*vendor.driver())->gpus().empty()) return **vendor.driver();
      reasons += std::string("; ") + vendor.title + ": " + vendor.driver().message();
    }
    CkAbort("pingpong: D and M are memory of GPUs, and none is in use in this process%s", reasons.c_str());
  }

 private:
  template <class T>
  static T must(periapt::Result<T> result) {
    if (!result) CkAbort("pingpong: %s", result.message().c_str());
    return *result;
  }
  static void must(const periapt::Status& status) {
    if (!status) CkAbort("pingpong: %s", status.message().c_str());
  }
  periapt::gpu::MemoryType kind() const {
    return letter_ == 'M' ? periapt::gpu::MemoryType::managed : periapt::gpu::MemoryType::device;
  }
  // Waits: not for what is measured.
  void copy(char* to, const char* from, std::size_t bytes) const {
    if (letter_ == 'H') return static_cast<void>(std::memcpy(to, from, bytes));
    must(driver().copy(stream_, to, from, bytes));
    must(driver().finish(stream_));
  }

  char letter_ = 'H';
  int gpu_ = 0;
  periapt::gpu::Stream stream_;
  char* at_ = nullptr;
};
