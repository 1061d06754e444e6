// What travels between two template transports: packets (machine/ucx-like/packet_transport.h), and before them the
// address by which a worker is found.
#pragma once

#include <cstddef>
#include <cstdint>

#include "machine/ucx-like/packet_transport.h"

namespace periapt::transport_template {

inline constexpr std::size_t kPayloadMax = 32 << 10;  // of a packet: what the network takes at a time
inline constexpr std::size_t kHeaderMax = 64;         // of a message
inline constexpr std::size_t kSecretMax = 256;
inline constexpr std::size_t kPacketMax = sizeof(ucx::Packet) + kHeaderMax + kPayloadMax;

/// What address() gives out and connect() takes. Both ends are of one host, so numbers go as they lie in memory; a
/// network between unlike machines would fix their order here.
struct Address {
  std::uint32_t magic = ucx::Packet::kMagic;
  std::uint32_t user = 0;         // the user id of the process: another user's processes don't talk to each other
  std::uint64_t name[2] = {};     // random: the socket's name
  std::uint64_t machine[2] = {};  // boot id, network namespace: where that name means something
};
static_assert(sizeof(Address) == 40);

}  // namespace periapt::transport_template
