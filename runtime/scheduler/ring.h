// A double-ended queue in a ring that grows: push at either end, pop at the front.
//
// For small trivially copyable things (pointers, handles). The first Inline items need no allocation; beyond them the
// ring doubles and keeps its memory, so that a queue in steady state never allocates.
// C++17: reachable from a program's headers.
#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace periapt {
namespace scheduler {

template <class T, std::size_t Inline = 8>
class Ring {
  static_assert(std::is_trivially_copyable<T>::value, "items are moved as plain values");
  static_assert(Inline > 0 && (Inline & (Inline - 1)) == 0, "a ring's length is a power of two");

 public:
  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return mask_ + 1; }

  void push_back(T item) {
    if (size_ > mask_) grow();
    ring_[(head_ + size_++) & mask_] = item;
  }
  void push_front(T item) {
    if (size_ > mask_) grow();
    head_ = (head_ - 1) & mask_;
    ring_[head_] = item;
    ++size_;
  }
  // Requires !empty().
  const T& front() const {
    assert(!empty());
    return ring_[head_];
  }
  T pop_front() {
    assert(!empty());
    T item = ring_[head_];
    head_ = (head_ + 1) & mask_;
    --size_;
    return item;
  }
  // The i-th item from the front.
  const T& operator[](std::size_t i) const { return ring_[(head_ + i) & mask_]; }

  void clear() { head_ = size_ = 0; }
  // Empties the queue and gives its memory back.
  void release() {
    clear();
    heap_.reset();
    ring_ = inline_;
    mask_ = Inline - 1;
  }

 private:
  void grow() {
    const std::size_t capacity = 2 * (mask_ + 1);
    std::unique_ptr<T[]> larger(new T[capacity]);
    for (std::size_t i = 0; i < size_; ++i) larger[i] = ring_[(head_ + i) & mask_];
    heap_ = std::move(larger);
    ring_ = heap_.get();
    mask_ = capacity - 1;
    head_ = 0;
  }

  T* ring_ = inline_;
  std::size_t mask_ = Inline - 1;
  std::size_t head_ = 0, size_ = 0;
  std::unique_ptr<T[]> heap_;
  T inline_[Inline];
};

}  // namespace scheduler
}  // namespace periapt
