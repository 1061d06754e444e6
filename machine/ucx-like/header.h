// The engine's header in front of each message, as it goes over the wire: 40 bytes, little-endian, one layout for all
// kinds. What a field means for a kind is said at the kind. Of an eager message without an answer, and of a short
// active one, only the first 16 bytes travel: its size is that of what arrives, and the rest would be zero. Everything
// here comes from outside when it is read: nothing may be used before it was checked (receive.cpp does that for each
// kind).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "machine/ucx-like/bytes.h"
#include "machine/ucx-like/credit.h"
#include "machine/ucx-like/transport.h"

namespace periapt::ucx {

/// Changes whenever a header or the order of a protocol changes: workers of different versions refuse each other.
inline constexpr std::uint8_t kWireVersion = 4;

/// "them" is the receiver of the message, "us" its sender.
enum class MessageKind : std::uint8_t {
  // Ordered, paid for with credit.
  eager,     ///< tag, size; payload: the message. id: 0, or what `acknowledge` shall name (a synchronous send)
  announce,  ///< tag, size; id: our operation; offset: our address; code: kOnDevice; payload: keys to it (may be none)
  active,    ///< code: handler; tag: bytes of user's header, in UserHeader, or, too long, before the payload
  active_announce,  ///< as announce; code: handler; tag: bytes of user's header, which the payload begins with
  active_short,     ///< tag: the user's header, whole
  // Answers and data, for which an operation waits: not held back by credit.
  clear,          ///< id: their operation; tag: ours; offset: our address; size: of a data message at most, 0: any;
                  ///< payload: keys to the address (may be none): send now
  data,           ///< id: their operation; offset: in it; payload
  fetched,        ///< id: their operation: we have all of it, or don't want it
  stored,         ///< id: their operation: we have put all of it
  acknowledge,    ///< id: their operation: matched
  credit,         ///< size: how large the window is from now on
  out_of_credit,  ///< we have messages for which there is no credit
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
  disconnect,  ///< the sender closes; nothing follows
};
inline constexpr MessageKind kLastKind = MessageKind::disconnect;

struct MessageHeader {
  std::uint8_t version = kWireVersion;
  MessageKind kind = MessageKind::disconnect;
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

/// A short header of a user's, in an `active` message: instead of the fields that such a message has no use for.
struct UserHeader {
  static constexpr std::size_t kAt = offsetof(MessageHeader, size), kMost = sizeof(MessageHeader) - kAt;
  static bool fits(std::uint64_t bytes) { return bytes <= kMost; }
  static std::byte* in(MessageHeader& header) { return reinterpret_cast<std::byte*>(&header) + kAt; }
  static const std::byte* in(const MessageHeader& header) { return reinterpret_cast<const std::byte*>(&header) + kAt; }
};

/// Of an active message whose header of the user's is short, with that in it.
inline MessageHeader active_header(std::uint16_t id, std::span<const std::byte> user_header) {
  MessageHeader header;
  header.kind = MessageKind::active;
  header.code = id;
  header.tag = user_header.size();
  if (UserHeader::fits(user_header.size())) copy_bytes(UserHeader::in(header), user_header.data(), user_header.size());
  return header;
}

/// Bit of MessageHeader::code of an eager message: it changed owner, so its bytes are not the receiver's memory.
inline constexpr std::uint16_t kHandedOver = 1;
/// Bit of MessageHeader::code of an announcement: the message is not in memory of the host, and among the keys there
/// may be what DeviceMemory::map() is given.
inline constexpr std::uint16_t kOnDevice = 1;
/// What a message that came, with so many bytes behind its header, has cost its sender.
inline std::int64_t charge_of(const MessageHeader& header, std::size_t payload) {
  bool handed_over = header.kind == MessageKind::eager && (header.code & kHandedOver) != 0;
  return kMessageOverhead + (handed_over ? 0 : static_cast<std::int64_t>(payload));
}

/// The header of an eager message without an answer, or of a short active one: the first bytes of a MessageHeader, in
/// two words.
struct ShortHeader {
  static constexpr std::uint32_t start(MessageKind kind) {
    return kWireVersion | static_cast<std::uint32_t>(kind) << 8;
  }

  std::uint64_t word = 0;  ///< version, kind, code (16 bits), credit (32 bits)
  std::uint64_t tag = 0;

  ShortHeader() = default;
  ShortHeader(MessageKind kind, std::uint32_t credit, std::uint64_t tag)
      : word(start(kind) | std::uint64_t{credit} << 32), tag(tag) {}
  /// Is it of that kind, of this version, and has no code?
  bool is(MessageKind kind) const { return static_cast<std::uint32_t>(word) == start(kind); }
  std::uint32_t credit() const { return static_cast<std::uint32_t>(word >> 32); }
};
inline constexpr std::size_t kShortHeaderBytes = offsetof(MessageHeader, size);
static_assert(sizeof(ShortHeader) == kShortHeaderBytes);
static_assert(std::endian::native == std::endian::little, "the fields of a MessageHeader as parts of a word");

inline Header bytes_of(const ShortHeader& header) {
  return {reinterpret_cast<const std::byte*>(&header), sizeof(header)};
}
/// As few bytes of it as say all.
inline Header least_bytes_of(const MessageHeader& header) {
  bool is_short = header.kind == MessageKind::active_short || (header.kind == MessageKind::eager && header.id == 0);
  return bytes_of(header).first(is_short ? kShortHeaderBytes : kHeaderBytes);
}

/// What is wrong with a header that came in before `payload` bytes; nullptr: nothing, and `header` holds it.
inline const char* read_header(Header bytes, std::uint64_t payload, MessageHeader& header) {
  header = {};
  if (bytes.size() != kHeaderBytes && bytes.size() != kShortHeaderBytes) {
    return "a message with a header of another length";
  }
  std::memcpy(&header, bytes.data(), bytes.size());
  if (header.version != kWireVersion) return "a message of another version of the protocol";
  if (header.kind > kLastKind) return "a message of a kind that does not exist";
  if (bytes.size() == kHeaderBytes) return nullptr;
  if (header.kind != MessageKind::eager && header.kind != MessageKind::active_short)
    return "a message with half a header";
  header.size = payload;
  return nullptr;
}

}  // namespace periapt::ucx
