// Pointers as members and as parameters of entry methods: ptr_helper, CkPointer<T>, CkReference<T>.
#pragma once

#include "runtime/pup/operators.h"

namespace PUP {

/// Packs whether a pointer is null and, if not, what it points to; unpacking makes the object. For PUP::able types the
/// object keeps its class.
template <class T, bool PUPable = std::is_base_of<able, T>::value>
struct ptr_helper;

template <class T>
struct ptr_helper<T, true> {
  void operator()(er& p, T*& t) const {
    bool is_nullptr = t == nullptr;
    p | is_nullptr;
    if (!is_nullptr) {
      detail::pup_able_pointer(p, t);
    } else if (p.isUnpacking()) {
      t = nullptr;
    }
  }
};

template <class T>
struct ptr_helper<T, false> {
  void operator()(er& p, T*& t) const {
    typedef typename std::remove_const<T>::type value;
    static_assert(!std::is_abstract<value>::value,
                  "PUP: no object of an abstract class can be made to unpack into. Derive the class from PUP::able.");
    bool is_nullptr = t == nullptr;
    p | is_nullptr;
    if (p.isUnpacking()) t = nullptr;
    if (is_nullptr) return;
    if (p.isUnpacking()) t = detail::make_blank<value>();
    detail::scope here(p, detail::signature<T>);
    p | const_cast<value&>(*t);
  }
};

}  // namespace PUP

/// CkPointer<T> t as a parameter is to marshalling what T* t is to a call. The receiver that takes the pointer out owns
/// the object; if no caller does it is deleted with the CkPointer. T derives from PUP::able (or is any pupable type).
template <class T>
class CkPointer {
  T* allocated;  // made by unpacking and not yet taken
  T* ptr;

 protected:
  T* peek() { return ptr; }
  CkPointer(T* src, T* alloc) : allocated(alloc), ptr(src) {}

 public:
  CkPointer() : CkPointer(nullptr, nullptr) {}
  CkPointer(T* src) : CkPointer(src, nullptr) {}
  CkPointer(CkPointer&& other) noexcept : CkPointer(other.ptr, other.allocated) {
    other.allocated = other.ptr = nullptr;
  }
  CkPointer(const CkPointer&) = delete;
  CkPointer& operator=(const CkPointer&) = delete;
  CkPointer& operator=(CkPointer&&) = delete;
  ~CkPointer() { delete allocated; }

  /// Takes the object: deleting it becomes the caller's business.
  operator T*() {
    allocated = nullptr;
    return ptr;
  }

  void pup(PUP::er& p) {
    PUP::ptr_helper<T>()(p, ptr);
    if (p.isUnpacking()) {
      delete allocated;
      allocated = ptr;
    }
  }
  friend inline void operator|(PUP::er& p, CkPointer<T>& v) { v.pup(p); }
};
#define PUPable_marshall CkPointer

/// The same for T&: the object lives as long as the CkReference.
template <class T>
class CkReference : private CkPointer<T> {
 public:
  CkReference() {}
  CkReference(T& src) : CkPointer<T>(&src) {}
  operator T&() { return *this->peek(); }

  void pup(PUP::er& p) { CkPointer<T>::pup(p); }
  friend inline void operator|(PUP::er& p, CkReference<T>& v) { v.pup(p); }
};
