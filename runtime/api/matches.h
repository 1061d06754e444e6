// Whether a program's class is what its .ci file says, asked at compile time. The generated code puts these questions
// into static_asserts that answer with a sentence. C++17: reached from charm++.h.
#pragma once
#include <new>
#include <type_traits>
#include <utility>

#include "base/void_t.h"

namespace PUP {
namespace detail {
struct not_pupable;
}
}  // namespace PUP

namespace periapt {

namespace matches {
template <class T, class = void>
struct is_defined : std::false_type {};
template <class T>
struct is_defined<T, periapt::void_t<decltype(sizeof(T))>> : std::true_type {};

// Not std::is_constructible: that asks for a public destructor too.
template <class Void, class T, class... Args>
struct is_made_from : std::false_type {};
template <class T, class... Args>
struct is_made_from<periapt::void_t<decltype(::new (static_cast<void*>(nullptr)) T(std::declval<Args>()...))>, T,
                    Args...> : std::true_type {};

// std::is_invocable, which is C++17's.
template <class Void, class F, class... Args>
struct is_called_with : std::false_type {};
template <class F, class... Args>
struct is_called_with<periapt::void_t<decltype(std::declval<F>()(std::declval<Args>()...))>, F, Args...>
    : std::true_type {};
}  // namespace matches

/// An argument for a parameter that the .ci calls `T&`: the method may take it as T&, T&&, const T& or T.
template <class T>
class RefOrMove {
 public:
  explicit RefOrMove(T& value) : value_(value) {}
  operator T&() const { return value_; }
  template <class U, class = std::enable_if_t<std::is_same<U, T>::value>>
  operator U&&() const {
    return static_cast<T&&>(value_);
  }

 private:
  T& value_;
};
template <class T>
RefOrMove<T> refOrMove(T& value) {
  return RefOrMove<T>(value);
}

/// Has the class been defined, not only declared? Ask once in a program: the answer is kept by the compiler.
template <class T>
constexpr bool isDefined() {
  return matches::is_defined<T>::value;
}

/// Does `new (place) T(args...)` compile?
template <class T, class... Args>
constexpr bool constructible() {
  return matches::is_made_from<void, T, Args...>::value;
}

/// Does `p | x` pack x, given the type of that expression? For what cannot be packed it is one that stops with a
/// static_assert once it is compiled.
template <class Result>
constexpr bool isPacked() {
  return !std::is_same<Result, PUP::detail::not_pupable>::value;
}

/// Does `probe(object)` compile? The probe is a generic lambda whose result type calls the method in question. It is
/// given as a type, as C++14 has no lambdas among its constants.
template <class T, class Probe>
constexpr bool has() {
  return matches::is_called_with<void, Probe, T&>::value;
}

/// Calls `first(object)` if that compiles, else `second(object)`: an argument that the .ci file declares T& is handed
/// to a method that takes T&& (or T) as well as to one that takes T&.
template <class T, class First, class Second>
decltype(auto) either(T& object, First first, Second second) {
  if constexpr (matches::is_called_with<void, First, T&>::value)
    return first(object);
  else
    return second(object);
}

}  // namespace periapt
