// The kernels of kernel_messages.cpp (kernel_messages.cu).
#pragma once
#include "machine/gpu/device_send.h"

struct CUstream_st;

/// Sends number 1 to n, each when `reply`, in pinned memory, has come to the one before; raises the counter at the end.
/// `ns`: what that took, by the GPU's clock; pinned too. The first 100 are for warming up.
void start_pings(ck_kernel_port port, ck_kernel_counter counter, unsigned long long* reply, unsigned n,
                 unsigned long long* ns);
/// The same without a port: by a word in pinned memory that the host writes back.
void start_bare_pings(unsigned long long* word, unsigned long long* reply, unsigned n, unsigned long long* ns);
/// So many threads send so many messages each.
void start_flood(ck_kernel_port port, unsigned threads, unsigned messages, unsigned bytes);
/// Each thread raises it so often.
void start_signals(ck_kernel_counter counter, unsigned threads, unsigned times);
/// Nothing, on the stream.
void start_nothing(CUstream_st* stream);

CUstream_st* make_stream();
void* make_pinned(unsigned long bytes);
void finish(CUstream_st* stream);
const char* name_of_gpu();  // null: there is none
