// What a type is to Charm++: a proxy, or something that can be packed.
#pragma once
#include <type_traits>

#include "charm++.h"
#include "pup_stl.h"

namespace charmxx {

template <class T>
struct is_array_proxy : std::is_base_of<CProxy_ArrayBase, T>::type {};
template <class T>
struct is_chare_proxy : std::is_base_of<CProxy_Chare, T>::type {};
template <class T>
struct is_group_proxy : std::is_base_of<CProxy_Group, T>::type {};
template <class T>
struct is_node_group_proxy : std::is_base_of<CProxy_NodeGroup, T>::type {};

// T has a member pup(PUP::er&).
template <class T>
using has_pup_member = PUP::details::is_pupable<T>;
template <class T>
constexpr bool has_pup_member_v = has_pup_member<T>::value;
template <class T>
using has_pup_member_t = typename has_pup_member<T>::type;

// p | t is there for a PUP::er p, in whatever way.
template <class T>
using is_pupable = PUP::is_pupable<T>;
template <class T>
constexpr bool is_pupable_v = is_pupable<T>::value;
template <class T>
using is_pupable_t = typename is_pupable<T>::type;

}  // namespace charmxx
