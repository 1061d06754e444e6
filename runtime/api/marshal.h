// Marshalling of arguments: values in the order of their declaration, each at its natural alignment (16 at most);
// arrays as a 64-bit count and then the elements on a 16-byte boundary. Values that are plain bytes
// (PUP::as_bytes) are copied; others are pupped where they stand, on an 8-byte boundary. C++17: reached from charm++.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "runtime/message/delivery.h"
#include "runtime/pup/pup.h"

namespace periapt {

template <class T>
struct ArrayToSend {
  const T* data;
  std::size_t count;
};
template <class T, class N>
ArrayToSend<std::remove_const_t<T>> arrayArg(T* data, N count) {
  return {data, static_cast<std::size_t>(count)};
}

namespace marshal {

constexpr std::size_t align_up(std::size_t at, std::size_t alignment) {
  return (at + alignment - 1) & ~(alignment - 1);
}
template <class T>
constexpr std::size_t alignment_of() {
  return alignof(T) < 16 ? alignof(T) : 16;
}

template <class T>
struct is_array : std::false_type {};
template <class T>
struct is_array<ArrayToSend<T>> : std::true_type {};
template <class T>
constexpr bool is_fixed = !is_array<T>::value && PUP::as_bytes<T>::value;

// Bytes of arguments that are all plain.
template <class... A>
constexpr std::size_t fixed_size() {
  std::size_t at = 0;
  ((at = align_up(at, alignment_of<A>()) + sizeof(A)), ...);
  return at;
}

class Sizer {
 public:
  explicit Sizer(std::size_t at = 0) : at_(at) {}
  template <class T>
  void operator()(const T& value) {
    if constexpr (PUP::as_bytes<T>::value) {
      at_ = align_up(at_, alignment_of<T>()) + sizeof(T);
    } else {
      PUP::detail::counter p;
      p | const_cast<T&>(value);
      at_ = align_up(at_, 8) + p.size();
    }
  }
  template <class T>
  void operator()(const ArrayToSend<T>& a) {
    at_ = align_up(align_up(at_, 8) + 8, 16);
    if constexpr (PUP::as_bytes<T>::value) {
      at_ += a.count * sizeof(T);
    } else {
      PUP::detail::counter p;
      for (std::size_t i = 0; i < a.count; ++i) p | const_cast<T&>(a.data[i]);
      at_ += p.size();
    }
  }
  std::size_t size() const { return at_; }

 private:
  std::size_t at_;
};

class Writer {
 public:
  explicit Writer(void* to, std::size_t at = 0) : base_(static_cast<char*>(to)), at_(at) {}
  template <class T>
  void operator()(const T& value) {
    if constexpr (PUP::as_bytes<T>::value) {
      at_ = align_up(at_, alignment_of<T>());
      std::memcpy(base_ + at_, &value, sizeof(T));
      at_ += sizeof(T);
    } else {
      at_ = align_up(at_, 8);
      PUP::detail::writer p(base_ + at_);
      p | const_cast<T&>(value);
      at_ += p.size();
    }
  }
  template <class T>
  void operator()(const ArrayToSend<T>& a) {
    at_ = align_up(at_, 8);
    const std::uint64_t count = a.count;
    std::memcpy(base_ + at_, &count, 8);
    at_ = align_up(at_ + 8, 16);
    if constexpr (PUP::as_bytes<T>::value) {
      // More bytes than there are, which a size that has run over would be, is what GCC 14 warns of.
      const std::size_t bytes = a.count * sizeof(T);
      if (bytes - 1 < PTRDIFF_MAX) std::memcpy(base_ + at_, a.data, bytes);
      at_ += bytes;
    } else {
      PUP::detail::writer p(base_ + at_);
      for (std::size_t i = 0; i < a.count; ++i) p | const_cast<T&>(a.data[i]);
      at_ += p.size();
    }
  }

 private:
  char* base_;
  std::size_t at_;
};

[[noreturn]] void truncated(std::size_t offset, std::uint64_t count, std::size_t element_size);

}  // namespace marshal

// Reads arguments back. Arrays are not copied: they lie in the message and live as long as the call.
class Unmarshal {
 public:
  explicit Unmarshal(const Delivery& call, std::size_t at = 0) : Unmarshal(call.arguments, call.length, at) {}
  Unmarshal(void* bytes, std::size_t length, std::size_t at = 0)
      : base_(static_cast<char*>(bytes)), at_(at), length_(length) {}

  template <class T>
  T* plain() {
    at_ = marshal::align_up(at_, marshal::alignment_of<T>());
    T* value = reinterpret_cast<T*>(base_ + at_);
    at_ += sizeof(T);
    return value;
  }
  template <class T>
  T* plain_array(std::size_t& count) {
    count = read_count();
    if (count > rest() / sizeof(T)) marshal::truncated(at_, count, sizeof(T));
    T* first = reinterpret_cast<T*>(base_ + at_);
    at_ += count * sizeof(T);
    return first;
  }
  std::size_t read_count() {
    at_ = marshal::align_up(at_, 8);
    std::uint64_t count;
    std::memcpy(&count, base_ + at_, 8);
    at_ = marshal::align_up(at_ + 8, 16);
    return count;
  }
  template <class Pupper>
  void pup(Pupper&& pupper, std::size_t alignment) {
    at_ = marshal::align_up(at_, alignment);
    PUP::detail::reader p(base_ + at_, rest());
    pupper(p);
    at_ += p.size();
  }

 protected:
  char* base_;

 private:
  std::size_t rest() const { return at_ < length_ ? length_ - at_ : 0; }
  std::size_t at_;
  std::size_t length_;
};

// One value. Plain ones are used where they lie.
template <class T, bool plain = PUP::as_bytes<T>::value>
class Arg {
 public:
  explicit Arg(Unmarshal& in) : value_(in.plain<T>()) {}
  T&& move() { return static_cast<T&&>(*value_); }
  T& ref() { return *value_; }

 private:
  T* value_;
};
template <class T>
class Arg<T, false> {
 public:
  explicit Arg(Unmarshal& in) {
    in.pup([this](PUP::er& p) { p | holder_.t; }, 8);
  }
  T&& move() { return static_cast<T&&>(holder_.t); }  // T: an int& as well, of template entries
  T& ref() { return holder_.t; }

 private:
  PUP::detail::TemporaryObjectHolder<T> holder_;
};

// An array: data() is a variable, which a method that takes `T*&` may change.
template <class T, bool plain = PUP::as_bytes<T>::value>
class ArrayArg {
 public:
  explicit ArrayArg(Unmarshal& in) { data_ = in.plain_array<T>(count_); }
  T*& data() { return data_; }
  std::size_t count() const { return count_; }

 private:
  T* data_;
  std::size_t count_ = 0;
};
template <class T>
class ArrayArg<T, false> {
 public:
  explicit ArrayArg(Unmarshal& in) : count_(in.read_count()), elements_(new T[count_]), data_(elements_.get()) {
    in.pup(
        [this](PUP::er& p) {
          for (std::size_t i = 0; i < count_; ++i) p | data_[i];
        },
        16);
  }
  T*& data() { return data_; }
  std::size_t count() const { return count_; }

 private:
  std::size_t count_;
  std::unique_ptr<T[]> elements_;
  T* data_;
};

}  // namespace periapt
