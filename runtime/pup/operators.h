// p | x for every type there is a way to pup, and the macros that pup routines are written with.
//
// In order of preference: an operator| of the program's own for the type; memory image for as-bytes types; the member
// pup(PUP::er&); arrays element by element. A type with none of these meets a static_assert that says what to add.
// Objects that are const or temporary can be sized and packed; unpacking into a const object is an error.
#pragma once

#include "runtime/pup/able.h"
#include "runtime/pup/er.h"
#include "runtime/pup/memory.h"

namespace PUP {

namespace detail {

struct not_pupable {};

/// Reached only by a conversion, so chosen only when no other operator| fits.
struct any_er {
  any_er(er&) {}
};
struct any_value {
  template <class T>
  any_value(T&) {
    typedef typename std::remove_cv<T>::type U;
    static_assert(
        !std::is_pointer<U>::value,
        "PUP cannot pack a pointer: it means nothing in another process. Pup what it points to (p | *x), hold "
        "it in a std::unique_ptr or std::vector, or derive its class from PUP::able.");
    static_assert(
        std::is_pointer<U>::value,
        "PUP does not know how to pack this type. Either give it a member function void pup(PUP::er& p) that "
        "lists its members (p | a; p | b;), public or befriended; or, if its bytes can simply be copied (no "
        "pointers, nothing virtual), write PUPbytes(Type) after it at file scope; or define operator|(PUP::er&, "
        "Type&). For types of the standard library include pup_stl.h.");
  }
};
inline not_pupable operator|(any_er, any_value) { return {}; }

template <class T>
inline void operator|(er& p, TemporaryObjectHolder<T>& holder) {
  p | holder.t;
}

template <class T>
struct is_plain_lvalue
    : std::integral_constant<bool, std::is_lvalue_reference<T>::value &&
                                       !std::is_const<typename std::remove_reference<T>::type>::value> {};

}  // namespace detail
using detail::operator|;

// ---- as bytes
// ---------------------------------------------------------------------------------------------------------

template <class T, typename std::enable_if<as_bytes<T>::value && !std::is_const<T>::value, int>::type = 0>
inline void operator|(er& p, T& t) {
  p.array(&t, 1);
}

/// The same with the stream's own type known: a memcpy.
template <class P, class T,
          typename std::enable_if<detail::is_memory_er<P>::value && as_bytes<T>::value &&
                                      !(detail::is_memory_reader<P>::value && std::is_const<T>::value),
                                  int>::type = 0>
inline void operator|(P& p, T& t) {
  p.array(&t, 1);
}

// ---- by the member pup
// ------------------------------------------------------------------------------------------------

template <class T, typename std::enable_if<
                       !as_bytes<T>::value && details::is_pupable<T>::value && !std::is_const<T>::value, int>::type = 0>
inline void operator|(er& p, T& t) {
  detail::scope here(p, detail::signature<T>);
  p.syncComment(sync_begin_object);
  t.pup(p);
  p.syncComment(sync_end_object);
}

// ---- arrays
// -----------------------------------------------------------------------------------------------------------

template <class T, typename std::enable_if<as_bytes<T>::value, int>::type = 0>
inline void PUParray(er& p, T* a, std::size_t n) {
  p.array(a, n);
}
template <class T, typename std::enable_if<!as_bytes<T>::value, int>::type = 0>
inline void PUParray(er& p, T* a, std::size_t n) {
  p.syncComment(sync_begin_array);
  for (std::size_t i = 0; i < n; ++i) {
    p.syncComment(sync_item);
    p | a[i];
  }
  p.syncComment(sync_end_array);
}

template <class T, std::size_t N,
          typename std::enable_if<!as_bytes<T>::value && !std::is_const<T>::value, int>::type = 0>
inline void operator|(er& p, T (&a)[N]) {
  PUParray(p, a, N);
}

namespace detail {
template <class T, std::size_t N>
struct parts<T[N]> {
  enum { value = 1 };
  static void each(er& p, T (&a)[N]) { PUParray(p, a, N); }
};
}  // namespace detail

// ---- which of all that applies
// ----------------------------------------------------------------------------------------

/// Whether p | x compiles for a T x, in whatever way.
template <class T>
struct is_pupable
    : std::integral_constant<
          bool, !std::is_same<decltype(std::declval<er&>() | std::declval<typename std::remove_cv<T>::type&>()),
                              detail::not_pupable>::value> {};

// ---- const and temporary objects
// --------------------------------------------------------------------------------------

template <class T, typename std::enable_if<!detail::is_plain_lvalue<T>::value, int>::type = 0>
inline auto operator|(er& p, T&& t) -> typename std::enable_if<
    is_pupable<typename std::remove_cv<typename std::remove_reference<T>::type>::type>::value>::type {
  typedef typename std::remove_reference<T>::type given;
  typedef typename std::remove_cv<given>::type value;
  if constexpr (!as_bytes<value>::value && details::is_pupable<given>::value) {
    t.pup(p);
  } else {
    if (std::is_const<given>::value && p.isUnpacking()) detail::raise_const(p, detail::signature<given>());
    p | const_cast<value&>(t);
  }
}

// ---- pointers to objects of PUP::able types
// ---------------------------------------------------------------------------

inline void operator|(er& p, able& a) { a.pup(p); }
inline void operator|(er& p, able*& a) { p(&a); }

/// For classes derived from PUP::able that did not declare their own (PUPable_decl does).
template <class T,
          typename std::enable_if<std::is_base_of<able, T>::value && !std::is_same<able, T>::value, int>::type = 0>
inline void operator|(er& p, T*& a) {
  detail::pup_able_pointer(p, a);
}

// ---- pointers to functions
// --------------------------------------------------------------------------------------------

namespace detail {
void pup_function(er& p, void* pointer_to_function_pointer);
}
/// A function's address travels relative to this library's code: it is right in every process that runs the same
/// executable, wherever that was loaded.
template <class F, typename std::enable_if<std::is_function<F>::value, int>::type = 0>
inline void operator|(er& p, F*& f) {
  detail::pup_function(p, &f);
}

// ---- whole objects to and from buffers
// --------------------------------------------------------------------------------

/// Bytes that t packs to.
template <class T>
inline std::size_t size(T& t) {
  detail::counter p;
  p | t;
  return p.size();
}

namespace detail {
[[noreturn]] void raise_size_mismatch(const er& p, std::size_t expected, const char* signature);
}

/// Packs t into exactly len bytes.
template <class T>
inline void toMemBuf(T& t, void* buf, std::size_t len) {
  detail::writer p(buf, len);
  p | t;
  if (p.size() != len) detail::raise_size_mismatch(p, len, detail::signature<T>());
}
/// Unpacks t from exactly len bytes.
template <class T>
inline void fromMemBuf(T& t, const void* buf, std::size_t len) {
  detail::reader p(buf, len);
  p | t;
  if (p.size() != len) detail::raise_size_mismatch(p, len, detail::signature<T>());
}

}  // namespace PUP

/// At file scope, after the type: its packed form is its memory image. Not for types with pointers or virtual
/// functions.
#define PUPbytes(...)           \
  namespace PUP {               \
  template <>                   \
  class as_bytes<__VA_ARGS__> { \
   public:                      \
    enum { value = 1 };         \
  };                            \
  }
#define PUPmarshallBytes(...) PUPbytes(__VA_ARGS__)

/// Once needed to make a type with a pup routine a parameter; now only checks that it has one.
#define PUPmarshall(...) \
  static_assert(::PUP::details::is_pupable<__VA_ARGS__>::value, #__VA_ARGS__ " has no member pup(PUP::er&)");

/// Enumerations are packed as the integer they are; a line of this for one is not needed but does no harm.
#define PUPenum(enumType) static_assert(::std::is_enum<enumType>::value, #enumType " is not an enumeration");

/// Every type of function pointer is pupable; programs need not name theirs, but may.
#define PUPfunctionpointer(fnPtrType)                                              \
  static_assert(::std::is_function<::std::remove_pointer<fnPtrType>::type>::value, \
                #fnPtrType " is not a pointer to functions");

/// In a pup routine with a PUP::er named p: p | field, with the field's name as a comment.
#define PUPn(field)                         \
  do {                                      \
    if (p.hasComments()) p.comment(#field); \
    p | field;                              \
  } while (0)

/// The same for the first `len` elements of an array.
#define PUPv(field, len)                    \
  do {                                      \
    if (p.hasComments()) p.comment(#field); \
    PUParray(p, field, len);                \
  } while (0)

/// Historical spelling, in front of pup routines of base classes.
#define PUP_VIRTUAL virtual
