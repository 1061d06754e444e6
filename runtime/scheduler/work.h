// A line: what a scheduler's queue holds, one cache line. It is the same in a ring between PEs, in a PE's own queue
// and, as far as it is filled, on the wire: 16 bytes of head (`meta` and `element`) and the arguments.
//
// Most messages of a Charm++ program are small and go to an object that exists: they are written into such a line
// whole and never become a Message. Everything else is a line that refers to one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/message/envelope.h"
#include "runtime/scheduler/inline_limit.h"

namespace periapt {

enum class WorkKind : std::uint8_t {
  call = 0,     // arguments inline: entry, collection, element and up to 48 bytes of arguments
  message = 1,  // pointer to an Envelope; ownership moves with it
  thread = 2,   // a user-level thread to resume (own PE only; between PEs it is a request of OneSided's)
  small = 3,    // a small message whole (between PEs only): becomes a Message again where it arrives
};

// Of a call's or a small message's meta.
constexpr std::uint16_t entry_of(std::uint64_t meta) { return static_cast<std::uint16_t>(meta >> 8); }

struct alignas(64) Work {
  // bits 0-1 WorkKind, 2-7 length of the arguments, 8-23 entry, 24-55 collection. 56 bits, so that a ring slot of
  // machine/host carries it beside its own 8 bits of state.
  std::uint64_t meta;
  std::uint64_t element;  // call: the element; message, thread: the pointer
  // Of a message or a thread they are whatever was there, an older call's: to be copied along, never looked at.
  alignas(16) std::byte arguments[inline_arguments_max];

  WorkKind kind() const { return static_cast<WorkKind>(meta & 3); }
  unsigned length() const { return (meta >> 2) & 63; }
  std::uint16_t entry() const { return entry_of(meta); }
  std::uint32_t collection() const { return static_cast<std::uint32_t>(meta >> 24); }
  Envelope* message() const { return reinterpret_cast<Envelope*>(element); }
};
static_assert(sizeof(Work) == 64, "one cache line");
static_assert(inline_arguments_max < 64, "its length fits 6 bits");

constexpr std::uint64_t call_meta(std::uint16_t entry, std::uint32_t collection, unsigned length) {
  return static_cast<std::uint64_t>(WorkKind::call) | std::uint64_t{length} << 2 | std::uint64_t{entry} << 8 |
         std::uint64_t{collection} << 24;
}
// A small message in a line: what its envelope says beyond entry, collection and element, then its payload.
struct SmallMessage {
  std::int32_t reference;
  std::int32_t source;
  std::uint32_t extra;
  std::uint16_t message_type;
  Target target;
  std::uint8_t flags;
  static constexpr std::size_t payload_max = inline_arguments_max - 16;
  alignas(16) std::byte payload[payload_max];
};
static_assert(sizeof(SmallMessage) == inline_arguments_max, "it fills the room for arguments");

// Bytes of a line behind `meta` that its receiver needs, when it holds a call or a small message.
constexpr std::size_t body_bytes(std::uint64_t meta) {
  const bool small = (meta & 3) == static_cast<std::uint64_t>(WorkKind::small);
  return sizeof(std::uint64_t) + (small ? inline_arguments_max - SmallMessage::payload_max : 0) + (meta >> 2 & 63);
}

constexpr std::uint64_t small_meta(std::uint16_t entry, std::uint32_t collection, unsigned length) {
  return static_cast<std::uint64_t>(WorkKind::small) | std::uint64_t{length} << 2 | std::uint64_t{entry} << 8 |
         std::uint64_t{collection} << 24;
}
static_assert(body_bytes(call_meta(0, 0, 8)) == 16,
              "a call of 8 bytes goes over a network as 24, and what the engine adds");
constexpr std::uint64_t message_meta = static_cast<std::uint64_t>(WorkKind::message);
constexpr std::uint64_t thread_meta = static_cast<std::uint64_t>(WorkKind::thread);

}  // namespace periapt
