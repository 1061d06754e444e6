// What travels on a TCP connection between two workers, and what an address is. All numbers are little-endian.
//
//   opener                 accepter
//   Opening           ->
//                     <-   Challenge   proves that the accepter knows the secret, or says why it refuses
//   Proof             ->               proves that the opener knows it
//                     <-   Welcome     from now on, frames in both directions
//
// A frame is a Prefix, a header and a payload, padded to a multiple of 8 bytes. The handshake proves which worker is
// there; it doesn't encrypt or sign what follows.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace periapt::tcp {

static_assert(std::endian::native == std::endian::little, "wire.h writes structures as they lie in memory");

inline constexpr std::uint64_t kMagic = 0x0a54'5041'4952'4550;  // "PERIAPT\n"
inline constexpr std::uint32_t kVersion = 1;                    // of all that is in this file

enum class Refusal : std::uint32_t { none, version, not_me };

/// The first 16 bytes are the same in all versions, so that versions can tell each other apart.
struct Opening {
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  Refusal refusal = Refusal::none;
  std::uint64_t from = 0;  // PeerIds
  std::uint64_t to = 0;
  std::array<std::byte, 32> nonce{};
};
static_assert(sizeof(Opening) == 64);

struct Challenge {
  Opening opening;  // the accepter's
  std::array<std::byte, 32> proof{};
};
static_assert(sizeof(Challenge) == 96);

struct Proof {
  std::array<std::byte, 32> proof{};
};
static_assert(sizeof(Proof) == 32);

struct Welcome {
  std::uint64_t word = kMagic;
};
static_assert(sizeof(Welcome) == 8);

enum class FrameKind : std::uint8_t {
  message = 1,  // header, payload
  flush = 2,    // number in place of the size: answer when all before it has been handed up
  flushed = 3,  // the answer
  close = 4,    // the sender closes the link; nothing follows
};

/// Kind, bytes of the header, bytes of the payload (48 bits).
class Prefix {
 public:
  static constexpr std::uint64_t kSizeMax = (std::uint64_t{1} << 48) - 1;
  Prefix() = default;
  Prefix(FrameKind kind, std::size_t header, std::uint64_t size)
      : word_(size << 16 | static_cast<std::uint64_t>(header) << 8 | static_cast<std::uint64_t>(kind)) {}
  FrameKind kind() const { return static_cast<FrameKind>(word_ & 0xff); }
  std::size_t header() const { return word_ >> 8 & 0xff; }
  std::uint64_t size() const { return word_ >> 16; }

 private:
  std::uint64_t word_ = 0;
};
static_assert(sizeof(Prefix) == 8);

inline constexpr std::size_t kHeaderMax = 64;
constexpr std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) & ~std::uint64_t{7}; }

/// What address() gives out and connect() takes.
struct Address {
  std::uint32_t magic = 0x3170'6374;  // "tcp1"
  std::uint16_t family = 0;           // 4, 6
  std::uint16_t port = 0;
  std::array<std::byte, 16> ip{};  // as on the wire; IPv4: the first four
  std::uint64_t boot = 0;          // where a loopback address means something: boot of the machine, network namespace
  std::uint64_t network = 0;
};
static_assert(sizeof(Address) == 40);

}  // namespace periapt::tcp
