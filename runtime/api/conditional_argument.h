// Conditional parameters of entries: `entry void f(Grid grid conditional);` in the .ci file, `void f(Grid* grid)` in
// the class, null or an object of a class derived from CkConditional. A call gives up the caller's share in the object,
// as a message does that is sent; the method has one until it returns. C++17: generated code includes it.
#pragma once
#include <utility>

#include "runtime/api/conditional.h"

namespace periapt {

template <class T>
class Conditional {
  T* object_;

 public:
  Conditional(T* object = nullptr) : object_(object) {}
  Conditional(Conditional&& o) noexcept : object_(std::exchange(o.object_, nullptr)) {}
  Conditional& operator=(Conditional&& o) noexcept {
    std::swap(object_, o.object_);
    return *this;
  }
  ~Conditional() { dropConditional(object_); }
  operator T*() const { return object_; }
  T* operator->() const { return object_; }
  void pup(PUP::er& p) {
    bool there = object_ != nullptr;
    p | there;
    if (p.isUnpacking()) {
      dropConditional(object_);
      object_ = there ? new T : nullptr;
    }
    if (there) p | *object_;
  }
};

}  // namespace periapt
