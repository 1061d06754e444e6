// What a type is to Charm++, asked at compile time: charm++_type_traits.h. C++17: programs include it.
#pragma once
#include <type_traits>

#include "runtime/api/proxies.h"
#include "runtime/pup/stl.h"

namespace charmxx {

/// Of a whole array; an element's is none.
template <class T>
struct is_array_proxy : std::bool_constant<std::is_base_of<CProxy_ArrayElement, T>::value &&
                                           !std::is_base_of<CProxyElement_ArrayBase, T>::value> {};
template <class T>
struct is_chare_proxy : std::is_base_of<CProxy_Chare, T>::type {};
template <class T>
struct is_group_proxy : std::is_base_of<CProxy_Group, T>::type {};
template <class T>
struct is_node_group_proxy : std::is_base_of<CProxy_NodeGroup, T>::type {};

/// Whether T says to which array it is bound, as a type `bind_to`.
template <class T, class = void>
struct is_bound_array : std::false_type {};
template <class T>
struct is_bound_array<T, std::void_t<typename T::bind_to>> : std::true_type {};

/// Whether T has a method pup(PUP::er&).
template <class T>
struct has_pup_member : PUP::details::is_pupable<T> {};
template <class T>
constexpr bool has_pup_member_v = has_pup_member<T>::value;
template <class T>
using has_pup_member_t = typename has_pup_member<T>::type;

/// Whether p | t compiles, in whatever way.
template <class T>
struct is_pupable : std::bool_constant<PUP::is_pupable<T>::value> {};
template <class T>
constexpr bool is_pupable_v = is_pupable<T>::value;
template <class T>
using is_pupable_t = typename is_pupable<T>::type;

}  // namespace charmxx
