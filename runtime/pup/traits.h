// Questions about a type that packing needs answered at compile time.
//
//   PUP::as_bytes<T>::value     the packed form of a T is its memory image: sizeof(T) bytes, so it may be memcpy'd
//   PUP::min_bytes<T>::value    the least number of bytes a packed T can take (0: not known)
//   PUP::details::is_pupable<T> T has a member pup(PUP::er&)
//   PUP::is_pupable<T>          p | t compiles, in whatever way (needs operators.h)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/void_t.h"

/// Names the migration constructor: X(CkMigrateMessage*) makes an object that is about to be unpacked.
typedef struct CkMigrateMessage {
  int is_only_a_name;
} CkMigrateMessage;

namespace PUP {

class er;
class able;

#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;
#else
struct int128;
struct uint128;
#endif

/// A class may have a constructor that takes this, for objects that are about to be unpacked and so need no default
/// constructor.
struct reconstruct {};

/// What an item is, so that readers of another representation can convert it.
typedef enum {
  Tchar = 0,
  Tshort,
  Tint,
  Tlong,
  Tlonglong,
  Tuchar,
  Tushort,
  Tuint,
  Tulong,
  Tulonglong,
  Tint128,
  Tuint128,
  Tfloat,
  Tdouble,
  Tlongdouble,
  Tbool,
  Tbyte,
  Tsync,
  Tpointer,
  dataType_last
} dataType;

namespace detail {

template <class T>
struct is_int128 : std::integral_constant<bool, std::is_same<T, int128>::value || std::is_same<T, uint128>::value> {};

template <class T>
struct is_builtin : std::integral_constant<bool, std::is_arithmetic<T>::value || is_int128<T>::value> {};

template <class T>
constexpr dataType integer_type() {
  constexpr bool is_signed = std::is_signed<T>::value;
  if (sizeof(T) == 1) return is_signed ? Tchar : Tuchar;
  if (sizeof(T) == sizeof(short)) return is_signed ? Tshort : Tushort;
  if (sizeof(T) == sizeof(int)) return is_signed ? Tint : Tuint;
  if (std::is_same<T, long>::value || std::is_same<T, unsigned long>::value) return is_signed ? Tlong : Tulong;
  return is_signed ? Tlonglong : Tulonglong;
}

template <class T>
constexpr dataType data_type() {
  if constexpr (std::is_same<T, bool>::value) {
    return Tbool;
  } else if constexpr (std::is_same<T, char>::value) {
    return Tchar;  // whatever its sign: text
  } else if constexpr (std::is_same<T, float>::value) {
    return Tfloat;
  } else if constexpr (std::is_same<T, double>::value) {
    return Tdouble;
  } else if constexpr (std::is_same<T, long double>::value) {
    return Tlongdouble;
  } else if constexpr (std::is_same<T, int128>::value) {
    return Tint128;
  } else if constexpr (std::is_same<T, uint128>::value) {
    return Tuint128;
  } else if constexpr (std::is_integral<T>::value) {
    return integer_type<T>();
  } else if constexpr (std::is_enum<T>::value) {
    return data_type<typename std::underlying_type<T>::type>();
  } else {
    return Tbyte;
  }
}

/// The text of T's name is cut out of this when an error needs it; no RTTI.
template <class T>
const char* signature() {
  return __PRETTY_FUNCTION__;
}

/// How an as-bytes type is made of smaller ones, for streams that convert items: a specialization has
/// static void each(er&, T&). Types without one are opaque bytes.
template <class T>
struct parts {
  enum { value = 0 };
};

}  // namespace detail

template <class T>
inline constexpr dataType getXlateDataType(T*) {
  return detail::data_type<typename std::remove_cv<T>::type>();
}

/// Declared true for a type by PUPbytes(T). Specialize it only before T is first pupped.
template <class T>
class as_bytes {
 public:
  enum { value = detail::is_builtin<T>::value || std::is_enum<T>::value };
};
template <class T>
class as_bytes<const T> : public as_bytes<T> {};
template <class T, std::size_t N>
class as_bytes<T[N]> : public as_bytes<T> {};

template <class T, bool bytes = as_bytes<T>::value>
struct min_bytes : std::integral_constant<std::size_t, 0> {};
template <class T>
struct min_bytes<T, true> : std::integral_constant<std::size_t, sizeof(T)> {};

namespace details {

template <class T, class = void>
struct is_pupable : std::false_type {};
template <class T>
struct is_pupable<T, periapt::void_t<decltype(std::declval<T&>().pup(std::declval<er&>()))>> : std::true_type {};

}  // namespace details

namespace detail {

/// Value of T that is about to be unpacked over: made by T(PUP::reconstruct), T(), or T((CkMigrateMessage*)nullptr). It
/// is made where it stays: a T need not be movable.
template <class T, bool b = std::is_constructible<T, reconstruct>::value>
struct TemporaryObjectHolder;
template <class T>
struct TemporaryObjectHolder<T, true> {
  typedef typename std::remove_cv<typename std::remove_reference<T>::type>::type value_type;
  value_type t;
  TemporaryObjectHolder() : t(reconstruct()) {}
};
template <class T>
struct TemporaryObjectHolder<T, false> {
  typedef typename std::remove_cv<typename std::remove_reference<T>::type>::type value_type;
  value_type t;
  TemporaryObjectHolder()
      : TemporaryObjectHolder(std::integral_constant < bool, std::is_default_constructible<value_type>::value ||
                                                                 !std::is_class<value_type>::value > ()) {}
  static CkMigrateMessage* migrating() {
    static_assert(std::is_constructible<value_type, CkMigrateMessage*>::value,
                  "PUP: to unpack an object of this type one must first be made. Give it a default constructor, or a "
                  "constructor that takes PUP::reconstruct.");
    return nullptr;
  }

 private:
  explicit TemporaryObjectHolder(std::true_type) : t{} {}
  explicit TemporaryObjectHolder(std::false_type) : t(migrating()) {}
};

/// new T, in the same order of preference.
template <class T>
T* make_blank() {
  if constexpr (std::is_constructible<T, reconstruct>::value) {
    return new T(reconstruct());
  } else if constexpr (std::is_default_constructible<T>::value) {
    return new T();
  } else {
    static_assert(std::is_constructible<T, CkMigrateMessage*>::value,
                  "PUP: to unpack an object of this type one must first be made. Give it a default constructor, or a "
                  "constructor that takes PUP::reconstruct.");
    return new T(static_cast<CkMigrateMessage*>(nullptr));
  }
}

}  // namespace detail
}  // namespace PUP
