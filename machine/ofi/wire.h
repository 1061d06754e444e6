// What travels between two ofi transports, and what an address is. All numbers are little-endian.
//
// Beside the provider's endpoints a link has a link of the TCP transport (machine/tcp/meeting.h), over which the two
// workers say where their endpoints are and by which token the other reaches them. Over the endpoint of messages go
// Prefix, header and payload; over that of memory, reads and writes, nothing of ours.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "machine/ucx-like/transport.h"

namespace periapt::ofi {

static_assert(std::endian::native == std::endian::little, "wire.h writes structures as they lie in memory");

inline constexpr std::uint32_t kMagic = 0x3169'666f;  // "ofi1": changes with all that is in this file

/// In front of what an address of the TCP transport holds.
struct Address {
  std::uint32_t magic = kMagic;
  std::uint32_t format = 0;    ///< of the provider's addresses
  std::uint64_t provider = 0;  ///< a number made of its name, and of whether it puts and gets
  std::uint64_t host = 0;      ///< where a provider that reaches this host alone means something; else 0
};
static_assert(sizeof(Address) == 24);

/// Over the TCP link, as its header: where the sender is. Behind it the addresses of its endpoints, that of messages
/// first.
struct Here {
  std::uint32_t magic = kMagic;
  std::uint16_t messages_bytes = 0;  ///< of the address of messages
  std::uint16_t memory_bytes = 0;    ///< of that of memory; 0: neither side has one
  std::uint64_t token = 0;           ///< in front of all that is sent to it
};
static_assert(sizeof(Here) == 16);

/// In front of each message.
struct Prefix {
  enum class Kind : std::uint8_t {
    message = 1,
    flush,    ///< behind it a number that is to be answered when all before it has been handed up
    flushed,  ///< the answer, for all flushes up to that number
  };
  std::uint64_t token = 0;   ///< the receiver's, of this link: nothing else says where a message came from
  std::uint32_t number = 0;  ///< of this message on its link: some providers tell arrivals in another order
  Kind kind = Kind::message;
  std::uint8_t header_bytes = 0;
  std::uint16_t zero = 0;
};
static_assert(sizeof(Prefix) == 16);

inline constexpr std::size_t kHeaderMax = 64;
inline constexpr std::size_t kPayloadMax = 8 << 10;
inline constexpr std::size_t kSlotBytes = sizeof(Prefix) + kHeaderMax + kPayloadMax + 48;  ///< whole cache lines
static_assert(kSlotBytes % 64 == 0);

}  // namespace periapt::ofi
