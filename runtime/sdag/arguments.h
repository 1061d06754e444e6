// The arguments of an entry while the body of a when, or of the entry itself, goes on. They stay in the message they
// came in: arrays are pointers into it. Small values are variables, which the body may change; what has a pup() has
// been unpacked. C++17: reached from charm++.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "runtime/api/marshal.h"
#include "runtime/api/zero_copy_marshal.h"
#include "runtime/pup/pup.h"

namespace periapt::sdag {

// How the arguments of one entry are made of what came, moved to another PE and destroyed.
struct ArgumentsType {
  std::size_t size;
  void (*make)(void* at, void* bytes, std::size_t length);
  void (*destroy)(void* at);
  void (*pup)(PUP::er& p, void* at);
  int ncpy_arrays;  // sent without a copy
  bool is_message;  // one message
  bool is_lent;     // which the body frees, not the program
};

// What stands for a parameter in Arguments<...>: T for a value, and
template <class T>
struct Array {};
template <class T>
struct Ncpy {};
template <class T>
struct Address {};  // a pointer, of a [local] entry
template <class T>
struct Carried {};  // a message, which the program owns
template <class T>
struct Lent {};  // a message of a [nokeep] entry

constexpr std::size_t copied_max = 32;  // plain values of more bytes are used where they lie

enum class Kind { copied, in_place, unpacked };
template <class T>
constexpr Kind kind_of() {
  if constexpr (!PUP::as_bytes<T>::value)
    return Kind::unpacked;
  else
    return sizeof(T) <= copied_max && std::is_copy_constructible<T>::value ? Kind::copied : Kind::in_place;
}

template <class T, Kind kind = kind_of<T>()>
class Argument {  // copied
 public:
  template <class In>
  explicit Argument(In& in) : value_(*in.template plain<T>()) {}
  T& get() { return value_; }
  void pup(PUP::er& p) { p | value_; }

 private:
  T value_;
};
template <class T>
class Argument<T, Kind::in_place> : public Arg<T> {
 public:
  explicit Argument(Unmarshal& in) : Arg<T>(in) {}
  T& get() { return this->ref(); }
  void pup(PUP::er&) {}
};
template <class T>
class Argument<T, Kind::unpacked> : public Arg<T> {
 public:
  explicit Argument(Unmarshal& in) : Arg<T>(in) {}
  T& get() { return this->ref(); }
  void pup(PUP::er& p) { p | this->ref(); }
};
template <class T>
class Argument<Array<T>, Kind::unpacked> : public ArrayArg<T> {
 public:
  explicit Argument(Unmarshal& in) : ArrayArg<T>(in) {}
  T*& get() { return this->data(); }
  void pup(PUP::er& p) {
    if constexpr (!PUP::as_bytes<T>::value)
      for (std::size_t i = 0; i < this->count(); ++i) p | this->data()[i];
  }
};
template <class T>
class Argument<Ncpy<T>, Kind::unpacked> : public NcpyArg<T> {
 public:
  explicit Argument(NcpyUnmarshal& in) : NcpyArg<T>(in) {}
  T*& get() { return this->data(); }
  void pup(PUP::er&) {}
};

// Ends the run: there is nothing of it elsewhere.
void refuse_to_move_address();
template <class T>
class Argument<Address<T>, Kind::unpacked> {
 public:
  explicit Argument(Unmarshal& in) : at_(reinterpret_cast<T>(*in.plain<std::uintptr_t>())) {}
  T& get() { return at_; }
  void pup(PUP::er&) { refuse_to_move_address(); }

 private:
  T at_;
};
// How it is marshalled.
template <class T>
std::uintptr_t address(T* of) {
  return reinterpret_cast<std::uintptr_t>(of);
}

template <class T>
struct is_ncpy : std::false_type {};
template <class T>
struct is_ncpy<Ncpy<T>> : std::true_type {};

template <class T>
struct ArgumentKind {
  static constexpr Kind value = kind_of<T>();
};
template <class T>
struct ArgumentKind<Array<T>> {
  static constexpr Kind value = Kind::unpacked;
};
template <class T>
struct ArgumentKind<Ncpy<T>> {
  static constexpr Kind value = Kind::unpacked;
};

template <class T>
struct ArgumentKind<Address<T>> {
  static constexpr Kind value = Kind::unpacked;
};

// One behind the other: made in place, from left to right.
template <class... T>
struct Row {
  template <class In>
  explicit Row(In&) {}
  void pup(PUP::er&) {}
};
template <class First, class... Rest>
struct Row<First, Rest...> {
  Argument<First, ArgumentKind<First>::value> first;
  Row<Rest...> rest;
  template <class In>
  explicit Row(In& in) : first(in), rest(in) {}
  template <std::size_t i>
  auto& get() {
    if constexpr (i == 0)
      return first.get();
    else
      return rest.template get<i - 1>();
  }
  void pup(PUP::er& p) {
    first.pup(p);
    rest.pup(p);
  }
};

// Marshalled arguments, in the order of their declaration.
template <class... T>
class Arguments {
 public:
  static constexpr int ncpy_arrays = (0 + ... + int{is_ncpy<T>::value});
  static constexpr bool is_message = false;
  static constexpr bool is_lent = false;
  typedef std::conditional_t<ncpy_arrays == 0, Unmarshal, NcpyUnmarshal> In;

  explicit Arguments(In& in) : row_(in) {}
  template <std::size_t i>
  auto& get() {
    return row_.template get<i>();
  }
  static void make(void* at, void* bytes, std::size_t length) {
    if constexpr (ncpy_arrays == 0) {
      Unmarshal in(bytes, length);
      new (at) Arguments(in);
    } else {
      Delivery call;
      call.arguments = bytes;
      call.length = length;
      NcpyUnmarshal in(call, ncpy_arrays);
      new (at) Arguments(in);
    }
  }
  void pup(PUP::er& p) { row_.pup(p); }

 private:
  Row<T...> row_;
};

// The only argument is a message.
template <class Msg>
class Arguments<Carried<Msg>> {
 public:
  static constexpr int ncpy_arrays = 0;
  static constexpr bool is_message = true;
  static constexpr bool is_lent = false;
  explicit Arguments(void* message) : message_(static_cast<Msg*>(message)) {}
  template <std::size_t i>
  Msg*& get() {
    return message_;
  }
  static void make(void* at, void* bytes, std::size_t) { new (at) Arguments(bytes); }
  void pup(PUP::er&) {}

 private:
  Msg* message_;
};

template <class Msg>
class Arguments<Lent<Msg>> : public Arguments<Carried<Msg>> {
 public:
  static constexpr bool is_lent = true;
  using Arguments<Carried<Msg>>::Arguments;
};

template <class A>
struct ArgumentsTypeOf {
  static void destroy(void* at) { static_cast<A*>(at)->~A(); }
  static void pup(PUP::er& p, void* at) { static_cast<A*>(at)->pup(p); }
  static constexpr ArgumentsType type{sizeof(A), A::make, destroy, pup, A::ncpy_arrays, A::is_message, A::is_lent};
};
template <class A>
constexpr ArgumentsType ArgumentsTypeOf<A>::type;

}  // namespace periapt::sdag
