// Messages for entries of the runtime: a header with what the entry has to know, and behind it, where the call is about
// a program's message, that one whole.
#pragma once
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/bits.h"
#include "runtime/message/delivery.h"
#include "runtime/registry/registry.h"
#include "runtime/scheduler/pe.h"

namespace periapt {

// Says for what a message is: the envelope's part of a send.
void address(Message& message, Target target, int entry, std::uint32_t collection, std::uint64_t element);
// Addresses a message to an entry of the runtime.
Message runtime_message(Message message, int entry, std::uint32_t collection, std::uint64_t element = 0);
// One whose payload is these parts, one right behind the other.
inline Message runtime_message(std::initializer_list<std::string_view> parts, int entry, std::uint32_t collection,
                               std::uint64_t element = 0) {
  std::size_t size = 0;
  for (std::string_view part : parts) size += part.size();
  Message message = Message::make(size);
  char* to = static_cast<char*>(message.payload());
  for (std::string_view part : parts) to = std::copy(part.begin(), part.end(), to);
  return runtime_message(std::move(message), entry, collection, element);
}
// A value as such a part; it is read as bytes there.
template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Parts of a payload lie one behind the other, each from a multiple of 16 bytes on.
constexpr std::size_t part_bytes(std::size_t bytes) { return round_up(bytes, 16); }

// A message with the arguments of an inline call.
Message message_of_call(Target target, int ep, std::uint32_t collection, std::uint64_t element, const void* arguments,
                        std::size_t length);
// The message of a call, its own or one with its arguments.
Message to_message(Delivery& call);
// The same of a call that has been delivered and has to wait: it will be once more.
Message keep(Pe& pe, Delivery& call);

// A program's message on its way to a runtime entry, also of another host, where its address would mean nothing:
// `element` says what it is for. The entry gets it back as the program knew it.
void send_whole(Pe& pe, int to, int entry, std::uint64_t element, Message message);
Message received_whole(Delivery& call);
// Whether quiescence waits for calls of an entry of the runtime.
inline Pe::Counting counting(int entry) {
  return entry_info(entry).flags & ep_uncounted ? Pe::Counting::no : Pe::Counting::yes;
}
// Sends a call to an entry of the runtime.
template <class T>
void send_runtime(Pe& pe, int to, int entry, std::uint32_t collection, std::uint64_t element, const T& arguments) {
  static_assert(sizeof(T) <= inline_arguments_max && std::is_trivially_copyable_v<T>);
  alignas(16) char bytes[inline_arguments_max];
  std::memcpy(bytes, &arguments, sizeof(T));
  pe.send_call(to, call_meta(entry, collection, sizeof(T)), element, bytes, counting(entry));
}

namespace enclosing {
// An empty message waits for no groups; one around another waits for those that the inner one waits for.
Message wrap(const void* header, std::size_t bytes, Message inner);
// What lies `at` bytes behind the beginning of the call's message; empty when nothing does.
Message unwrap(Delivery& call, std::size_t at);
}  // namespace enclosing

// A message with a header and `inner`, which may be empty.
template <class Header>
Message wrap(const Header& header, Message inner) {
  static_assert(std::is_trivially_copyable_v<Header>);
  return enclosing::wrap(&header, sizeof header, std::move(inner));
}
// Both of what was wrapped. The inner message is still packed, if it was.
template <class Header>
Message unwrap(Delivery& call, Header& header) {
  header = call.read<Header>();
  return enclosing::unwrap(call, part_bytes(sizeof(Header)));
}

}  // namespace periapt
