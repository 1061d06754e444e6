// PUP::able: objects whose class is only known when they are unpacked.
//
// A class derives from PUP::able, writes PUPable_decl(Name) in its body, has a constructor Name(CkMigrateMessage*), and a
// pup routine that calls its base's. PUPable_def(Name) stands in one source file, and PUPable_reg(Name) runs at start-up in
// every process ("PUPable Name;" in a .ci file does both). Then a pointer to any base is packed with p | pointer, and
// unpacked as a new object of the right class. On the wire stands a 64-bit hash of the registered name; null is zero.
#pragma once

#include "runtime/pup/er.h"

namespace PUP {

class able {
 public:
  /// Names a class across processes and runs.
  class PUP_ID {
   public:
    enum { len = 8 };
    unsigned char hash[len];
    PUP_ID() : PUP_ID(0) {}
    PUP_ID(int value) {
      for (unsigned char& h : hash) h = static_cast<unsigned char>(value);
    }
    PUP_ID(const char* name) { setName(name); }
    void setName(const char* name);
    bool operator==(const PUP_ID& other) const { return std::memcmp(hash, other.hash, len) == 0; }
    bool operator!=(const PUP_ID& other) const { return !(*this == other); }
    void pup(er& p) { p(hash, len); }
    void pup(er& p) const { p(hash, len); }
  };

  virtual ~able();

  typedef able* (*constructor_function)();
  /// Any thread may register at any time; the same name again replaces. Two names with one hash are an error.
  static PUP_ID register_constructor(const char* className, constructor_function fn);
  /// An id that is not registered is an error.
  static constructor_function get_constructor(const PUP_ID& id);

  /// A new object with the same contents, made by packing and unpacking.
  virtual able* clone() const;
  virtual void pup(er& p);
  virtual const PUP_ID& get_PUP_ID() const = 0;

 protected:
  able() {}
  able(CkMigrateMessage*) {}
  able(const able&) = default;
  able& operator=(const able&) = default;
};

namespace detail {

[[noreturn]] void raise_wrong_class(er& p, const able* got, const char* wanted_signature);

template <class T>
inline void pup_able_pointer(er& p, T*& a) {
  able* base = const_cast<typename std::remove_const<T>::type*>(a);
  p(&base);
  if (!p.isUnpacking()) return;
  a = dynamic_cast<T*>(base);
  if (base && !a) raise_wrong_class(p, base, signature<T>());
}

}  // namespace detail
}  // namespace PUP

typedef PUP::able PUPable;

#ifdef __clang__  // the macros below must fit classes that write `override` and classes that do not
#define PUP_QUIET_BEGIN \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Winconsistent-missing-override\"")
#define PUP_QUIET_END _Pragma("clang diagnostic pop")
#else
#define PUP_QUIET_BEGIN
#define PUP_QUIET_END
#endif

#ifndef SINGLE_ARG
#define SINGLE_ARG(...) __VA_ARGS__
#endif

/// p | object and p | pointer, as friends of the class.
#define PUPable_operator_inside(...)                             \
  friend inline void operator|(PUP::er& p, __VA_ARGS__& a) {     \
    PUP::detail::scope here(p, PUP::detail::signature<__VA_ARGS__>); \
    a.pup(p);                                                    \
  }                                                              \
  friend inline void operator|(PUP::er& p, __VA_ARGS__*& a) { PUP::detail::pup_able_pointer(p, a); }

/// The same at file scope.
#define PUPable_operator_outside(...)                                      \
  inline void operator|(PUP::er& p, __VA_ARGS__& a) {                      \
    PUP::detail::scope here(p, PUP::detail::signature<__VA_ARGS__>);       \
    a.pup(p);                                                              \
  }                                                                        \
  inline void operator|(PUP::er& p, __VA_ARGS__*& a) { PUP::detail::pup_able_pointer(p, a); }

/// In the body of a concrete class.
#define PUPable_decl(...) PUPable_decl_inside(__VA_ARGS__) PUPable_operator_inside(__VA_ARGS__)

/// In the body of a concrete class, without the operators.
#define PUPable_decl_inside(...)                            \
 private:                                                   \
  static PUP::able* call_PUP_constructor(void);             \
  static PUP::able::PUP_ID my_PUP_ID;                       \
                                                            \
 public:                                                    \
  PUP_QUIET_BEGIN                                           \
  virtual const PUP::able::PUP_ID& get_PUP_ID(void) const;  \
  PUP_QUIET_END                                             \
  static void register_PUP_ID(const char* name);

/// In the body of a class template; each instance that is used wants PUPable_def_template and PUPable_reg.
#define PUPable_decl_template(...) PUPable_decl_inside_template(__VA_ARGS__) PUPable_operator_inside(__VA_ARGS__)

#define PUPable_decl_inside_template_(register_constructor_, ...)                                               \
 private:                                                                                                       \
  static PUP::able* call_PUP_constructor(void) {                                                                \
    return new __VA_ARGS__(static_cast<CkMigrateMessage*>(nullptr));                                            \
  }                                                                                                             \
  static PUP::able::PUP_ID my_PUP_ID;                                                                           \
                                                                                                                \
 public:                                                                                                        \
  PUP_QUIET_BEGIN                                                                                               \
  virtual const PUP::able::PUP_ID& get_PUP_ID(void) const { return my_PUP_ID; }                                 \
  PUP_QUIET_END                                                                                                 \
  static void register_PUP_ID(const char* name) { my_PUP_ID = register_constructor_(name, call_PUP_constructor); }

#define PUPable_decl_inside_template(...) \
  PUPable_decl_inside_template_(PUP::able::register_constructor, __VA_ARGS__)

/// For a class template whose base is given as a macro argument; put commas inside SINGLE_ARG().
#define PUPable_decl_inside_base_template(baseClassName, ...) PUPable_decl_inside_template(__VA_ARGS__)
#define PUPable_decl_base_template(baseClassName, ...) PUPable_decl_template(__VA_ARGS__)

/// At file scope, beside PUPable_decl_inside: the operators.
#define PUPable_decl_outside(...) PUPable_operator_outside(__VA_ARGS__)

/// At file scope, beside PUPable_decl_inside of a class template: operators and members.
#define PUPable_decl_outside_template(templateParameters, ...)                                                  \
  template <templateParameters>                                                                                 \
  inline void operator|(PUP::er& p, __VA_ARGS__& a) {                                                           \
    a.pup(p);                                                                                                   \
  }                                                                                                             \
  template <templateParameters>                                                                                 \
  inline void operator|(PUP::er& p, __VA_ARGS__*& a) {                                                          \
    PUP::detail::pup_able_pointer(p, a);                                                                        \
  }                                                                                                             \
  template <templateParameters>                                                                                 \
  PUP::able* __VA_ARGS__::call_PUP_constructor(void) {                                                          \
    return new __VA_ARGS__(static_cast<CkMigrateMessage*>(nullptr));                                            \
  }                                                                                                             \
  template <templateParameters>                                                                                 \
  const PUP::able::PUP_ID& __VA_ARGS__::get_PUP_ID(void) const {                                                \
    return my_PUP_ID;                                                                                           \
  }                                                                                                             \
  template <templateParameters>                                                                                 \
  void __VA_ARGS__::register_PUP_ID(const char* name) {                                                         \
    my_PUP_ID = PUP::able::register_constructor(name, call_PUP_constructor);                                    \
  }

/// In the body of an abstract class: no def, no reg.
#define PUPable_abstract(...)                                   \
 public:                                                        \
  PUP_QUIET_BEGIN                                               \
  virtual const PUP::able::PUP_ID& get_PUP_ID(void) const = 0;  \
  PUP_QUIET_END                                                 \
  PUPable_operator_inside(__VA_ARGS__)

/// Once, at file scope.
#define PUPable_def(...)                                                                            \
  PUP::able* __VA_ARGS__::call_PUP_constructor(void) {                                              \
    return new __VA_ARGS__(static_cast<CkMigrateMessage*>(nullptr));                                \
  }                                                                                                 \
  const PUP::able::PUP_ID& __VA_ARGS__::get_PUP_ID(void) const { return __VA_ARGS__::my_PUP_ID; }   \
  PUP::able::PUP_ID __VA_ARGS__::my_PUP_ID;                                                         \
  void __VA_ARGS__::register_PUP_ID(const char* name) {                                             \
    my_PUP_ID = PUP::able::register_constructor(name, __VA_ARGS__::call_PUP_constructor);           \
  }

/// Once for each instance of a class template.
#define PUPable_def_template(...) \
  template <>                     \
  PUP::able::PUP_ID __VA_ARGS__::my_PUP_ID = 0;
#define PUPable_def_template_nonInst(...) PUP::able::PUP_ID __VA_ARGS__::my_PUP_ID = 0;

/// At start-up in every process: register under the class's name, or under another.
#define PUPable_reg(...) __VA_ARGS__::register_PUP_ID(#__VA_ARGS__);
#define PUPable_reg2(classIdentifier, className) classIdentifier::register_PUP_ID(className);
