// CkQ, the queue of Charm++ programs: a ring that grows, with access to every place. C++17: reached from charm++.h.
//
// Elements need a default constructor and assignment. Positions count from the front, the next to be taken.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include "runtime/containers/vec.h"

template <class T>
class CkQ {
 public:
  CkQ() = default;
  explicit CkQ(int size) {
    std::size_t capacity = 4;
    while (capacity < static_cast<std::size_t>(size)) capacity *= 2;
    ring_.resize(capacity);
  }
  CkQ(CkQ&& other) noexcept
      : ring_(std::move(other.ring_)), first_(other.first_), length_(std::exchange(other.length_, 0)) {
    other.ring_.clear();
  }
  CkQ(const CkQ&) = delete;
  void operator=(const CkQ&) = delete;

  int length() const { return static_cast<int>(length_); }
  std::size_t size() const { return length_; }
  int isEmpty() const { return length_ == 0; }
  bool empty() const { return length_ == 0; }

  void enq(const T& element) {
    T copy(element);  // it may be one of ours
    reserve(length_ + 1);
    at(length_++) = std::move(copy);
  }
  // In front of all others.
  void push(const T& element) {
    T copy(element);
    reserve(length_ + 1);
    first_ = (first_ - 1) & mask();
    ++length_;
    at(0) = std::move(copy);
  }
  // The first one; T() when there is none.
  T deq() {
    if (length_ == 0) return T();
    T element = std::move(at(0));
    first_ = (first_ + 1) & mask();
    --length_;
    return element;
  }
  T& peek() { return at(0); }

  // Before the one at `position`; past the end, places between are T().
  void insert(int position, const T& element) {
    const std::size_t place = static_cast<std::size_t>(position);
    T copy(element);
    reserve((place > length_ ? place : length_) + 1);
    if (place < length_) {
      for (std::size_t i = length_++; i > place; --i) at(i) = std::move(at(i - 1));
    } else {
      while (length_ <= place) at(length_++) = T();
    }
    at(place) = std::move(copy);
  }
  // Takes out the one at `position`; T() when there is none.
  T remove(int position) {
    if (static_cast<std::size_t>(position) >= length_) return T();
    T element = std::move(at(position));
    for (std::size_t i = position; i + 1 < length_; ++i) at(i) = std::move(at(i + 1));
    --length_;
    return element;
  }
  // Takes out the one at `position` and all behind it.
  void removeFrom(int position) {
    periapt::check_index("CkQ::removeFrom", static_cast<std::size_t>(position), length_);
    length_ = static_cast<std::size_t>(position);
  }
  T& operator[](std::size_t position) {
    periapt::check_index("CkQ", position, length_);
    return at(position);
  }
  // A copy in order, to delete[].
  T* getArray() {
    T* copy = new T[length_];
    for (std::size_t i = 0; i < length_; ++i) copy[i] = at(i);
    return copy;
  }

  void pup(PUP::er& p) {
    const std::size_t n = PUP::detail::pup_length(p, length_, PUP::min_bytes<T>::value);
    if (p.isUnpacking()) {
      reserve(n);
      first_ = 0;
      length_ = n;
    }
    for (std::size_t i = 0; i < n; ++i) p | at(i);
  }

 private:
  std::size_t mask() const { return ring_.size() - 1; }
  T& at(std::size_t position) { return ring_[(first_ + position) & mask()]; }
  void reserve(std::size_t count) {
    if (count <= ring_.size()) return;
    std::size_t capacity = ring_.empty() ? 16 : ring_.size();
    while (capacity < count) capacity *= 2;
    std::vector<T> larger(capacity);
    for (std::size_t i = 0; i < length_; ++i) larger[i] = std::move(at(i));
    ring_.swap(larger);
    first_ = 0;
  }

  std::vector<T> ring_;  // empty, or as long as a power of two
  std::size_t first_ = 0;
  std::size_t length_ = 0;
};

template <class T>
void pupCkQ(PUP::er& p, CkQ<T>& queue) {
  queue.pup(p);
}
