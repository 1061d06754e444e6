// The kernel of kernel_sends.cpp, which a GPU runs (kernel_sends.cu), or threads of the host.
#pragma once
#include "machine/gpu/device_send.h"

/// What a thread sends.
struct SentByKernel {
  unsigned port, thread, number;
  unsigned rest[7];  // of the number
};

struct KernelOrders {
  ck_kernel_port port;
  ck_kernel_counter counter;  // each thread raises it by one when it has sent all
  unsigned port_number, threads, messages;
};

/// Begins it on the GPU, and does not wait. Null: all is well; else what CUDA says.
const char* start_on_gpu(int gpu, const KernelOrders& orders);

/// `send`: ck_device_send_waiting(), on the host with other threads' turns between its tries.
template <class Send>
CK_DEVICE_FUNCTION void send_all(KernelOrders orders, unsigned thread, Send send) {
  unsigned i, k;
  for (i = 0; i < orders.messages; ++i) {
    SentByKernel sent = {orders.port_number, thread, i, {}};
    for (k = 0; k < 7; ++k) sent.rest[k] = i * 7 + k;
    // Of two lengths: the second has but the first words.
    send(orders.port, &sent, i % 2 == 0 ? sizeof(sent) : 3 * sizeof(unsigned));
  }
  ck_device_signal(orders.counter, 1);
}
