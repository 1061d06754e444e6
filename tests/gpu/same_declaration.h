// Whether a function that we have declared of a library is the one that its header declares.
#pragma once

#include <type_traits>

namespace periapt::gpu {

// Two types that a call passes alike: both pointers, to the same plain type or to what has the same size; or both whole
// numbers, or structures, of one size.
template <class Ours, class Theirs>
constexpr bool alike() {
  if constexpr (std::is_same_v<Ours, Theirs>) {
    return true;
  } else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using A = std::remove_pointer_t<Ours>;
    using B = std::remove_pointer_t<Theirs>;
    if (std::is_const_v<A> != std::is_const_v<B>) return false;
    // Handles point to what neither side knows.
    if constexpr (!std::is_void_v<A> && !std::is_void_v<B> && requires { sizeof(A), sizeof(B); }) {
      return alike<std::remove_const_t<A>, std::remove_const_t<B>>();
    } else {
      return std::is_class_v<A> == std::is_class_v<B> && !std::is_void_v<A> && !std::is_void_v<B>;
    }
  } else if constexpr (std::is_class_v<Ours> && std::is_class_v<Theirs>) {
    return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs) &&
           std::is_trivially_copyable_v<Ours> == std::is_trivially_copyable_v<Theirs>;
  } else {
    constexpr bool whole =
        (std::is_integral_v<Ours> || std::is_enum_v<Ours>)&&(std::is_integral_v<Theirs> || std::is_enum_v<Theirs>);
    return whole && sizeof(Ours) == sizeof(Theirs);
  }
}
template <class Ours, class Theirs>
struct Same : std::false_type {};
template <class OurResult, class... Ours, class TheirResult, class... Theirs>
struct Same<OurResult (*)(Ours...), TheirResult (*)(Theirs...)> {
  static constexpr bool all() {
    if constexpr (sizeof...(Ours) != sizeof...(Theirs)) {
      return false;
    } else {
      return alike<OurResult, TheirResult>() && (alike<Ours, Theirs>() && ...);
    }
  }
  static constexpr bool value = all();
};
static_assert(Same<int (*)(int, char*), int (*)(int, char*)>::value);
static_assert(!Same<int (*)(int, char*), int (*)(int, int*)>::value);
static_assert(!Same<int (*)(int), int (*)(long)>::value);
static_assert(!Same<int (*)(int), int (*)(int, int)>::value);

}  // namespace periapt::gpu
