// PUP for the standard library: containers, smart pointers, vocabulary types, random engines, clocks.
//
// A length is packed before what it counts, and is checked against the bytes that are left before anything is
// allocated. Elements are made in place where the container allows it. Contiguous containers of as-bytes types are one
// memcpy.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <complex>
#include <cstddef>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>
#if __cplusplus >= 201703L
#include <optional>
#include <variant>
#endif

#include "base/void_t.h"
#include "runtime/pup/operators.h"
#include "runtime/pup/pointer.h"
#include "runtime/pup/random.h"

namespace PUP {

// ---- what is its own memory image
// -------------------------------------------------------------------------------------

template <class T, std::size_t N>
class as_bytes<std::array<T, N>> {
 public:
  enum { value = N != 0 && as_bytes<T>::value };
};
template <class A, class B>
class as_bytes<std::pair<A, B>> {
  template <class P, bool both>
  struct packed : std::false_type {};
  template <class P>
  struct packed<P, true> : std::integral_constant<bool, sizeof(P) == sizeof(A) + sizeof(B)> {};

 public:
  /// Only without padding, so that its form is the same as that of first, then second.
  enum { value = packed < std::pair<A, B>, as_bytes<A>::value&& as_bytes<B>::value > ::value };
};
template <class T>
class as_bytes<std::complex<T>> : public as_bytes<T> {};

namespace detail {

template <class T, std::size_t N>
struct parts<std::array<T, N>> {
  enum { value = 1 };
  static void each(er& p, std::array<T, N>& a) { PUParray(p, a.data(), N); }
};
template <class A, class B>
struct parts<std::pair<A, B>> {
  enum { value = 1 };
  static void each(er& p, std::pair<A, B>& v) {
    p.syncComment(sync_index);
    p | const_cast<typename std::remove_const<A>::type&>(v.first);
    p.syncComment(sync_item);
    p | const_cast<typename std::remove_const<B>::type&>(v.second);
  }
};
template <class T>
struct parts<std::complex<T>> {
  enum { value = 1 };
  static void each(er& p, std::complex<T>& v) { PUParray(p, reinterpret_cast<T*>(&v), 2); }
};

// ---- lengths
// ----------------------------------------------------------------------------------------------------------

/// Elements of unknown size may take no bytes at all, so that more of them than bytes is no error up to this number.
constexpr std::size_t empty_elements_max = 1 << 20;

template <class P>
inline std::size_t pup_length(P& p, std::size_t n, std::size_t min_each) {
  p | n;
  if (p.isUnpacking()) {
    const std::size_t left = p.remaining();
    if (left != unbounded && (min_each ? n > left / min_each : n > left && n > empty_elements_max)) {
      raise_length(p, n, min_each);
    }
  }
  return n;
}

/// How much larger than its packed form an item is taken to be in memory, at most: padding, and members that are not
/// packed.
constexpr std::size_t growth_max = 8;

/// Elements worth making room for at once, all of them if that can be: a vector that grows as they come moves those
/// that it has. Never more memory than growth_max times the bytes that came, but for elements of a known packed form.
template <class T>
inline std::size_t reservable(const er& p, std::size_t n) {
  constexpr std::size_t least = min_bytes<T>::value ? min_bytes<T>::value : (sizeof(T) + growth_max - 1) / growth_max;
  const std::size_t left = p.remaining();
  if (left == unbounded) return p.hasWindow() ? n : std::min<std::size_t>(n, 4096);  // a window is trusted
  return std::min(n, left / least + 1);
}

template <class C, class = void>
struct can_reserve : std::false_type {};
template <class C>
struct can_reserve<C, periapt::void_t<decltype(std::declval<C&>().reserve(std::size_t()))>> : std::true_type {};

// ---- sequences
// --------------------------------------------------------------------------------------------------------

template <class C>
inline typename C::reference emplace_blank(C& c) {
  typedef typename C::value_type T;
  if constexpr (std::is_constructible<T, reconstruct>::value) {
    c.emplace_back(reconstruct());
  } else if constexpr (std::is_default_constructible<T>::value) {
    c.emplace_back();
  } else {
    c.emplace_back(TemporaryObjectHolder<T>().t);
  }
  return c.back();
}

/// The length of a container and its items, one by one. `unpack_item` makes the next one at its end.
template <class C, class UnpackItem>
inline void pup_items(er& p, C& c, std::size_t size, UnpackItem unpack_item) {
  typedef typename C::value_type T;
  scope here(p, signature<C>);
  p.syncComment(sync_begin_array);
  const std::size_t n = pup_length(p, size, min_bytes<T>::value);
  if (p.isUnpacking()) {
    c.clear();
    if constexpr (can_reserve<C>::value) c.reserve(reservable<T>(p, n));
    for (std::size_t i = 0; i < n; ++i) {
      p.syncComment(sync_item);
      unpack_item();
    }
  } else {
    for (const T& item : c) {
      p.syncComment(sync_item);
      p | const_cast<T&>(item);
    }
  }
  p.syncComment(sync_end_array);
}

template <class C>
inline void pup_sequence(er& p, C& c) {
  pup_items(p, c, c.size(), [&] { p | emplace_blank(c); });
}

/// A container whose elements lie side by side and are as-bytes. P: er, or a memory stream.
template <class P, class C>
inline void pup_contiguous(P& p, C& c) {
  typedef typename C::value_type T;
  scope here(p, signature<C>);
  const std::size_t n = pup_length(p, c.size(), sizeof(T));
  if (!p.isUnpacking()) {
    p.array(const_cast<T*>(c.data()), n);
    return;
  }
  if constexpr (std::is_trivially_copyable<T>::value) {
    if (const T* items = p.template in_place<T>(n)) {  // without first filling c with zeros
      c.assign(items, items + n);
      p.skip(n * sizeof(T));
      return;
    }
  }
  constexpr std::size_t chunk = (std::size_t(16) << 20) / sizeof(T) + 1;
  if (n > chunk && !p.hasWindow() && p.remaining() == unbounded) {
    c.clear();  // a length that cannot be checked: make room as the items come
    for (std::size_t done = 0; done < n;) {
      const std::size_t step = std::min(n - done, chunk);
      c.resize(done + step);
      p.array(const_cast<T*>(c.data()) + done, step);
      done += step;
    }
    return;
  }
  c.resize(n);
  p.array(const_cast<T*>(c.data()), n);  // a string's are const in C++14
}

template <class T>
struct in_one_piece : std::integral_constant<bool, as_bytes<T>::value && std::is_default_constructible<T>::value &&
                                                       !std::is_same<T, bool>::value> {};

}  // namespace detail

template <class T, class A>
struct min_bytes<std::vector<T, A>, false> : std::integral_constant<std::size_t, sizeof(std::size_t)> {};
template <class T, class R, class A>
struct min_bytes<std::basic_string<T, R, A>, false> : std::integral_constant<std::size_t, sizeof(std::size_t)> {};

template <class T, class A>
inline void operator|(er& p, std::vector<T, A>& v) {
  if constexpr (detail::in_one_piece<T>::value) {
    detail::pup_contiguous(p, v);
  } else {
    detail::pup_sequence(p, v);
  }
}
template <class P, class T, class A,
          typename std::enable_if<detail::is_memory_er<P>::value && detail::in_one_piece<T>::value, int>::type = 0>
inline void operator|(P& p, std::vector<T, A>& v) {
  detail::pup_contiguous(p, v);
}

/// Eight to a byte.
template <class A>
inline void operator|(er& p, std::vector<bool, A>& v) {
  detail::scope here(p, detail::signature<std::vector<bool, A>>);
  std::size_t n = v.size();
  p | n;
  if (p.isUnpacking()) {
    if (p.remaining() != unbounded && n / 8 > p.remaining()) detail::raise_length(p, n / 8, 1);
    v.clear();
  }
  for (std::size_t i = 0; i < n; i += 8) {
    const std::size_t bits = std::min<std::size_t>(8, n - i);
    unsigned char byte = 0;
    if (!p.isUnpacking()) {
      for (std::size_t b = 0; b < bits; ++b) byte |= static_cast<unsigned char>(v[i + b] << b);
    }
    p | byte;
    if (p.isUnpacking()) {
      for (std::size_t b = 0; b < bits; ++b) v.push_back(byte >> b & 1);
    }
  }
}

template <class T, class R, class A>
inline void operator|(er& p, std::basic_string<T, R, A>& v) {
  detail::pup_contiguous(p, v);
}
template <class P, class T, class R, class A, typename std::enable_if<detail::is_memory_er<P>::value, int>::type = 0>
inline void operator|(P& p, std::basic_string<T, R, A>& v) {
  detail::pup_contiguous(p, v);
}

template <class T, class A>
struct min_bytes<std::deque<T, A>, false> : std::integral_constant<std::size_t, sizeof(std::size_t)> {};
template <class T, class A>
inline void operator|(er& p, std::deque<T, A>& v) {
  detail::pup_sequence(p, v);
}
template <class T, class A>
struct min_bytes<std::list<T, A>, false> : std::integral_constant<std::size_t, sizeof(std::size_t)> {};
template <class T, class A>
inline void operator|(er& p, std::list<T, A>& v) {
  detail::pup_sequence(p, v);
}

template <class T, class A>
struct min_bytes<std::forward_list<T, A>, false> : std::integral_constant<std::size_t, sizeof(std::size_t)> {};
template <class T, class A>
inline void operator|(er& p, std::forward_list<T, A>& v) {
  auto at = v.before_begin();
  detail::pup_items(p, v, static_cast<std::size_t>(std::distance(v.begin(), v.end())), [&] {
    detail::TemporaryObjectHolder<T> item;
    p | item.t;
    at = v.insert_after(at, std::move(item.t));
  });
}

// ---- sets and maps
// ----------------------------------------------------------------------------------------------------

namespace detail {

template <class C>
inline void pup_set(er& p, C& c) {
  pup_items(p, c, c.size(), [&] {
    TemporaryObjectHolder<typename C::value_type> item;
    p | item.t;
    c.emplace_hint(c.end(), std::move(item.t));
  });
}

template <class C, class K>
inline typename C::iterator emplace_blank_at_end(C& c, K&& key) {
  typedef typename C::mapped_type V;
  auto keys = std::forward_as_tuple(std::forward<K>(key));
  if constexpr (std::is_constructible<V, reconstruct>::value) {
    return c.emplace_hint(c.end(), std::piecewise_construct, std::move(keys), std::make_tuple(reconstruct()));
  } else if constexpr (std::is_default_constructible<V>::value) {
    return c.emplace_hint(c.end(), std::piecewise_construct, std::move(keys), std::tuple<>());
  } else {
    return c.emplace_hint(c.end(), std::piecewise_construct, std::move(keys),
                          std::make_tuple(TemporaryObjectHolder<V>::migrating()));
  }
}

template <class C>
inline void pup_map(er& p, C& c) {
  typedef typename C::key_type K;
  typedef typename C::mapped_type V;
  scope here(p, signature<C>);
  p.syncComment(sync_begin_list);
  const std::size_t n = pup_length(p, c.size(), min_bytes<K>::value + min_bytes<V>::value);
  if (p.isUnpacking()) {
    c.clear();
    if constexpr (can_reserve<C>::value) c.reserve(reservable<typename C::value_type>(p, n));
    for (std::size_t i = 0; i < n; ++i) {
      TemporaryObjectHolder<K> key;
      p.syncComment(sync_index);
      p | key.t;
      p.syncComment(sync_item);
      p | emplace_blank_at_end(c, std::move(key.t))->second;
    }
  } else {
    for (auto& item : c) {
      p.syncComment(sync_index);
      p | const_cast<K&>(item.first);
      p.syncComment(sync_item);
      p | item.second;
    }
  }
  p.syncComment(sync_end_list);
}

}  // namespace detail

#define PUP_STL_SET(container)                                                                            \
  template <class... T>                                                                                   \
  struct min_bytes<container<T...>, false> : std::integral_constant<std::size_t, sizeof(std::size_t)> {}; \
  template <class... T>                                                                                   \
  inline void operator|(er& p, container<T...>& c) {                                                      \
    detail::pup_set(p, c);                                                                                \
  }
#define PUP_STL_MAP(container)                                                                            \
  template <class... T>                                                                                   \
  struct min_bytes<container<T...>, false> : std::integral_constant<std::size_t, sizeof(std::size_t)> {}; \
  template <class... T>                                                                                   \
  inline void operator|(er& p, container<T...>& c) {                                                      \
    detail::pup_map(p, c);                                                                                \
  }
PUP_STL_SET(std::set)
PUP_STL_SET(std::multiset)
PUP_STL_SET(std::unordered_set)
PUP_STL_SET(std::unordered_multiset)
PUP_STL_MAP(std::map)
PUP_STL_MAP(std::multimap)
PUP_STL_MAP(std::unordered_map)
PUP_STL_MAP(std::unordered_multimap)
#undef PUP_STL_SET
#undef PUP_STL_MAP

// ---- a program's own containers
// ----------------------------------------------------------------------------------------

namespace detail {
template <class C, class T, class = void>
struct can_emplace_back : std::false_type {};
template <class C, class T>
struct can_emplace_back<C, T, periapt::void_t<decltype(std::declval<C&>().emplace_back(std::declval<T>()))>>
    : std::true_type {};
}  // namespace detail

/// The length of a container, which is answered.
template <class container>
inline std::size_t PUP_stl_container_size(er& p, container& c) {
  return detail::pup_length(p, c.size(), 0);
}
/// So many items, each a T. What was there before they are unpacked is not any more.
template <class container, class T>
inline void PUP_stl_container_items(er& p, container& c, std::size_t n) {
  if (!p.isUnpacking()) {
    for (auto&& item : c) {
      p.syncComment(sync_item);
      if constexpr (std::is_lvalue_reference<decltype(*c.begin())>::value) {
        p | const_cast<T&>(item);
      } else {  // a vector of bools has none that could be referred to
        T value(item);
        p | value;
      }
    }
    return;
  }
  c.clear();
  if constexpr (detail::can_reserve<container>::value) c.reserve(detail::reservable<T>(p, n));
  for (std::size_t i = 0; i < n; ++i) {
    p.syncComment(sync_item);
    detail::TemporaryObjectHolder<T> item;
    p | item.t;
    if constexpr (detail::can_emplace_back<container, T&&>::value) {
      c.emplace_back(std::move(item.t));
    } else {
      c.emplace(std::move(item.t));
    }
  }
}
/// Both.
template <class container, class T>
inline void PUP_stl_container(er& p, container& c) {
  p.syncComment(sync_begin_array);
  PUP_stl_container_items<container, T>(p, c, PUP_stl_container_size(p, c));
  p.syncComment(sync_end_array);
}
/// The same of one that has keys and values.
template <class container, class...>
inline void PUP_stl_map(er& p, container& c) {
  detail::pup_map(p, c);
}

// ---- small aggregates
// -------------------------------------------------------------------------------------------------

template <class A, class B>
struct min_bytes<std::pair<A, B>, false>
    : std::integral_constant<std::size_t, min_bytes<typename std::remove_const<A>::type>::value + min_bytes<B>::value> {
};
template <class A, class B, typename std::enable_if<!as_bytes<std::pair<A, B>>::value, int>::type = 0>
inline void operator|(er& p, std::pair<A, B>& v) {
  detail::parts<std::pair<A, B>>::each(p, v);
}

namespace detail {
template <class Tuple, std::size_t... I>
inline void pup_items(er& p, Tuple& v, std::index_sequence<I...>) {
  (void(p | std::get<I>(v)), ...);
  (void)p;
}
}  // namespace detail
template <class... T>
struct min_bytes<std::tuple<T...>, false>
    : std::integral_constant<std::size_t, (std::size_t(0) + ... + min_bytes<T>::value)> {};
template <class... T>
inline void operator|(er& p, std::tuple<T...>& v) {
  detail::pup_items(p, v, std::index_sequence_for<T...>());
}

template <class T, std::size_t N>
struct min_bytes<std::array<T, N>, false> : std::integral_constant<std::size_t, N * min_bytes<T>::value> {};
template <class T, std::size_t N, typename std::enable_if<!as_bytes<std::array<T, N>>::value, int>::type = 0>
inline void operator|(er& p, std::array<T, N>& a) {
  for (T& item : a) p | item;
}

template <class T, typename std::enable_if<!as_bytes<std::complex<T>>::value, int>::type = 0>
inline void operator|(er& p, std::complex<T>& v) {
  T re = v.real(), im = v.imag();
  p | re;
  p | im;
  v = std::complex<T>(re, im);
}

#if __cplusplus >= 201703L
inline void operator|(er&, std::monostate&) {}

template <class T>
struct min_bytes<std::optional<T>, false> : std::integral_constant<std::size_t, 1> {};
template <class T>
inline void operator|(er& p, std::optional<T>& v) {
  bool has = v.has_value();
  p | has;
  if (p.isUnpacking()) {
    v.reset();
    if (has) {
      detail::TemporaryObjectHolder<T> item;
      p | item.t;
      v.emplace(std::move(item.t));
    }
  } else if (has) {
    p | *v;
  }
}

namespace detail {
template <std::size_t I = 0, class... T>
inline void unpack_alternative(er& p, std::variant<T...>& v, std::size_t index) {
  if constexpr (I < sizeof...(T)) {
    if (index != I) return unpack_alternative<I + 1>(p, v, index);
    TemporaryObjectHolder<std::variant_alternative_t<I, std::variant<T...>>> item;
    p | item.t;
    v.template emplace<I>(std::move(item.t));
  } else {
    raise(error::kind::bad_value, &p,
          std::string("PUP: a std::variant has no alternative number ") + std::to_string(index));
  }
}
}  // namespace detail

template <class... T>
struct min_bytes<std::variant<T...>, false> : std::integral_constant<std::size_t, 4> {};
template <class... T>
inline void operator|(er& p, std::variant<T...>& v) {
  std::uint32_t index = static_cast<std::uint32_t>(v.index());
  if (!p.isUnpacking() && v.valueless_by_exception()) {
    detail::raise(error::kind::misuse, &p, "PUP: a std::variant that holds no value cannot be packed");
  }
  p | index;
  if (p.isUnpacking()) {
    detail::unpack_alternative(p, v, index);
  } else {
    std::visit([&p](auto& item) { p | item; }, v);
  }
}
#endif

template <class T>
inline void operator|(er& p, std::atomic<T>& v) {
  T value = v.load();
  p | value;
  if (p.isUnpacking()) v.store(value);
}

template <std::size_t N>
inline void operator|(er& p, std::bitset<N>& v) {
  unsigned char bytes[(N + 7) / 8 + 1] = {};
  for (std::size_t i = 0; i < N; ++i) bytes[i / 8] |= static_cast<unsigned char>(v[i] << i % 8);
  p(bytes, (N + 7) / 8);
  if (!p.isUnpacking()) return;
  for (std::size_t i = 0; i < N; ++i) v[i] = bytes[i / 8] >> i % 8 & 1;
}

template <class Rep, class Period>
inline void operator|(er& p, std::chrono::duration<Rep, Period>& d) {
  Rep count = d.count();
  p | count;
  if (p.isUnpacking()) d = std::chrono::duration<Rep, Period>(count);
}
template <class Clock, class Duration>
inline void operator|(er& p, std::chrono::time_point<Clock, Duration>& t) {
  Duration since = t.time_since_epoch();
  p | since;
  if (p.isUnpacking()) t = std::chrono::time_point<Clock, Duration>(since);
}

// ---- owning pointers
// --------------------------------------------------------------------------------------------------

/// Null or not, then the object; an object of a PUP::able class keeps its class. What two shared_ptr share becomes two
/// objects.
template <class T>
struct min_bytes<std::unique_ptr<T>, false> : std::integral_constant<std::size_t, 1> {};
template <class T>
inline void operator|(er& p, std::unique_ptr<T>& t) {
  static_assert(!std::is_array<T>::value, "PUP: the length of a unique_ptr<T[]> is not known; use a std::vector");
  if constexpr (std::is_base_of<able, T>::value) {
    T* raw = p.isUnpacking() ? nullptr : t.get();
    detail::pup_able_pointer(p, raw);
    if (p.isUnpacking()) t.reset(raw);
  } else {
    typedef typename std::remove_const<T>::type value;
    static_assert(!std::is_abstract<value>::value,
                  "PUP: no object of an abstract class can be made to unpack into. Derive the class from PUP::able.");
    bool is_null = !t;
    p | is_null;
    if (p.isUnpacking()) t.reset(is_null ? nullptr : detail::make_blank<value>());
    if (is_null) return;
    detail::scope here(p, detail::signature<std::unique_ptr<T>>);
    p | const_cast<value&>(*t);
  }
}
template <class T>
struct min_bytes<std::shared_ptr<T>, false> : std::integral_constant<std::size_t, 1> {};
template <class T>
inline void operator|(er& p, std::shared_ptr<T>& t) {
  struct Lent {  // while packing the object is still t's, also when packing throws
    std::unique_ptr<T> one;
    bool lent;
    ~Lent() {
      if (lent) static_cast<void>(one.release());
    }
  } lent{std::unique_ptr<T>(p.isUnpacking() ? nullptr : t.get()), !p.isUnpacking()};
  p | lent.one;
  if (p.isUnpacking()) t = std::move(lent.one);
}

}  // namespace PUP
