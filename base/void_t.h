// void_t: std::void_t, which C++14 has not. C++14: programs include it.
#pragma once

namespace periapt {

namespace detail {
template <class...>
struct Void {
  using type = void;
};
}  // namespace detail

/// void, if all these types are valid: what a specialization is chosen by.
template <class... T>
using void_t = typename detail::Void<T...>::type;

}  // namespace periapt
