// The three streams that messages are made with: sizer, toMem, fromMem.
//
// Through a PUP::er& they work like any other. Where their own type is known (argument marshalling), p | x of an
// as-bytes type is a bounds check and a memcpy, inlined, with no virtual call: the members array() below hide er's.
//
// A program may derive from them. An object of such a class has no window: all comes to its bytes(), with its type, and
// where it is say nBytes, buf and origBuf, which bytes() moves on, its own or the one that it calls.
//
// The runtime uses detail::counter, writer and reader, which do the same and cannot be derived from: a compiler sees
// that each is a whole object, and keeps it in registers.
#pragma once

#include "runtime/pup/er.h"

namespace PUP {

namespace detail {
/// What a buffer of unknown length is taken to have: more than there can be, so that no check ever fails.
constexpr std::size_t unchecked = SIZE_MAX / 2;

/// Tells a constructor whether it makes the whole object or a part of one that is derived: a virtual base is made by
/// the class of the whole object, and one that knows nothing of it makes it with `yes` false.
struct whole_object {
  whole_object() = default;
  explicit whole_object(bool is) : yes(is) {}
  const bool yes = false;
};

template <class T>
[[noreturn, gnu::cold, gnu::noinline]] void raise_overrun_of(er& p, T*, std::size_t n) {
  scope here(p, signature<T>);
  raise_overrun(p, n, sizeof(T));
}
}  // namespace detail

/// Counts the bytes that packing will take.
class sizer : public er, private virtual detail::whole_object {
 public:
  explicit sizer(unsigned int purpose = 0) : detail::whole_object(true), er(IS_SIZING, purpose) {
    if (yes) {
      end_ = UINTPTR_MAX;
    } else {
      PUP_er_state = (PUP_er_state & ~unsigned(IS_RAW)) | IS_DERIVED;
    }
  }

  std::size_t size() const override { return hasWindow() ? cursor_ : nBytes; }

  template <class T>
  void array(T* a, std::size_t n) {
    static_assert(as_bytes<T>::value, "PUP: this type is not packed as bytes; write p | x");
    if (hasWindow()) {
      cursor_ += n * sizeof(T);
    } else {
      er::array(a, n);
    }
  }
  void bytes(void*, std::size_t n, std::size_t itemSize, dataType) override {
    (hasWindow() ? cursor_ : nBytes) += n * itemSize;
  }

 protected:
  std::size_t nBytes = 0;  ///< where the class is derived
};

/// What toMem and fromMem share: a buffer, a position and, unless it was not told, an end.
class mem : public er {
 public:
  /// Bytes used so far.
  std::size_t size() const override { return position() - start(); }
  std::size_t remaining() const override { return checked() ? left() : unbounded; }
  std::size_t limit() const override { return checked() ? last() - start() : unbounded; }

  char* get_current_pointer() const { return reinterpret_cast<char*>(position()); }
  char* get_orig_pointer() const { return reinterpret_cast<char*>(origBuf); }
  void reset() { go_to(start()); }
  /// Skips bytes; past the end is an error.
  void advance(std::size_t n) {
    if (n > left()) detail::raise_overrun(*this, n, 1);
    go_to(position() + n);
  }

 protected:
  mem(direction d, bool whole, const void* buffer, std::size_t length, unsigned int purpose)
      : er(d, purpose),
        origBuf(static_cast<myByte*>(const_cast<void*>(buffer))),
        buf(origBuf),
        length_(length < detail::unchecked ? length : detail::unchecked) {
    if (whole) {
      cursor_ = start();
      end_ = cursor_ + length_;
    } else {
      PUP_er_state = (PUP_er_state & ~unsigned(IS_RAW)) | IS_DERIVED;
    }
  }
  /// For a class of the program's own.
  mem(unsigned int type, myByte* Nbuf, unsigned int purpose = 0)
      : er(type | purpose | IS_DERIVED), origBuf(Nbuf), buf(Nbuf), length_(detail::unchecked) {}

  void impl_startSeek(seekBlock& s) override;
  std::size_t impl_tell(seekBlock& s) override;
  void impl_seek(seekBlock& s, std::size_t off) override;

  // What bytes() does in the two directions.
  void put(const void* p, std::size_t n, std::size_t itemSize);
  void get(void* p, std::size_t n, std::size_t itemSize);

  bool derived() const { return PUP_er_state & IS_DERIVED; }
  bool checked() const { return last() - start() != detail::unchecked; }
  std::uintptr_t last() const { return derived() ? start() + length_ : end_; }
  /// Bytes that follow here. A bytes() of a program's own may have gone past the end.
  std::size_t left() const { return last() > position() ? last() - position() : 0; }

  myByte* const origBuf;
  myByte* buf;  ///< where the class is derived
  const std::size_t length_;

  std::uintptr_t start() const { return reinterpret_cast<std::uintptr_t>(origBuf); }
  std::uintptr_t position() const { return derived() ? reinterpret_cast<std::uintptr_t>(buf) : cursor_; }
  void go_to(std::uintptr_t position) {
    if (derived()) {
      buf = reinterpret_cast<myByte*>(position);
    } else {
      cursor_ = position;
    }
  }
};

/// Packs into memory that is large enough (see sizer). With a length it checks that; without, it cannot.
class toMem : public mem, private virtual detail::whole_object {
 public:
  explicit toMem(void* buffer) : detail::whole_object(true), mem(IS_PACKING, yes, buffer, unbounded, 0) {}
  toMem(void* buffer, purpose why) : detail::whole_object(true), mem(IS_PACKING, yes, buffer, unbounded, why) {}
  template <class Length, class = typename std::enable_if<std::is_integral<Length>::value>::type>
  toMem(void* buffer, Length length, unsigned int purpose = 0)
      : detail::whole_object(true), mem(IS_PACKING, yes, buffer, std::size_t(length), purpose) {
    static_assert(!std::is_same<Length, unsigned int>::value,
                  "PUP: is this a length or a purpose? Give a length as std::size_t, a purpose as PUP::er::purpose.");
  }

  template <class T>
  void array(const T* a, std::size_t n) {
    static_assert(as_bytes<T>::value, "PUP: this type is not packed as bytes; write p | x");
    if (n > room() / sizeof(T)) {
      if (derived()) return er::array(a, n);
      detail::raise_overrun(*this, n, sizeof(T));
    }
    if (n) std::memcpy(reinterpret_cast<void*>(cursor_), a, n * sizeof(T));
    cursor_ += n * sizeof(T);
  }
  void bytes(void* p, std::size_t n, std::size_t itemSize, dataType t) override;
};

/// Unpacks from memory. Given the length it never reads past it; without (as older programs write it) it trusts the
/// bytes.
class fromMem : public mem, private virtual detail::whole_object {
 public:
  explicit fromMem(const void* buffer) : detail::whole_object(true), mem(IS_UNPACKING, yes, buffer, unbounded, 0) {}
  fromMem(const void* buffer, purpose why)
      : detail::whole_object(true), mem(IS_UNPACKING, yes, buffer, unbounded, why) {}
  template <class Length, class = typename std::enable_if<std::is_integral<Length>::value>::type>
  fromMem(const void* buffer, Length length, unsigned int purpose = 0)
      : detail::whole_object(true), mem(IS_UNPACKING, yes, buffer, std::size_t(length), purpose) {
    static_assert(!std::is_same<Length, unsigned int>::value,
                  "PUP: is this a length or a purpose? Give a length as std::size_t, a purpose as PUP::er::purpose.");
  }

  template <class T>
  void array(T* a, std::size_t n) {
    static_assert(as_bytes<T>::value, "PUP: this type is not packed as bytes; write p | x");
    if (n > room() / sizeof(T)) {
      if (derived()) return er::array(a, n);
      detail::raise_overrun_of(*this, a, n);
    }
    if (n) std::memcpy(static_cast<void*>(a), reinterpret_cast<const void*>(cursor_), n * sizeof(T));
    if constexpr (std::is_same<T, bool>::value) detail::normalize(a, n);
    cursor_ += n * sizeof(T);
  }
  void bytes(void* p, std::size_t n, std::size_t itemSize, dataType t) override;
};

namespace detail {

class counter final : public er {
 public:
  explicit counter(unsigned int purpose = 0) : er(IS_SIZING, purpose) { end_ = UINTPTR_MAX; }
  std::size_t size() const override { return cursor_; }
  template <class T>
  void array(T*, std::size_t n) {
    static_assert(as_bytes<T>::value, "PUP: this type is not packed as bytes; write p | x");
    cursor_ += n * sizeof(T);
  }
  void bytes(void*, std::size_t n, std::size_t itemSize, dataType) override { cursor_ += n * itemSize; }
};

class writer final : public mem {
 public:
  explicit writer(void* buffer) : mem(IS_PACKING, true, buffer, unbounded, 0) {}
  writer(void* buffer, std::size_t length) : mem(IS_PACKING, true, buffer, length, 0) {}
  template <class T>
  void array(const T* a, std::size_t n) {
    static_assert(as_bytes<T>::value, "PUP: this type is not packed as bytes; write p | x");
    if (n > room() / sizeof(T)) raise_overrun(*this, n, sizeof(T));
    if (n) std::memcpy(reinterpret_cast<void*>(cursor_), a, n * sizeof(T));
    cursor_ += n * sizeof(T);
  }
  void bytes(void* p, std::size_t n, std::size_t itemSize, dataType t) override;
};

class reader final : public mem {
 public:
  explicit reader(const void* buffer) : mem(IS_UNPACKING, true, buffer, unbounded, 0) {}
  reader(const void* buffer, std::size_t length) : mem(IS_UNPACKING, true, buffer, length, 0) {}
  template <class T>
  void array(T* a, std::size_t n) {
    static_assert(as_bytes<T>::value, "PUP: this type is not packed as bytes; write p | x");
    if (n > room() / sizeof(T)) raise_overrun_of(*this, a, n);
    if (n) std::memcpy(static_cast<void*>(a), reinterpret_cast<const void*>(cursor_), n * sizeof(T));
    if constexpr (std::is_same<T, bool>::value) normalize(a, n);
    cursor_ += n * sizeof(T);
  }
  void bytes(void* p, std::size_t n, std::size_t itemSize, dataType t) override;
};

template <class P>
struct is_memory_er : std::false_type {};
template <>
struct is_memory_er<sizer> : std::true_type {};
template <>
struct is_memory_er<toMem> : std::true_type {};
template <>
struct is_memory_er<fromMem> : std::true_type {};
template <>
struct is_memory_er<counter> : std::true_type {};
template <>
struct is_memory_er<writer> : std::true_type {};
template <>
struct is_memory_er<reader> : std::true_type {};
template <class P>
struct is_memory_reader
    : std::integral_constant<bool, std::is_same<P, fromMem>::value || std::is_same<P, reader>::value> {};
}  // namespace detail

}  // namespace PUP
