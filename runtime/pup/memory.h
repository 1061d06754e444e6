// The three streams that messages are made with: sizer, toMem, fromMem.
//
// Through a PUP::er& they work like any other. Where their own type is known (argument marshalling), p | x of an as-bytes
// type is a bounds check and a memcpy, inlined, with no virtual call: the members array() below hide er's.
#pragma once

#include "runtime/pup/er.h"

namespace PUP {

namespace detail {
constexpr std::uintptr_t no_end = UINTPTR_MAX;
}

/// Counts the bytes that packing will take.
class sizer final : public er {
 public:
  explicit sizer(unsigned int purpose = 0) : er(IS_SIZING, purpose) { end_ = detail::no_end; }

  std::size_t size() const override { return cursor_; }

  template <class T>
  void array(T*, std::size_t n) {
    static_assert(as_bytes<T>::value, "PUP: this type is not packed as bytes; write p | x");
    cursor_ += n * sizeof(T);
  }
  void bytes(void*, std::size_t n, std::size_t itemSize, dataType) override { cursor_ += n * itemSize; }
};

/// What toMem and fromMem share: a buffer, a position and, unless it was not told, an end.
class mem : public er {
 public:
  /// Bytes used so far.
  std::size_t size() const final { return cursor_ - start_; }
  std::size_t remaining() const final { return end_ == detail::no_end ? unbounded : end_ - cursor_; }
  std::size_t limit() const final { return end_ == detail::no_end ? unbounded : end_ - start_; }

  char* get_current_pointer() const { return reinterpret_cast<char*>(cursor_); }
  char* get_orig_pointer() const { return reinterpret_cast<char*>(start_); }
  void reset() { cursor_ = start_; }
  /// Skips bytes; past the end is an error.
  void advance(std::size_t n) {
    if (n > room()) detail::raise_overrun(*this, n, 1);
    cursor_ += n;
  }

 protected:
  mem(direction d, const void* buffer, std::size_t length, unsigned int purpose) : er(d, purpose) {
    start_ = cursor_ = reinterpret_cast<std::uintptr_t>(buffer);
    end_ = length == unbounded ? detail::no_end : start_ + length;
  }

  void impl_startSeek(seekBlock& s) final;
  std::size_t impl_tell(seekBlock& s) final;
  void impl_seek(seekBlock& s, std::size_t off) final;

  std::uintptr_t start_;
};

/// Packs into memory that is large enough (see sizer). With a length it checks that; without, it cannot.
class toMem final : public mem {
 public:
  explicit toMem(void* buffer) : mem(IS_PACKING, buffer, unbounded, 0) {}
  toMem(void* buffer, purpose why) : mem(IS_PACKING, buffer, unbounded, why) {}
  template <class Length, class = typename std::enable_if<std::is_integral<Length>::value>::type>
  toMem(void* buffer, Length length, unsigned int purpose = 0) : mem(IS_PACKING, buffer, std::size_t(length), purpose) {
    static_assert(!std::is_same<Length, unsigned int>::value,
                  "PUP: is this a length or a purpose? Give a length as std::size_t, a purpose as PUP::er::purpose.");
  }

  template <class T>
  void array(const T* a, std::size_t n) {
    static_assert(as_bytes<T>::value, "PUP: this type is not packed as bytes; write p | x");
    if (n > room() / sizeof(T)) detail::raise_overrun(*this, n, sizeof(T));
    if (n) std::memcpy(reinterpret_cast<void*>(cursor_), a, n * sizeof(T));
    cursor_ += n * sizeof(T);
  }
  void bytes(void* p, std::size_t n, std::size_t itemSize, dataType t) override;
};

/// Unpacks from memory. Given the length it never reads past it; without (as older programs write it) it trusts the bytes.
class fromMem final : public mem {
 public:
  explicit fromMem(const void* buffer) : mem(IS_UNPACKING, buffer, unbounded, 0) {}
  fromMem(const void* buffer, purpose why) : mem(IS_UNPACKING, buffer, unbounded, why) {}
  template <class Length, class = typename std::enable_if<std::is_integral<Length>::value>::type>
  fromMem(const void* buffer, Length length, unsigned int purpose = 0)
      : mem(IS_UNPACKING, buffer, std::size_t(length), purpose) {
    static_assert(!std::is_same<Length, unsigned int>::value,
                  "PUP: is this a length or a purpose? Give a length as std::size_t, a purpose as PUP::er::purpose.");
  }

  template <class T>
  void array(T* a, std::size_t n) {
    static_assert(as_bytes<T>::value, "PUP: this type is not packed as bytes; write p | x");
    if (n > room() / sizeof(T)) overrun(a, n);
    if (n) std::memcpy(static_cast<void*>(a), reinterpret_cast<const void*>(cursor_), n * sizeof(T));
    if constexpr (std::is_same<T, bool>::value) detail::normalize(a, n);
    cursor_ += n * sizeof(T);
  }
  void bytes(void* p, std::size_t n, std::size_t itemSize, dataType t) override;

 private:
  template <class T>
  [[noreturn, gnu::cold, gnu::noinline]] void overrun(T*, std::size_t n) {
    detail::scope here(*this, detail::signature<T>);
    detail::raise_overrun(*this, n, sizeof(T));
  }
};

namespace detail {
template <class P>
struct is_memory_er : std::false_type {};
template <>
struct is_memory_er<sizer> : std::true_type {};
template <>
struct is_memory_er<toMem> : std::true_type {};
template <>
struct is_memory_er<fromMem> : std::true_type {};
}  // namespace detail

}  // namespace PUP
