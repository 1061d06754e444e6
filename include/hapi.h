// HAPI: callbacks when a CUDA stream gets somewhere, and CUDA's calls with their errors checked, as Charm++ programs
// that use GPUs have them. Needs the CUDA toolkit's header and its runtime library (-lcudart), which the program links;
// the rest of Periapt needs neither. docs/gpu.md.
#pragma once
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "charm++.h"

// Ends the run with what CUDA says, where it does not say cudaSuccess.
#ifdef HAPI_CHECK_OFF
#define hapiCheck(code) code
#else
#define hapiCheck(code) hapiErrorDie(code, #code, __FILE__, __LINE__)
#endif

inline void hapiErrorDie(cudaError_t code, const char* call, const char* file, int line) {
  if (code != cudaSuccess) CkAbort("%s:%d: %s: %s", file, line, call, cudaGetErrorString(code));
}

// The callback is sent from this PE, with the message, when the stream has done what it has been given so far. Until
// then the run is not quiescent.
inline void hapiAddCallback(cudaStream_t stream, const CkCallback& cb, void* message = nullptr) {
  periapt::send_when_reached(stream, cb, message);
}
inline void hapiAddCallback(cudaStream_t stream, void* cb, void* message = nullptr) {
  hapiAddCallback(stream, *static_cast<CkCallback*>(cb), message);
}
inline void hapiAddCallback(cudaStream_t stream, CkCallback* cb, void* message = nullptr) {
  hapiAddCallback(stream, *cb, message);
}

namespace periapt::hapi {

// Streams of the calling thread's GPU; they are handed out in turn.
struct Streams {
  std::vector<cudaStream_t> all;
  std::size_t next = 0;
  static Streams& of_thread() {
    static thread_local Streams streams;
    return streams;
  }
};

// Pinned memory that has been given back, by powers of two, for those that ask next. Of the thread.
class Pool {
 public:
  static Pool& of_thread() {
    static thread_local Pool pool;
    return pool;
  }
  cudaError_t take(void** memory, std::size_t bytes) {
    const std::size_t power = power_of(bytes + head);
    std::vector<char*>& kept = kept_[power];
    char* block = nullptr;
    if (!kept.empty()) {
      block = kept.back();
      kept.pop_back();
    } else if (cudaError_t error = cudaMallocHost(reinterpret_cast<void**>(&block), std::size_t{1} << power)) {
      return error;
    }
    std::memcpy(block, &power, sizeof power);
    *memory = block + head;
    return cudaSuccess;
  }
  cudaError_t give(void* memory) {
    if (memory == nullptr) return cudaSuccess;
    char* const block = static_cast<char*>(memory) - head;
    std::size_t power = 0;
    std::memcpy(&power, block, sizeof power);
    kept_[power].push_back(block);
    return cudaSuccess;
  }

 private:
  static constexpr std::size_t head = 64;  // what lies before the memory that is handed out keeps it aligned
  static std::size_t power_of(std::size_t bytes) {
    std::size_t power = 8;
    while (std::size_t{1} << power < bytes) ++power;
    return power;
  }
  std::vector<char*> kept_[64];
};

}  // namespace periapt::hapi

// How many streams this PE's thread has now.
inline int hapiCreateStreams() {
  std::vector<cudaStream_t>& all = periapt::hapi::Streams::of_thread().all;
  while (all.size() < 32) {
    cudaStream_t stream;
    hapiCheck(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    all.push_back(stream);
  }
  return static_cast<int>(all.size());
}
inline cudaStream_t hapiGetStream() {
  auto& streams = periapt::hapi::Streams::of_thread();
  if (streams.all.empty()) hapiCreateStreams();
  return streams.all[streams.next++ % streams.all.size()];
}

inline cudaError_t hapiMalloc(void** memory, std::size_t bytes) { return cudaMalloc(memory, bytes); }
inline cudaError_t hapiFree(void* memory) { return cudaFree(memory); }
inline cudaError_t hapiMallocHost(void** memory, std::size_t bytes) { return cudaMallocHost(memory, bytes); }
inline cudaError_t hapiFreeHost(void* memory) { return cudaFreeHost(memory); }
inline cudaError_t hapiMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t stream = nullptr) {
  return cudaMemcpyAsync(to, from, bytes, kind, stream);
}
// Pinned memory, kept when it is given back. By the same PE.
inline cudaError_t hapiPoolMalloc(void** memory, std::size_t bytes) {
  return periapt::hapi::Pool::of_thread().take(memory, bytes);
}
inline cudaError_t hapiPoolFree(void* memory) { return periapt::hapi::Pool::of_thread().give(memory); }
inline cudaError_t hapiMallocHost(void** memory, std::size_t bytes, bool pool) {
  return pool ? hapiPoolMalloc(memory, bytes) : hapiMallocHost(memory, bytes);
}
inline cudaError_t hapiFreeHost(void* memory, bool pool) { return pool ? hapiPoolFree(memory) : hapiFreeHost(memory); }

// ---- work requests: memory of the host that is copied to the GPU, a kernel, memory that is copied back. Charm++ calls
// them deprecated.

struct hapiBufferInfo {
  int id = -1;  // among the pointers that runKernel is given; -1: the next one
  bool transfer_to_device = false, transfer_to_host = false;
  bool need_free = false;  // the GPU's memory, when all is done
  void* host_buffer = nullptr;
  std::size_t size = 0;  // bytes

  explicit hapiBufferInfo(int id = -1) : id(id) {}
  hapiBufferInfo(void* host, std::size_t bytes, bool to_device, bool to_host, bool free, int id = -1)
      : id(id),
        transfer_to_device(to_device),
        transfer_to_host(to_host),
        need_free(free),
        host_buffer(host),
        size(bytes) {}
};

struct hapiWorkRequest {
  dim3 grid_dim = 0, block_dim = 0;
  int shared_mem = 0;
  std::vector<hapiBufferInfo> buffers;
  CkCallback host_to_device_cb, kernel_cb, device_to_host_cb;
  bool host_to_device_cb_set = false, kernel_cb_set = false, device_to_host_cb_set = false;
  // Starts the kernel.
  void (*runKernel)(hapiWorkRequest* request, cudaStream_t stream, void** device_buffers) = nullptr;
  void* user_data = nullptr;
  bool free_user_data = false;
  cudaStream_t stream = nullptr;

  hapiWorkRequest() = default;
  hapiWorkRequest(const hapiWorkRequest&) = delete;
  ~hapiWorkRequest() {
    if (free_user_data) std::free(user_data);
  }
  void setExecParams(dim3 grid, dim3 block, int shared = 0) {
    grid_dim = grid;
    block_dim = block;
    shared_mem = shared;
  }
  void addBuffer(void* host, std::size_t bytes, bool to_device, bool to_host, bool free, int id = -1) {
    buffers.emplace_back(host, bytes, to_device, to_host, free, id);
  }
  int getBufferID(int i) const { return buffers[static_cast<std::size_t>(i)].id; }
  int getBufferCount() const { return static_cast<int>(buffers.size()); }
  void setHostToDeviceCallback(const CkCallback& cb) {
    host_to_device_cb = cb;
    host_to_device_cb_set = true;
  }
  void setKernelCallback(const CkCallback& cb) {
    kernel_cb = cb;
    kernel_cb_set = true;
  }
  void setDeviceToHostCallback(const CkCallback& cb) {
    device_to_host_cb = cb;
    device_to_host_cb_set = true;
  }
  void setCallback(const CkCallback& cb) { setDeviceToHostCallback(cb); }
  void setRunKernel(void (*run)(hapiWorkRequest*, cudaStream_t, void**)) { runKernel = run; }
  void setStream(cudaStream_t to) { stream = to; }
  cudaStream_t getStream() const { return stream; }
  void copyUserData(void* data, std::size_t bytes) {
    user_data = std::malloc(bytes);
    std::memcpy(user_data, data, bytes);
    free_user_data = true;
  }
  void setUserData(void* data, bool free = false) {
    user_data = data;
    free_user_data = free;
  }
  void* getUserData() const { return user_data; }
};

inline hapiWorkRequest* hapiCreateWorkRequest() { return new hapiWorkRequest; }
inline void hapiWorkRequestSetCallback(hapiWorkRequest* request, void* cb) {
  request->setCallback(*static_cast<CkCallback*>(cb));
}

// Gives all of it to the request's stream, or one of the runtime's. The request is deleted when it is done.
inline void hapiEnqueue(hapiWorkRequest* request) {
  if (request->stream == nullptr) request->stream = hapiGetStream();
  const cudaStream_t stream = request->stream;
  const CkGpuTimer timer(stream);  // its work is that of the element that has made it
  std::size_t slots = request->buffers.size();
  for (const hapiBufferInfo& buffer : request->buffers)
    if (buffer.id >= static_cast<int>(slots)) slots = static_cast<std::size_t>(buffer.id) + 1;
  auto* const device = new std::vector<void*>(slots, nullptr);
  std::size_t next = 0;
  for (hapiBufferInfo& buffer : request->buffers) {
    if (buffer.id < 0) {
      while ((*device)[next] != nullptr) ++next;
      buffer.id = static_cast<int>(next);
    }
    void*& memory = (*device)[static_cast<std::size_t>(buffer.id)];
    hapiCheck(cudaMallocAsync(&memory, buffer.size, stream));
    if (buffer.transfer_to_device)
      hapiCheck(cudaMemcpyAsync(memory, buffer.host_buffer, buffer.size, cudaMemcpyHostToDevice, stream));
  }
  if (request->host_to_device_cb_set) hapiAddCallback(stream, request->host_to_device_cb);
  if (request->runKernel != nullptr) request->runKernel(request, stream, device->data());
  if (request->kernel_cb_set) hapiAddCallback(stream, request->kernel_cb);
  for (const hapiBufferInfo& buffer : request->buffers) {
    void* const memory = (*device)[static_cast<std::size_t>(buffer.id)];
    if (buffer.transfer_to_host)
      hapiCheck(cudaMemcpyAsync(buffer.host_buffer, memory, buffer.size, cudaMemcpyDeviceToHost, stream));
    if (buffer.need_free) hapiCheck(cudaFreeAsync(memory, stream));
  }
  if (request->device_to_host_cb_set) hapiAddCallback(stream, request->device_to_host_cb);
  struct Done {
    hapiWorkRequest* request;
    std::vector<void*>* device;
  };
  hapiAddCallback(stream, CkCallback(
                              [](void* param, void*) {
                                auto* const done = static_cast<Done*>(param);
                                delete done->request;
                                delete done->device;
                                delete done;
                              },
                              new Done{request, device}));
}
