// Memory of GPUs in programs: arrays that a .ci file declares nocopydevice, and buffers that are read and written by
// hand. C++17, and no vendor's toolkit: reached from charm++.h.
//
// An array in the memory of a GPU is sent as CkDeviceBuffer(pointer): its call leaves when the stream has done what it
// has been given so far. Where it arrives, the post entry method sets the pointer to where the elements are to go, and
// may name a stream too: nothing is written there before that stream has done what it has been given. The entry runs,
// and the sender's callback is sent, when the elements are there. Either memory may be of any kind, the host's too; a
// stream belongs to the GPU of the memory that it is named with. Elements that do not lie in one piece:
// device_layout.h.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/api/callback.h"
#include "runtime/api/device_layout.h"
#include "runtime/api/zero_copy.h"

struct CUstream_st;   // cudaStream_t points to it
struct ihipStream_t;  // hipStream_t does

namespace periapt {

// A stream of either vendor; the default one of the thread.
class DeviceStream {
 public:
  DeviceStream() : native_(reinterpret_cast<void*>(2)) {}  // the number that both vendors give it
  DeviceStream(CUstream_st* stream) : native_(stream) {}
  DeviceStream(ihipStream_t* stream) : native_(stream) {}
  operator CUstream_st*() const { return static_cast<CUstream_st*>(native_); }
  operator ihipStream_t*() const { return static_cast<ihipStream_t*>(native_); }
  void* native() const { return native_; }

 private:
  void* native_;
};

// The callback is sent from this PE, with the message, when a stream of CUDA's or HIP's has done what it has been given
// so far. Until then the run is not quiescent.
void send_when_reached(CUstream_st* stream, const CkCallback& cb, void* message);
void send_when_reached(ihipStream_t* stream, const CkCallback& cb, void* message);

// What the processes of a host map memory of a GPU by (OneSided::describe()).
struct DeviceDescription {
  std::uint16_t length = 0;
  std::uint8_t bytes[206] = {};
};

}  // namespace periapt

// What the sender hands over for a nocopydevice parameter.
class CkDeviceBuffer {
 public:
  CkDeviceBuffer() = default;
  explicit CkDeviceBuffer(const void* ptr, periapt::DeviceStream stream = {}) : ptr(ptr), cuda_stream(stream) {}
  explicit CkDeviceBuffer(const void* ptr, const CkCallback& cb, periapt::DeviceStream stream = {})
      : ptr(ptr), cb(cb), cuda_stream(stream) {}
  explicit CkDeviceBuffer(const void* ptr, std::size_t cnt, periapt::DeviceStream stream = {})
      : ptr(ptr), cnt(cnt), cuda_stream(stream) {}
  explicit CkDeviceBuffer(const void* ptr, std::size_t cnt, const CkCallback& cb, periapt::DeviceStream stream = {})
      : ptr(ptr), cnt(cnt), cb(cb), cuda_stream(stream) {}
  explicit CkDeviceBuffer(const void* ptr, const CkDeviceLayout& layout, periapt::DeviceStream stream = {})
      : ptr(ptr), cuda_stream(stream), layout(layout) {}
  explicit CkDeviceBuffer(const void* ptr, const CkDeviceLayout& layout, const CkCallback& cb,
                          periapt::DeviceStream stream = {})
      : ptr(ptr), cb(cb), cuda_stream(stream), layout(layout) {}

  // Means something in the process of the memory only.
  void pup(PUP::er& p) {
    p(reinterpret_cast<char*>(&ptr), sizeof ptr);
    p | cnt;
    p | cb;
    layout.pup(p);
  }

  const void* ptr = nullptr;
  std::size_t cnt = 0;                             // bytes; of an argument, the .ci file says how many there are
  CkCallback cb = CkCallback(CkCallback::ignore);  // without a message, when the elements have been read
  periapt::DeviceStream cuda_stream;
  CkDeviceLayout layout;  // of an argument's elements: as many as the .ci file says
};

// What a post entry method is given for each nocopydevice parameter.
struct CkDeviceBufferPost {
  periapt::DeviceStream cuda_stream;
  // Where the elements are to go, from the pointer on: as many as were sent and as the parameter has, none of them
  // twice.
  CkDeviceLayout layout;
};

enum class CkDeviceStatus : char { incomplete, complete };

// A buffer that two objects tell each other of once and then read (get) and write (put) again and again. What is sent
// to the other one is a copy of it; it becomes invalid when its owner migrates, or frees the memory.
class CkDevicePersistent {
 public:
  CkDevicePersistent() = default;
  explicit CkDevicePersistent(const void* ptr, std::size_t cnt, periapt::DeviceStream stream = {})
      : CkDevicePersistent(ptr, cnt, CkCallback(CkCallback::ignore), stream) {}
  explicit CkDevicePersistent(const void* ptr, std::size_t cnt, const CkCallback& cb,
                              periapt::DeviceStream stream = {});

  // By the owner, before others are told of it: other processes then reach the memory without asking for it.
  void open();
  // By the owner: the copies that others have may not be used any more. Of such a copy: nothing to do.
  void close();
  // What the callback is sent with, on this PE; the callback is sent once then.
  void set_msg(void* msg) { cb_msg = msg; }

  // The callbacks of both are sent when the bytes are there: src.cnt of them, or cnt.
  CkDeviceStatus get(CkDevicePersistent& src);
  CkDeviceStatus put(CkDevicePersistent& dst);

  void pup(PUP::er& p);

  const void* ptr = nullptr;
  std::size_t cnt = 0;  // bytes
  CkCallback cb = CkCallback(CkCallback::ignore);
  void* cb_msg = nullptr;
  periapt::DeviceStream cuda_stream;  // of this PE
  int pe = -1;                        // of the owner

 private:
  CkDeviceStatus transfer(CkDevicePersistent& other, bool is_put);
  CkNcpyBuffer buffer_;
  periapt::DeviceDescription description_;
};
