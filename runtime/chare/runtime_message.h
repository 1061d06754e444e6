// Messages for entries of the runtime: a header with what the entry has to know, and behind it, where the call is about
// a program's message, that one whole.
#pragma once
#include <cstring>
#include <type_traits>

#include "base/bits.h"
#include "runtime/chare/invoke.h"
#include "runtime/message/message.h"

namespace periapt {

// Says for what a message is: the envelope's part of a send.
void address(Message& message, Target target, int entry, std::uint32_t collection, std::uint64_t element);
// Addresses a message to an entry of the runtime.
Message runtime_message(Message message, int entry, std::uint32_t collection, std::uint64_t element = 0);

// Parts of a payload lie one behind the other, each from a multiple of 16 bytes on.
constexpr std::size_t part_bytes(std::size_t bytes) { return round_up(bytes, 16); }

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
