// Marshalling of nocopydevice arrays (device_buffer.h). The layout is that of zero_copy_marshal.h; behind the arguments
// stands a DeviceSource for each array, or, for a collection, its elements. C++17: reached from charm++.h.
#pragma once
#include <cstddef>
#include <functional>
#include <type_traits>

#include "runtime/api/device_buffer.h"
#include "runtime/api/zero_copy_marshal.h"

namespace periapt {

// One array to be sent.
template <class T>
struct DeviceToSend {
  static_assert(std::is_trivially_copyable<T>::value, "only arrays of plain bytes can be sent without a copy");
  const CkDeviceBuffer& buffer;
  std::size_t count;
  std::size_t bytes() const { return count * sizeof(T); }
};
template <class T, class N>
DeviceToSend<T> deviceArg(const CkDeviceBuffer& buffer, N count) {
  return {buffer, static_cast<std::size_t>(count)};
}

namespace zero_copy {

template <class T>
struct is_device : std::false_type {};
template <class T>
struct is_device<DeviceToSend<T>> : std::true_type {};

// Where the elements are.
struct DeviceSource {
  CkNcpyBuffer buffer;
  CkCallback cb;
  DeviceDescription description;
};

// An array of a call that is to be sent, and where in the message its place is.
struct DeviceArray {
  CkDeviceBuffer buffer;
  std::size_t bytes;
  std::size_t offset;
};
// Sends the call when its arrays may be read: `send` does. `where`: what has to stand behind the arguments by then.
// `to`: as receiver_pe() says. Takes the arrays, `count` of them.
void send_when_reached(void* message, const DeviceArray* arrays, std::size_t count, Where where, int to,
                       std::function<void()> send);

class DeviceSizer : public Sizer {
 public:
  using Sizer::operator();
  using Sizer::Sizer;
  template <class T>
  void operator()(const DeviceToSend<T>& a) {
    add_elements(a.bytes());
  }
};

class DeviceWriter : public Writer {
 public:
  DeviceWriter(void* to, std::size_t arrays, std::size_t tail, Where where, DeviceArray* list)
      : Writer(to, arrays, tail, where), list_(list) {}
  using Writer::operator();
  template <class T>
  void operator()(const DeviceToSend<T>& a) {
    *list_++ = {a.buffer, a.bytes(), add_record(a.count, a.bytes(), sizeof(DeviceSource))};
  }

 private:
  DeviceArray* list_;
};

}  // namespace zero_copy

template <class T, class N>
void assigned(CkNcpyBufferPost& post, T* buffer, N count, const CkDeviceBufferPost& device) {
  assigned(post, buffer, count);
  post.stream = device.cuda_stream.native();
  post.layout = device.layout;
}

}  // namespace periapt
