// What travels between two template transports: packets, each a Packet followed by its bytes. Both ends are of one
// host, so numbers go as they lie in memory; a network between unlike machines would fix their order here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace periapt::transport_template {

inline constexpr std::uint32_t kMagic = 0x50'54'4d'31;  // changes with the format: an older peer is refused by it
inline constexpr std::size_t kPayloadMax = 32 << 10;    // of a packet: what the network takes at a time
inline constexpr std::size_t kHeaderMax = 64;           // of a message
inline constexpr std::size_t kSecretMax = 256;
inline constexpr std::size_t kOperationsMax = 64;  // markers on their way on one link: bounds what a peer owes

enum class Kind : std::uint8_t {
  hello,    // first on each connection: `from`; bytes: the job's secret
  message,  // bytes: `header_bytes` of header, then payload
  data,     // bytes go to `address` of the memory `key`
  get,      // put `size` bytes from `address` of `key` to `into_address` of `into_key`, and answer
  marker,   // answer when all before it has been taken
  answer,   // `operation` is complete, with `outcome`
};

struct Packet {
  std::uint32_t magic = kMagic;
  Kind kind = Kind::hello;
  std::uint8_t outcome = 0;
  std::uint16_t header_bytes = 0;
  std::uint64_t operation = 0;
  std::uint64_t from = 0;
  std::uint64_t key = 0;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t into_key = 0;
  std::uint64_t into_address = 0;
};
static_assert(sizeof(Packet) == 64);
inline constexpr std::size_t kPacketMax = sizeof(Packet) + kHeaderMax + kPayloadMax;

/// What address() gives out and connect() takes.
struct Address {
  std::uint32_t magic = kMagic;
  std::uint32_t user = 0;         // the user id of the process: another user's processes don't talk to each other
  std::uint64_t name[2] = {};     // random: the socket's name
  std::uint64_t machine[2] = {};  // boot id, network namespace: where that name means something
};
static_assert(sizeof(Address) == 40);

/// What pack_key() gives out.
struct PackedKey {
  std::uint32_t magic = kMagic;
  std::uint32_t check = 0;  // over what follows: catches what was cut or mangled on its way
  std::uint64_t key = 0;
};
static_assert(sizeof(PackedKey) == 16);

}  // namespace periapt::transport_template
