// Conditional fields of messages: `message M { conditional Grid grid; };` in the .ci file, `Grid* grid;` in the class,
// null or an object of a class derived from CkConditional, which goes wherever the message goes. C++17: reached from
// charm++.h.
#pragma once
#include <cstring>
#include <type_traits>

#include "runtime/pup/pup.h"
#include "runtime/registry/messages.h"

// What conditional fields point to: counts its holders. A message gives up its share when it is deleted, or packed;
// a program that keeps the object too takes a share of its own with copyreference(), and ends it with deallocate().
class CkConditional {
  int shares_ = 1;

 public:
  CkConditional() = default;
  CkConditional(const CkConditional&) {}
  CkConditional& operator=(const CkConditional&) { return *this; }
  virtual ~CkConditional() = default;
  void copyreference() { ++shares_; }
  void deallocate() {
    if (--shares_ == 0) delete this;
  }
};

namespace periapt {

template <class T>
void dropConditional(T*& object) {
  static_assert(std::is_base_of<CkConditional, T>::value,
                "a conditional field of a message points to a class derived from CkConditional");
  if (object) object->deallocate();
  object = nullptr;
}

// A message with what its fields point to behind it: they say where, as distances from the message. 0 is none.
template <class Msg, class... T>
void* packConditional(Msg* message, T* Msg::*... fields) {
  const std::size_t own = CkGetMsgSize(message);
  PUP::detail::counter size;
  (static_cast<void>(message->*fields ? (size | *(message->*fields), 0) : 0), ...);
  auto* packed = static_cast<Msg*>(CkAllocBuffer(message, static_cast<int>(own + size.size())));
  std::memcpy(static_cast<void*>(packed), message, own);
  PUP::detail::writer p(reinterpret_cast<char*>(packed) + own, size.size());
  const auto put = [&](auto field) {
    if (!(message->*field)) return;
    packed->*field = reinterpret_cast<std::remove_reference_t<decltype(packed->*field)>>(own + p.size());
    p | *(message->*field);
    dropConditional(message->*field);
  };
  (put(fields), ...);
  CkFreeMsg(message);
  return packed;
}

template <class Msg, class... T>
void unpackConditional(Msg* message, T* Msg::*... fields) {
  std::size_t own = 0;
  const auto take = [&](auto field) {
    const auto at = reinterpret_cast<std::size_t>(message->*field);
    if (at == 0) return;
    if (own == 0) own = at;
    PUP::detail::reader p(reinterpret_cast<char*>(message) + at, CkGetMsgSize(message) - at);
    message->*field = new std::remove_pointer_t<std::remove_reference_t<decltype(message->*field)>>;
    p | *(message->*field);
  };
  (take(fields), ...);
  if (own != 0) cut_message(message, own);
}

}  // namespace periapt
