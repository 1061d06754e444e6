// HMAC-SHA-256 (RFC 2104 over FIPS 180-4): a proof that its maker knows a secret, which doesn't tell the secret. Some
// ninety lines instead of a dependency on a cryptography library for 160 bytes a connection; its tests are the
// published vectors. Used by the handshake alone, so speed doesn't matter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace periapt::tcp {

using Digest = std::array<std::byte, 32>;
using Bytes = std::span<const std::byte>;

class Sha256 {
 public:
  Sha256& add(Bytes bytes);
  Digest finish();

 private:
  void compress(const std::byte* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> block_{};
  std::uint64_t length_ = 0;
};

/// Over the parts one after the other.
Digest hmac(Bytes secret, std::initializer_list<Bytes> parts);

/// In a time that doesn't depend on where they differ.
bool equal(const Digest& a, const Digest& b);

}  // namespace periapt::tcp
