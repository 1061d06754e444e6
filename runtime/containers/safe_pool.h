// SafePool: objects that are used again and again, up to 32 of them waiting. C++17: reached from charm++.h.
#pragma once
#include <cstddef>
#include <vector>

// T: a pointer to what `make` makes. One PE's: there is no lock.
template <class T>
class SafePool {
 public:
  typedef T (*allocFn)();
  typedef void (*freeFn)(T);
  typedef void (*resetFn)(T);
  // `reset` is called for each that comes back to wait.
  SafePool(allocFn make, freeFn destroy, resetFn reset = nullptr) : make_(make), destroy_(destroy), reset_(reset) {
    for (std::size_t i = 0; i < most; ++i) waiting_.push_back(make());
  }
  SafePool(const SafePool&) = delete;
  SafePool& operator=(const SafePool&) = delete;
  ~SafePool() {
    for (T object : waiting_) destroy_(object);
  }
  T get() {
    if (waiting_.empty()) return make_();
    T object = waiting_.back();
    waiting_.pop_back();
    return object;
  }
  void put(T object) {
    if (waiting_.size() == most) return destroy_(object);
    if (reset_) reset_(object);
    waiting_.push_back(object);
  }

 private:
  static constexpr std::size_t most = 32;
  allocFn make_;
  freeFn destroy_;
  resetFn reset_;
  std::vector<T> waiting_;
};
