// CkVec, the growing array of Charm++ programs, and vectors of owned pointers. C++17: reached from charm++.h.
//
// Elements need a default constructor and assignment. Unlike std::vector, insert() overwrites (growing the vector as
// far as needed), capacity elements exist beyond the length, and length() can be assigned.
#pragma once
#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/cmk.h"
#include "base/fatal.h"
#include "runtime/pup/stl.h"

// A global of a type made with this is left as the loader made it, zero, whatever order constructors run in.
class CkSkipInitialization {};

struct CkNoncopyable {
  CkNoncopyable() = default;
  CkNoncopyable(const CkNoncopyable&) = delete;
  CkNoncopyable& operator=(const CkNoncopyable&) = delete;
  CkNoncopyable(CkNoncopyable&&) = default;
  CkNoncopyable& operator=(CkNoncopyable&&) = default;
};

namespace periapt {
// `first`: those before it are no longer there.
[[noreturn]] void index_out_of_bounds(const char* container, std::size_t index, std::size_t length,
                                      std::size_t first = 0);
inline void check_index(const char* container, std::size_t index, std::size_t length) {
  if (CMK_ERROR_CHECKING && index >= length) index_out_of_bounds(container, index, length);
}
}  // namespace periapt

template <class T>
class CkVec {
 public:
  CkVec() = default;
  explicit CkVec(const CkSkipInitialization&) {}
  CkVec(std::size_t size) : CkVec(size, size) {}
  CkVec(std::size_t capacity, std::size_t used) { allocate(capacity, used); }
  CkVec(const CkVec& other) { copy(other); }
  CkVec(CkVec&& other) noexcept { swap(other); }
  CkVec& operator=(const CkVec& other) {
    if (this != &other) {
      clear();
      copy(other);
    }
    return *this;
  }
  CkVec& operator=(CkVec&& other) noexcept {
    swap(other);
    return *this;
  }
  ~CkVec() { delete[] block_; }
  void swap(CkVec& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(capacity_, other.capacity_);
    std::swap(length_, other.length_);
  }

  std::size_t& length() { return length_; }
  std::size_t length() const { return length_; }
  std::size_t size() const { return length_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return length_ == 0; }
  T* getVec() { return block_; }
  const T* getVec() const { return block_; }
  T* begin() { return block_; }
  T* end() { return block_ + length_; }
  const T* begin() const { return block_; }
  const T* end() const { return block_ + length_; }

  T& operator[](std::size_t i) {
    periapt::check_index("CkVec", i, length_);
    return block_[i];
  }
  const T& operator[](std::size_t i) const {
    periapt::check_index("CkVec", i, length_);
    return block_[i];
  }

  // 1, as ever: memory that can't be had is an exception.
  int reserve(std::size_t capacity) {
    if (capacity <= capacity_) return 1;
    T* larger = new T[capacity];
    for (std::size_t i = 0; i < length_; ++i) larger[i] = std::move(block_[i]);
    delete[] block_;
    block_ = larger;
    capacity_ = capacity;
    return 1;
  }
  int resize(std::size_t size) {
    reserve(size);
    length_ = size;
    return 1;
  }
  // Room for an element at `position`.
  void growAtLeast(std::size_t position) {
    if (position >= capacity_) reserve(2 * position + 16);
  }
  void insert(std::size_t position, const T& element) {
    if (position >= capacity_) {
      T copy(element);  // it may be one of ours
      growAtLeast(position);
      block_[position] = std::move(copy);
    } else {
      block_[position] = element;
    }
    if (position >= length_) length_ = position + 1;
  }
  void insertAtEnd(const T& element) { insert(length_, element); }
  void push_back(const T& element) { insert(length_, element); }
  // The position it was put at.
  std::size_t push_back_v(const T& element) {
    insert(length_, element);
    return length_ - 1;
  }
  void remove(std::size_t position) {
    if (position >= length_) periapt::index_out_of_bounds("CkVec::remove", position, length_);
    for (std::size_t i = position; i + 1 < length_; ++i) block_[i] = std::move(block_[i + 1]);
    --length_;
  }
  void removeAll() { length_ = 0; }
  void clear() {
    delete[] block_;
    block_ = nullptr;
    capacity_ = length_ = 0;
  }
  void free() { clear(); }

  // Ascending. Needs the elements' >= alone, which need not be a const one.
  void quickSort(std::size_t = 128) { std::sort(begin(), end(), less); }

  // The elements from `first` to `last`, both of them included.
  void bubbleSort(std::size_t first, std::size_t last) { std::sort(begin() + first, begin() + last + 1, less); }

  // Pups the length alone, and answers it.
  std::size_t pupbase(PUP::er& p) {
    const std::size_t length = PUP::detail::pup_length(p, length_, PUP::min_bytes<T>::value);
    if (p.isUnpacking()) resize(length);
    return length;
  }
  void pup(PUP::er& p) {
    const std::size_t length = pupbase(p);
    if (length) PUParray(p, block_, length);
  }

 private:
  static bool less(const T& a, const T& b) { return !(const_cast<T&>(a) >= const_cast<T&>(b)); }
  void allocate(std::size_t capacity, std::size_t used) {
    block_ = capacity ? new T[capacity] : nullptr;
    capacity_ = capacity;
    length_ = used;
  }
  void copy(const CkVec& other) {
    allocate(other.capacity_, other.length_);
    for (std::size_t i = 0; i < length_; ++i) block_[i] = other.block_[i];
  }

  T* block_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t length_ = 0;
};

template <class T>
void pupCkVec(PUP::er& p, CkVec<T>& vec) {
  vec.CkVec<T>::pup(p);
}
#define CkPupBasicVec CkVec

// --- vectors of owned pointers ---------------------------------------------------------------------------------------
// How the pointer of a CkZeroPtr is pupped: to a new object each time; the same, or null; to a PUP::able.
template <class T>
class CkPupAlwaysAllocatePtr {
 public:
  void pup(PUP::er& p, T*& pointer) {
    if (p.isUnpacking()) pointer = new T;
    p | *pointer;
  }
};
template <class T>
class CkPupAllocatePtr {
 public:
  void pup(PUP::er& p, T*& pointer) {
    int is_null = pointer == nullptr;
    p | is_null;
    if (p.isUnpacking()) pointer = is_null ? nullptr : new T;
    if (!is_null) p | *pointer;
  }
};
template <class T>
class CkPupAblePtr {
 public:
  void pup(PUP::er& p, T*& pointer) { p | pointer; }
};

// A pointer that starts as null and doesn't own: its holder calls destroy().
template <class T, class How = CkPupAllocatePtr<T>>
class CkZeroPtr {
 public:
  CkZeroPtr() = default;
  CkZeroPtr(T* pointer) : storage(pointer) {}
  T* operator=(T* pointer) { return storage = pointer; }
  operator T*() const { return storage; }
  T& operator*() const { return *storage; }
  T* operator->() const { return storage; }
  T* release() { return std::exchange(storage, nullptr); }
  void destroy() { delete release(); }
  void pup(PUP::er& p) { How().pup(p, storage); }

 protected:
  T* storage = nullptr;
};

template <class T, class How = CkPupAllocatePtr<T>>
class CkPupPtrVec : public CkVec<CkZeroPtr<T, How>> {
 public:
  CkPupPtrVec() = default;
  CkPupPtrVec(int size) : CkVec<CkZeroPtr<T, How>>(size) {}
  CkPupPtrVec(const CkPupPtrVec&) = delete;
  CkPupPtrVec& operator=(const CkPupPtrVec&) = delete;
  CkPupPtrVec(CkPupPtrVec&&) = default;
  CkPupPtrVec& operator=(CkPupPtrVec&&) = default;
  ~CkPupPtrVec() {
    for (auto& pointer : *this) pointer.destroy();
  }
};

// Of objects of classes derived from PUP::able; a copy of the vector clones them.
template <class T>
class CkPupAblePtrVec : public CkVec<CkZeroPtr<T, CkPupAblePtr<T>>> {
 public:
  CkPupAblePtrVec() = default;
  CkPupAblePtrVec(int size) : CkVec<CkZeroPtr<T, CkPupAblePtr<T>>>(size) {}
  CkPupAblePtrVec(const CkPupAblePtrVec& other) : CkVec<CkZeroPtr<T, CkPupAblePtr<T>>>() { copy_from(other); }
  CkPupAblePtrVec& operator=(const CkPupAblePtrVec& other) {
    if (this != &other) {
      destroy();
      copy_from(other);
    }
    return *this;
  }
  ~CkPupAblePtrVec() { destroy(); }
  void copy_from(const CkPupAblePtrVec& other) {
    for (const auto& pointer : other) this->push_back(pointer ? static_cast<T*>(pointer->clone()) : nullptr);
  }
  void destroy() {
    for (auto& pointer : *this) pointer.destroy();
    this->length() = 0;
  }
};
