#include "machine/tcp/hmac.h"

#include <algorithm>
#include <bit>

#include "base/secret.h"

namespace periapt::tcp {

namespace {
constexpr std::uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
}  // namespace

void Sha256::compress(const std::byte* block) {
  std::uint32_t w[64];
  for (int i = 0; i < 16; ++i) {
    w[i] = 0;
    for (int k = 0; k < 4; ++k) w[i] = w[i] << 8 | static_cast<std::uint32_t>(block[4 * i + k]);
  }
  for (int i = 16; i < 64; ++i) {
    std::uint32_t low = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    std::uint32_t high = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + low + w[i - 7] + high;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (int i = 0; i < 64; ++i) {
    std::uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    std::uint32_t first = h + sum1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    std::uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    std::uint32_t second = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  const std::uint32_t add[8] = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state_[i] += add[i];
}

Sha256& Sha256::add(Bytes bytes) {
  for (std::byte byte : bytes) {
    block_[length_++ % 64] = byte;
    if (length_ % 64 == 0) compress(block_.data());
  }
  return *this;
}

Digest Sha256::finish() {
  std::uint64_t bits = length_ * 8;
  constexpr std::byte kEnd[] = {std::byte{0x80}}, kZero[] = {std::byte{0}};
  add(kEnd);
  while (length_ % 64 != 56) add(kZero);
  for (int shift = 56; shift >= 0; shift -= 8) {
    std::byte byte{static_cast<unsigned char>(bits >> shift)};
    add({&byte, 1});
  }
  Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::byte>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest hmac(Bytes secret, std::initializer_list<Bytes> parts) {
  std::array<std::byte, 64> key{};
  if (secret.size() > key.size()) {
    std::ranges::copy(Sha256().add(secret).finish(), key.begin());
  } else {
    std::ranges::copy(secret, key.begin());
  }
  std::array<std::byte, 64> inner = key, outer = key;
  for (std::byte& byte : inner) byte ^= std::byte{0x36};
  for (std::byte& byte : outer) byte ^= std::byte{0x5c};
  Sha256 message;
  message.add(inner);
  for (Bytes part : parts) message.add(part);
  Digest digest = message.finish();
  return Sha256().add(outer).add(digest).finish();
}

bool equal(const Digest& a, const Digest& b) { return equal_secrets(a.data(), b.data(), a.size()); }

}  // namespace periapt::tcp
