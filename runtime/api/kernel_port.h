// Messages that a kernel sends: the host's side. C++17, and no vendor's toolkit. docs/gpu.md has an example; what
// kernels call is in machine/gpu/device_send.h, which programs include as ckdevicesend.h.
//
// The PE that has opened a port takes what kernels send, between two entries and while it is idle, and sends it to the
// port's callback as a CkDataMsg of the bytes. It never waits for a kernel, and does not sleep while it has a port.
// From its first one on it looks at its inbox and its timers after each entry; a PE that has had none pays nothing. A
// delivered message counts for quiescence as any other one; a kernel that may still send is the program's business.
// Ports and counters belong to the PE that has made them: copies of these values name the same one, and may be used
// there only, while handle() may be given to kernels anywhere in the process.
#pragma once
#include <cstddef>
#include <cstdint>

#include "machine/gpu/device_send.h"
#include "runtime/api/callback.h"

class CkKernelPort {
 public:
  CkKernelPort() = default;
  // For messages of at most `bytes` (1 MiB at most), of which `messages` may be on their way: rounded up to a power of
  // two. `gpu`: by the numbers that CUDA or HIP gives them in this process; -1: the thread's (cudaSetDevice()), or 0.
  // Memory is allocated, which may wait for the GPU. What cannot be had ends the run with a sentence.
  static CkKernelPort open(const CkCallback& to, std::size_t messages, std::size_t bytes, int gpu = -1);

  // What a kernel on that GPU is given, by value.
  const ck_kernel_port& handle() const { return handle_; }
  explicit operator bool() const { return pe_ >= 0; }
  // From soon on ck_device_send() says ck_device_closed. What was sent still comes, and until it has come the run is
  // not quiescent; a message that a kernel has begun and does not end within a second, since the PE has first looked
  // for it, is given up, with a warning. Kernels that have the handle should have ended: one that is just in the middle
  // of ck_device_send() may lose its message.
  void close();

 private:
  int pe_ = -1;
  std::uint32_t number_ = 0;
  ck_kernel_port handle_ = {};
};

class CkKernelCounter {
 public:
  CkKernelCounter() = default;
  // A counter that is 0. `gpu` as of a port: kernels of this one raise it.
  static CkKernelCounter make(int gpu = -1);

  const ck_kernel_counter& handle() const { return handle_; }
  explicit operator bool() const { return pe_ >= 0; }
  std::uint64_t value() const;
  // The callback is sent from this PE, with the message, when the counter has come to `value` or beyond, which may be
  // now. Until then the run is not quiescent. Any number of them.
  void when(std::uint64_t value, const CkCallback& cb, void* message = nullptr);
  // It may be given to others from now on: no kernel raises it any more, and nothing waits for it.
  void close();

 private:
  int pe_ = -1;
  std::uint32_t number_ = 0;
  ck_kernel_counter handle_ = {};
};
