// A growing ring of cache-line sized work: a PE's own queue. Push at either end, pop at the front.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/scheduler/work.h"

namespace periapt {

class Fifo {
 public:
  Fifo() : slots_(allocate(initial_capacity)), mask_(initial_capacity - 1) {}
  ~Fifo() { std::free(slots_); }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  bool empty() const { return head_ == tail_; }
  std::size_t size() const { return tail_ - head_; }
  // A slot at the end to write into; valid until the next push.
  Work& push_back() {
    if (tail_ - head_ > mask_) [[unlikely]]
      grow();
    return slots_[tail_++ & mask_];
  }
  Work& push_front() {
    if (tail_ - head_ > mask_) [[unlikely]]
      grow();
    return slots_[--head_ & mask_];
  }
  const Work& front() const { return slots_[head_ & mask_]; }
  // Copied out, because what it starts may push and move the ring.
  Work pop_front() { return slots_[head_++ & mask_]; }
  // The same, of a message or a thread the head alone. It is read as it was written, word by word: a load over both
  // words would wait until the stores are in the cache.
  void pop_front(Work& to) {
    const Work& next = slots_[head_++ & mask_];
    to.meta = load_alone(next.meta);
    to.element = load_alone(next.element);
    if (next.kind() == WorkKind::call) std::memcpy(to.arguments, next.arguments, sizeof to.arguments);
  }

 private:
  static constexpr std::size_t initial_capacity = 256;
  // By a load of its own, which compilers join to no other.
  static std::uint64_t load_alone(const std::uint64_t& word) {
    return *static_cast<const volatile std::uint64_t*>(&word);
  }
  static Work* allocate(std::size_t capacity) {
    void* bytes = std::aligned_alloc(alignof(Work), capacity * sizeof(Work));
    if (!bytes) throw std::bad_alloc();
    return static_cast<Work*>(bytes);
  }
  void grow() {
    std::size_t capacity = 2 * (mask_ + 1);
    Work* bigger = allocate(capacity);
    for (std::size_t i = head_; i != tail_; ++i) bigger[i & (capacity - 1)] = slots_[i & mask_];
    std::free(slots_);
    slots_ = bigger;
    mask_ = capacity - 1;
  }

  Work* slots_;
  std::size_t mask_;
  std::size_t head_ = 0, tail_ = 0;
};

}  // namespace periapt
