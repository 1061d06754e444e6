// Readonlys as objects that register themselves: `readonly<CkGroupID> group;`, `roarray<int, 10> weights;`,
// `romsg<Setup> setup;` at file scope. Set where a mainchare is constructed, the same everywhere afterwards. The .ci
// file's `readonly` does the same for plain variables. C++17: reached from charm++.h.
#pragma once
#include "runtime/converse/ck.h"
#include "runtime/registry/messages.h"
#include "runtime/registry/registry.h"

namespace periapt {
// `readonly message M* m;`. Each process has one, which all of its PEs may read.
template <class Pointer>
void pupReadonlyMessage(void* p, void* address) {
  auto& pointer = *static_cast<Pointer*>(address);
  void* message = pointer;
  CkPupMessage(*static_cast<PUP::er*>(p), &message);
  pointer = static_cast<Pointer>(message);
}
}  // namespace periapt

template <class T>
class readonly {
 public:
  readonly() {
    CkRegisterReadonly("readonly<>", "readonly<>", sizeof(T), &data_,
                       [](void* p, void* address) { periapt::pupReadonly<T>(p, address); });
  }
  readonly(const readonly&) = delete;
  readonly& operator=(const readonly&) = delete;
  readonly& operator=(const T& value) {
    data_ = value;
    return *this;
  }
  operator T() const { return data_; }

 private:
  T data_{};
};

template <class T, int length>
class roarray {
 public:
  roarray() {
    CkRegisterReadonly("roarray<>", "roarray<>", sizeof data_, data_, [](void* p, void* address) {
      for (int i = 0; i < length; ++i) periapt::pupReadonly<T>(p, static_cast<T*>(address) + i);
    });
  }
  roarray(const roarray&) = delete;
  roarray& operator=(const roarray&) = delete;
  T& operator[](int i) { return data_[check(i)]; }
  const T& operator[](int i) const { return data_[check(i)]; }

 private:
  static int check(int i) {
    if (i < 0 || i >= length) CkAbort("index %d of a roarray of %d elements", i, length);
    return i;
  }
  T data_[length] = {};
};

template <class Msg>
class romsg {
 public:
  romsg() { CkRegisterReadonly("romsg<>", "romsg<>", sizeof message_, &message_, periapt::pupReadonlyMessage<void*>); }
  romsg(const romsg&) = delete;
  romsg& operator=(const romsg&) = delete;
  romsg& operator=(Msg* message) {
    message_ = message;
    return *this;
  }
  operator Msg*() const { return static_cast<Msg*>(message_); }
  Msg* operator->() const { return static_cast<Msg*>(message_); }

 private:
  void* message_ = nullptr;
};
