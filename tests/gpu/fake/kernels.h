// Kernels of the fake GPUs: functions of this library by the names that kernels have, run by threads of the host. Each
// warp is a thread, of one lane.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace periapt::fake_gpu {

struct KernelBody {
  const char* name;
  std::size_t argument_bytes;
  void (*run)(struct Launch& launch, unsigned warp);
  bool waits;  ///< its blocks have a barrier, so that it has to be one block
};

/// The function of that name; nullptr: there is none.
const KernelBody* find_kernel(const char* name);

/// A kernel that a stream was given.
struct Launch {
  Launch(const KernelBody& body, int gpu, const void* arguments);
  ~Launch();
  /// Its GPU has room for it from now on.
  void begin(unsigned warps);
  bool has_begun() const { return !threads_.empty(); }
  /// At the block's first barrier, or it has none, or has ended before.
  bool has_met() const { return !body.waits || round.load() != 0 || has_ended(); }
  bool has_ended() const { return has_begun() && left_.load(std::memory_order_acquire) == 0; }

  const KernelBody& body;
  const int gpu;
  std::int64_t clock = 1000;  ///< Settings::clock
  unsigned warps = 0;
  std::vector<unsigned char> arguments;
  std::atomic<unsigned> waiting{0}, round{0};  ///< at the block's barrier
  std::vector<std::uint64_t> shared;           ///< memory of the block

 private:
  std::atomic<unsigned> left_{0};
  std::vector<std::thread> threads_;
};

}  // namespace periapt::fake_gpu
