// Buffer: owned bytes. Move-only; knows where they go back to. All that the machine knows of a message.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace periapt::ucx {

class Buffer {
 public:
  /// Gives `bytes` back to the `pool` they came from.
  using Release = void (*)(void* pool, void* bytes);

  Buffer() = default;
  Buffer(std::byte* bytes, std::size_t size, Release release, void* pool)
      : bytes_(bytes), size_(size), release_(release), pool_(pool) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer taken(std::move(other));
    swap(taken);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { reset(); }

  explicit operator bool() const { return bytes_ != nullptr; }
  std::byte* data() const { return bytes_; }
  std::size_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {bytes_, size_}; }

  /// Gives the bytes up without releasing them: the caller owns them now.
  [[nodiscard]] std::byte* detach() {
    std::byte* bytes = bytes_;
    bytes_ = nullptr;
    size_ = 0;
    return bytes;
  }
  /// So many of its first bytes; it goes back as a whole.
  void shrink(std::size_t size) { size_ = size; }
  void reset() {
    if (bytes_ != nullptr) release_(pool_, bytes_);
    bytes_ = nullptr;
    size_ = 0;
  }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    std::swap(release_, other.release_);
    std::swap(pool_, other.pool_);
  }

  std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
  Release release_ = nullptr;
  void* pool_ = nullptr;
};

}  // namespace periapt::ucx
