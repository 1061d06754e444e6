// The kernel of kernel_sends.cpp, compiled by nvcc or hipcc.
#include "examples/gpu/runtime.h"
#include "tests/gpu/kernel_sends.h"

namespace {
struct Send {
  __device__ void operator()(ck_kernel_port port, const void* data, unsigned bytes) const {
    ck_device_send_waiting(port, data, bytes);
  }
};
__global__ void send_all_of_thread(KernelOrders orders) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread < orders.threads) send_all(orders, thread, Send());
}
}  // namespace

const char* start_on_gpu(int gpu, const KernelOrders& orders) {
  GPU(Error_t) error = GPU(SetDevice)(gpu);
  if (error == GPU(Success)) {
    send_all_of_thread<<<(orders.threads + 63) / 64, 64>>>(orders);
    error = GPU(GetLastError)();
  }
  return error == GPU(Success) ? nullptr : GPU(GetErrorString)(error);
}
