// Writing and reading small structures as bytes. Reader never goes beyond its bytes: after a read that would have,
// good() is false and everything reads as nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/platform.h"

namespace periapt::ucx {

/// memcpy, for bytes that are most often few: up to 64 of them without a call.
PERIAPT_INLINE void copy_bytes(std::byte* to, const std::byte* from, std::size_t size) {
  // Both ends of it, which overlap when it is shorter than both together.
  struct Sixteen {
    std::uint64_t words[2];
  };
  auto ends = [&](auto word) {
    auto last = word;
    std::memcpy(&word, from, sizeof(word));
    std::memcpy(&last, from + size - sizeof(last), sizeof(last));
    std::memcpy(to, &word, sizeof(word));
    std::memcpy(to + size - sizeof(last), &last, sizeof(last));
  };
  if (PERIAPT_LIKELY(size >= 8 && size <= 16)) {
    ends(std::uint64_t{});
  } else if (size > 16 && size <= 32) {
    ends(Sixteen{});
  } else if (size > 32 && size <= 64) {
    Sixteen second, last_but_one;
    std::memcpy(&second, from + 16, 16);
    std::memcpy(&last_but_one, from + size - 32, 16);
    ends(Sixteen{});
    std::memcpy(to + 16, &second, 16);
    std::memcpy(to + size - 32, &last_but_one, 16);
  } else if (size != 0) {
    std::memcpy(to, from, size);
  }
}

class Writer {
 public:
  /// Writes behind those bytes.
  explicit Writer(std::vector<std::byte> before = {}) : bytes_(std::move(before)) {
    bytes_.reserve(bytes_.size() + kUsual);
  }
  template <class T>
  void number(T value) {
    raw(std::as_bytes(std::span(&value, 1)));
  }
  /// At most 65535 bytes, their length before them.
  void text(std::span<const std::byte> bytes) {
    number(static_cast<std::uint16_t>(bytes.size()));
    raw(bytes);
  }
  void text(const std::string& text) { this->text(std::as_bytes(std::span(text))); }
  void raw(std::span<const std::byte> bytes) {
    std::size_t at = bytes_.size();
    bytes_.resize(at + bytes.size());
    if (!bytes.empty()) std::memcpy(bytes_.data() + at, bytes.data(), bytes.size());
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  static constexpr std::size_t kUsual = 128;  // so that most are made with one allocation
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool good() const { return good_; }
  bool at_end() const { return bytes_.empty(); }
  template <class T>
  T number() {
    T value{};
    std::span<const std::byte> from = take(sizeof(value));
    if (good_) std::memcpy(&value, from.data(), sizeof(value));
    return value;
  }
  std::vector<std::byte> bytes() {
    std::span<const std::byte> from = take(number<std::uint16_t>());
    return {from.begin(), from.end()};
  }
  std::string text() {
    std::span<const std::byte> from = take(number<std::uint16_t>());
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }

 private:
  std::span<const std::byte> take(std::size_t size) {
    if (!good_ || bytes_.size() < size) {
      good_ = false;
      return {};
    }
    std::span<const std::byte> taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return taken;
  }

  std::span<const std::byte> bytes_;
  bool good_ = true;
};

}  // namespace periapt::ucx
