// The engine's header in front of each message, as it goes over the wire: 40 bytes, little-endian, one layout for all
// kinds. What a field means for a kind is said at the kind. Everything here comes from outside when it is read: nothing
// may be used before it was checked (receive.cpp does that for each kind).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "machine/ucx-like/transport.h"

namespace periapt::ucx {

/// Changes whenever a header or the order of a protocol changes: workers of different versions refuse each other.
inline constexpr std::uint8_t kWireVersion = 1;

/// "them" is who gets the message, "us" who sends it.
enum class Kind : std::uint8_t {
  // Ordered, paid for with credit.
  eager,            ///< tag, size; payload: the message. id: 0, or what `acknowledge` shall name (a synchronous send)
  announce,         ///< tag, size; id: our operation; offset: our address; payload: keys to it (may be none)
  active,           ///< code: handler; size: of the user's header, which the payload begins with
  active_announce,  ///< as announce; code: handler; tag: bytes of user's header, which the payload begins with
  // Answers and data, which somebody waits for: not held back by credit.
  clear,        ///< id: their operation; tag: ours; offset: our address; payload: keys to it (may be none): send now
  data,         ///< id: their operation; offset: in it; payload
  fetched,      ///< id: their operation: we have all of it, or don't want it
  stored,       ///< id: their operation: we have put all of it
  acknowledge,  ///< id: their operation: matched
  credit,       ///< size: how large the window is from now on
  starved,      ///< we have messages for which there is no credit
  // One-sided operations, where the transport has none.
  put,      ///< tag: their memory; offset: address in it; payload
  get,      ///< tag: their memory; offset: address in it; size; id: our operation
  atomic,   ///< tag: their memory; offset: address; code: operation and width; id: ours; payload: operand, compare
  got,      ///< id: their operation; offset: in it; payload
  value,    ///< id: their operation; tag: the value before
  refused,  ///< id: their operation: no such memory, or outside of it; 0: a put, which the next flush tells
  flush,    ///< id: our operation: answer `flushed` when all before it is done
  flushed,  ///< id: their operation
  // The life of a connection.
  bye,   ///< we part; nothing follows
};
inline constexpr Kind kLastKind = Kind::bye;

struct MessageHeader {
  std::uint8_t version = kWireVersion;
  Kind kind = Kind::bye;
  std::uint16_t code = 0;
  std::uint32_t credit = 0;  ///< bytes of ours that they have taken: may be sent again
  std::uint64_t tag = 0;
  std::uint64_t size = 0;
  std::uint64_t id = 0;
  std::uint64_t offset = 0;
};
static_assert(sizeof(MessageHeader) == kHeaderBytes);
static_assert(offsetof(MessageHeader, credit) == 4 && offsetof(MessageHeader, tag) == 8);
static_assert(offsetof(MessageHeader, size) == 16 && offsetof(MessageHeader, id) == 24);
static_assert(offsetof(MessageHeader, offset) == 32);
static_assert(std::is_trivially_copyable_v<MessageHeader>);

inline Header bytes_of(const MessageHeader& header) {
  return {reinterpret_cast<const std::byte*>(&header), sizeof(header)};
}

/// What is wrong with a header that came in; nullptr: nothing, and `header` holds it.
inline const char* read_header(Header bytes, MessageHeader& header) {
  if (bytes.size() != sizeof(header)) return "a message with a header of another length";
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.version != kWireVersion) return "a message of another version of the protocol";
  if (header.kind > kLastKind) return "a message of a kind that does not exist";
  return nullptr;
}

}  // namespace periapt::ucx
