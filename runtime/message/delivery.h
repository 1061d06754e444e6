// A call on its way from the queue into the function that it is for. C++17: reached from charm++.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/message/message.h"

namespace periapt {

// What is called, on what, and with which arguments. These lie in `message` if there is one; else they lie inline, in
// the scheduler's own line, and last only as long as the call: to_message() (runtime/objects/pe_objects.h) makes a
// message of a call that has to wait.
struct Delivery {
  std::uint16_t entry = 0;       // index into the entry table
  Target target = Target::none;  // what `collection` and `element` mean: see there
  bool exclusive = false;        // the node group is left when the entry has ended
  std::uint32_t collection = 0;
  std::uint64_t element = 0;
  void* object = nullptr;     // the receiver, as the entry's function gets it; null before it is found
  std::uint64_t owner = 0;    // key of the ThreadOwner of a thread that runs the entry; 0: an object that stays
  void* arguments = nullptr;  // the payload, where there is a message
  std::size_t length = 0;     // bytes of arguments
  Message message;            // owns the arguments; may be shared with other receivers. Empty: inline, or borrowed

  Delivery() = default;
  explicit Delivery(Message&& owned) : Delivery(view(owned)) { message = std::move(owned); }
  Delivery(std::uint16_t entry, Target target, std::uint32_t collection, std::uint64_t element, void* arguments,
           std::size_t length)
      : entry(entry), target(target), collection(collection), element(element), arguments(arguments), length(length) {}

  // Of a message whose owner is another.
  static Delivery view(const Message& message) {
    return Delivery(message->entry, message->target, message->collection, message->element, message.payload(),
                    static_cast<std::size_t>(message->size));
  }

  const char* end() const { return static_cast<const char*>(arguments) + length; }

  // What was given to send_runtime(), or what the arguments begin with.
  template <class T>
  T read() const {
    static_assert(std::is_trivially_copyable<T>::value);
    T value;
    std::memcpy(static_cast<void*>(&value), arguments, sizeof value);
    return value;
  }
};

}  // namespace periapt
