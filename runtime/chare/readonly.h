// Readonlys that are declared in C++ instead of a .ci file. C++17: reached from charm++.h.
//
//   readonly<CkGroupID> group;      // at file scope; set in a mainchare's constructor, read anywhere afterwards
//   roarray<int, 10> counts;
//   romsg<Table> table;             // a message; it stays the runtime's
//
// Each registers itself before main(); programs on all processes are the same, so the order is too.
#pragma once
#include <cstddef>
#include <string>

#include "base/fatal.h"
#include "runtime/chare/messages.h"
#include "runtime/chare/registry.h"

class readonlybase {
 public:
  readonlybase() = default;
  readonlybase(const readonlybase&) = delete;
  readonlybase& operator=(const readonlybase&) = delete;
};

template <class T>
class readonly : public readonlybase {
 public:
  readonly() { CkRegisterReadonly("readonly<>", "readonly<>", sizeof(T), &value_, periapt::pupReadonly<T>); }
  readonly& operator=(const T& value) {
    value_ = value;
    return *this;
  }
  operator T() const { return value_; }

 private:
  T value_{};
};

template <class T, int N>
class roarray : public readonlybase {
 public:
  roarray() { CkRegisterReadonly("roarray<>", "roarray<>", sizeof values_, &values_, periapt::pupReadonly<T[N]>); }
  T& operator[](int i) {
    if (i < 0 || i >= N) {
      periapt::fatal("index " + std::to_string(i) + " of a readonly array of " + std::to_string(N), "roarray",
                     "the elements are numbered from 0", "check where the index comes from");
    }
    return values_[i];
  }

 private:
  T values_[N] = {};
};

template <class M>
class romsg : public readonlybase {
 public:
  romsg() { CkRegisterReadonly("romsg<>", "romsg<>", sizeof message_, &message_, pup); }
  romsg& operator=(M* message) {
    message_ = message;
    return *this;
  }
  operator M*() const { return message_; }
  M& operator*() const { return *message_; }
  M* operator->() const { return message_; }

 private:
  static void pup(void* p, void* address) {
    M*& message = *static_cast<M**>(address);
    void* bytes = message;
    CkPupMessage(*static_cast<PUP::er*>(p), &bytes);
    message = static_cast<M*>(bytes);
  }
  M* message_ = nullptr;
};
