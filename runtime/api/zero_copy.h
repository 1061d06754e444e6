// The zero-copy API: buffers whose bytes go straight from where they lie to where they are wanted. C++17: reached from
// charm++.h.
//
// A CkNcpyBuffer describes some memory of the PE that made it and travels by value. `destination.get(source)` and
// `source.put(destination)` move the bytes; the callbacks of both are sent when that is done, each with a CkDataMsg
// that holds a copy of its buffer. How the bytes go: machine/layer/one_sided.h.
//
// Arrays that a .ci file declares nocopy are sent as CkSendBuffer(pointer): one receiver fetches them into its message;
// a collection gets them copied into the message that all share. Those declared nocopypost go on to buffers that the
// receiver posts: its post entry method names a tag for each (CkMatchBuffer), and CkPostBuffer() gives the tag a
// buffer, before or after that.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "machine/layer/memory_key.h"
#include "runtime/api/callback.h"
#include "runtime/api/device_layout.h"

// When the memory is made known to the machine, so that other processes can reach it.
constexpr unsigned short CK_BUFFER_UNREG = 0;   // when it is needed: costs a message then
constexpr unsigned short CK_BUFFER_REG = 1;     // at once
constexpr unsigned short CK_BUFFER_PREREG = 2;  // at once; it comes from CkRdmaAlloc()
constexpr unsigned short CK_BUFFER_NOREG = 3;   // never: the buffer can only be looked at
// Whether that ends with the transfer, or by deregisterMem().
constexpr unsigned short CK_BUFFER_DEREG = 0;
constexpr unsigned short CK_BUFFER_NODEREG = 1;

enum class CkNcpyStatus { incomplete, complete };

// Message memory, which the processes of a host share: others of the host copy straight from and to it. Null-free: a
// lack of memory ends the run.
void* CkRdmaAlloc(std::size_t bytes);
void CkRdmaFree(void* memory);

class CkNcpyBuffer {
 public:
  CkNcpyBuffer() = default;
  CkNcpyBuffer(const void* ptr, std::size_t cnt, unsigned short regMode = CK_BUFFER_REG,
               unsigned short deregMode = CK_BUFFER_DEREG)
      : CkNcpyBuffer(ptr, cnt, CkCallback(CkCallback::ignore), regMode, deregMode) {}
  CkNcpyBuffer(const void* ptr, std::size_t cnt, const CkCallback& cb, unsigned short regMode = CK_BUFFER_REG,
               unsigned short deregMode = CK_BUFFER_DEREG) {
    init(ptr, cnt, cb, regMode, deregMode);
  }
  // (An enumerator would rather be a number than a callback.)
  CkNcpyBuffer(const void* ptr, std::size_t cnt, CkCallback::callbackType cb, unsigned short regMode = CK_BUFFER_REG,
               unsigned short deregMode = CK_BUFFER_DEREG)
      : CkNcpyBuffer(ptr, cnt, CkCallback(cb), regMode, deregMode) {}

  // As if it were made anew. What was registered before stays so: deregisterMem() comes first.
  void init(const void* ptr, std::size_t cnt, const CkCallback& cb, unsigned short regMode = CK_BUFFER_UNREG,
            unsigned short deregMode = CK_BUFFER_DEREG);
  void init(const void* ptr, std::size_t cnt, unsigned short regMode = CK_BUFFER_UNREG,
            unsigned short deregMode = CK_BUFFER_DEREG) {
    init(ptr, cnt, CkCallback(CkCallback::ignore), regMode, deregMode);
  }
  void setRef(const void* reference) { ref = reference; }
  const void* getRef() const { return ref; }
  // For one that was made with CK_BUFFER_NOREG: from here on it can be transferred.
  void setMode(unsigned short mode) { regMode = mode; }

  // On a PE of the process that the memory belongs to; anywhere else nothing happens.
  void registerMem();
  void deregisterMem();

  // `complete`: the bytes are there already. The callbacks are sent in any case, later.
  CkNcpyStatus get(const CkNcpyBuffer& source);
  CkNcpyStatus put(const CkNcpyBuffer& destination);

  void pup(PUP::er& p);
  // A line about it, on the program's output.
  void print() const;

  // (Of what CkSendBuffer() returns, the size is not known before it is an argument.)
  static CkNcpyBuffer to_send(const void* ptr, const CkCallback& cb, unsigned short regMode, unsigned short deregMode);

  void* ptr = nullptr;
  std::size_t cnt = 0;  // bytes
  const void* ref = nullptr;
  CkCallback cb;
  int pe = -1;  // that made it
  unsigned short regMode = CK_BUFFER_UNREG;
  unsigned short deregMode = CK_BUFFER_DEREG;

 private:
  friend struct NcpyAccess;
  periapt::machine::MemoryKey key_ = {};
};
static_assert(std::is_trivially_copyable<CkNcpyBuffer>::value, "a copy lies in the message that a callback gets");

inline CkNcpyBuffer CkSendBuffer(const void* ptr, const CkCallback& cb, unsigned short regMode = CK_BUFFER_REG,
                                 unsigned short deregMode = CK_BUFFER_DEREG) {
  return CkNcpyBuffer::to_send(ptr, cb, regMode, deregMode);
}
inline CkNcpyBuffer CkSendBuffer(const void* ptr, CkCallback::callbackType cb, unsigned short regMode = CK_BUFFER_REG,
                                 unsigned short deregMode = CK_BUFFER_DEREG) {
  return CkNcpyBuffer::to_send(ptr, CkCallback(cb), regMode, deregMode);
}
inline CkNcpyBuffer CkSendBuffer(const void* ptr, unsigned short regMode = CK_BUFFER_REG,
                                 unsigned short deregMode = CK_BUFFER_DEREG) {
  return CkNcpyBuffer::to_send(ptr, CkCallback(CkCallback::ignore), regMode, deregMode);
}

namespace periapt::zero_copy {
class PostedCall;
void post_buffer(void* buffer, std::size_t bytes, int tag, bool of_node);
}  // namespace periapt::zero_copy

// What a post entry method is given for each nocopypost parameter.
struct CkNcpyBufferPost {
  unsigned short regMode = CK_BUFFER_REG;
  unsigned short deregMode = CK_BUFFER_DEREG;
  // The runtime's.
  periapt::zero_copy::PostedCall* call = nullptr;
  void* assigned = nullptr;  // by a post entry method that sets the pointer itself
  void* stream = nullptr;    // of a nocopydevice array: what works on that memory
  CkDeviceLayout layout;     // and where in that memory the elements are to go
  std::size_t assigned_bytes = 0;
};

// In a post entry method: array `index` of those that are nocopypost goes where `tag` says. Tags are of a PE; those of
// the second function of a process. A tag is free again as soon as it has been both matched and posted.
void CkMatchBuffer(CkNcpyBufferPost* post, int index, int tag);
void CkMatchNodeBuffer(CkNcpyBufferPost* post, int index, int tag);
// Of the array, as much is received as fits.
template <class T>
void CkPostBuffer(T* buffer, std::size_t count, int tag) {
  periapt::zero_copy::post_buffer(buffer, count * sizeof(T), tag, false);
}
template <class T>
void CkPostNodeBuffer(T* buffer, std::size_t count, int tag) {
  periapt::zero_copy::post_buffer(buffer, count * sizeof(T), tag, true);
}
