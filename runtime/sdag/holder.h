// An object whose class has bodies in its .ci. `CBase_X` of such a class derives from With<Parent, X>, which holds the
// machine, packs it with the object and destroys it with the object. C++17: reached from charm++.h.
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>

#include "base/void_t.h"
#include "runtime/api/invoke.h"
#include "runtime/api/objects.h"
#include "runtime/sdag/bodies.h"

namespace periapt::sdag {

class Machine;

// The reference number of a call, if it has one.
struct Reference {
  std::int64_t number = 0;
  bool is_there = false;
};

class Holder {
 public:
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

 protected:
  explicit Holder(const ObjectKind& kind) : kind_(kind) {}
  ~Holder() {
    if (machine_) gone();
  }
  void pup_machine(PUP::er& p);
  bool runs(int to);
  void set_leaving();

 private:
  friend void begin(Holder&, int, Delivery&);
  friend void beginMessage(Holder&, int, void*);
  friend void arrive(Holder&, int, Delivery&, Reference);
  friend void arriveMessage(Holder&, int, void*);
  friend void numberOfMessage(Holder&, void*);
  Machine& machine();
  void gone();
  const ObjectKind& kind_;
  Machine* machine_ = nullptr;  // made when it is first needed
};

// The body of an entry begins; a message for an entry that is waited for has come. The second forms: the entry takes a
// message, which the program owns.
void begin(Holder& holder, int entry, Delivery& call);
void beginMessage(Holder& holder, int entry, void* message);
void arrive(Holder& holder, int entry, Delivery& call, Reference reference);
void arriveMessage(Holder& holder, int entry, void* message);
// The next call that arrives is made of this message, a reduction's, and has its number (CkCallback::setRefNum()).
void numberOfMessage(Holder& holder, void* message);

// The reference number of marshalled arguments is the first of them, if that is a number.
template <class First>
constexpr bool refers = std::is_arithmetic<First>::value || std::is_enum<First>::value;
template <class First, int ncpy_arrays = 0>
Reference referenceOf(const Delivery& call) {
  if constexpr (refers<First>) {
    Unmarshal in(call, ncpy_arrays == 0 ? 0 : zero_copy::arguments_at(ncpy_arrays));
    return {static_cast<std::int64_t>(*in.plain<First>()), true};
  } else {
    return {};
  }
}

// The caller of a [sync] entry goes on when the entry's body waits for the first time, or has ended. A call as a
// function, by direct(), has no such caller.
class Answering {
 public:
  Answering(const Delivery& call, int entry) {
    if (call.entry == entry) caller_ = syncCaller(call);
  }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;
  ~Answering() {
    if (caller_.future != 0) replySync(caller_);
  }

 private:
  SyncCaller caller_{};
};

// Calls the function of an entry on an object that is here, as if a message with these arguments had come.
template <class... A>
void direct(EntryFunction call, void* object, const A&... arguments) {
  Delivery delivery(Message::from_payload(marshalled(nullptr, arguments...)));
  call(delivery, object);
}
inline void directMessage(EntryFunction call, void* object, void* message) {
  Delivery delivery;
  delivery.arguments = message;
  call(delivery, object);
}

// "Hello[3]" of an array's element.
std::string name_of(const ArrayElement& element);
inline std::string name_of(const Chare&) { return {}; }

template <class Parent, class Class, bool has = std::is_base_of<Holder, Parent>::value>
class Holding;

// The first class of an inheritance to have bodies.
template <class Parent, class Class>
class Holding<Parent, Class, false> : public Parent, public Holder {
 public:
  typedef Holding impl_sdag_root;
  typedef void pups_bases_t;
  template <class... Args, class = std::enable_if_t<!IsCopied<Holding, Args...>::value>>
  Holding(Args&&... args) : Parent(std::forward<Args>(args)...), Holder(kind) {}
  // These override Parent's, those that it has.
  void virtual_pup(PUP::er& p) {
    pup_base<Parent>(this, p);
    this->pup_machine(p);
  }
  bool impl_runs(int to) { return this->runs(to); }
  void impl_leaves() { this->set_leaving(); }

 private:
  static std::string describe(const Holder& holder) { return name_of(static_cast<const Holding&>(holder)); }
  static void depart(Holder& holder, int pe) {
    if constexpr (std::is_base_of<ArrayElement, Parent>::value) static_cast<Holding&>(holder).ckMigrate(pe);
  }
  static constexpr ObjectKind kind{describe, depart};
};
template <class Parent, class Class>
constexpr ObjectKind Holding<Parent, Class, false>::kind;
template <class Parent, class Class>
class Holding<Parent, Class, true> : public Parent {
 public:
  using Parent::Parent;
  typedef void pups_bases_t;
  typedef typename Parent::impl_sdag_root impl_sdag_root;
  void virtual_pup(PUP::er& p) { pup_base<Parent>(this, p); }
};

// May be named while Parent is not complete.
template <class Parent, class Class>
class With : public Holding<Parent, Class> {
 public:
  using Holding<Parent, Class>::Holding;
};

// A class of an older program derives from ArrayElement1D, Chare and their like in place of its CBase_X. The name
// impl_sdag_root is then the one that stands for all, below, and the machine lies in a member, which X_SDAG_CODE
// declares and the class's pup() packs by _sdag_pup(p) or __sdag_pup(p). Such an element cannot leave inside of a
// serial block, as nothing asks that member first. For all other classes it is empty.
class NoRoot {};
template <class Root, class Class>
class Own {
 public:
  explicit Own(Class*) {}
  void pup(PUP::er&) {}
};
template <class Class>
class Own<NoRoot, Class> : public Holder {
 public:
  explicit Own(Class* object) : Holder(kind), object_(object) {}
  void pup(PUP::er& p) { this->pup_machine(p); }
  Class& object() { return *object_; }

 private:
  static std::string describe(const Holder& holder) { return name_of(*static_cast<const Own&>(holder).object_); }
  static constexpr ObjectKind kind{describe, nullptr};
  Class* object_;
};
template <class Class>
constexpr ObjectKind Own<NoRoot, Class>::kind;

// The holder of an object of class X, and back.
template <class Class>
Holder& holder(void* object) {
  if constexpr (std::is_base_of<Holder, Class>::value)
    return static_cast<typename Class::impl_sdag_root&>(*static_cast<Class*>(object));
  else
    return static_cast<Class*>(object)->impl_sdag_own;
}
template <class Class>
Class& object_of(Holder& holder) {
  if constexpr (std::is_base_of<Holder, Class>::value)
    return static_cast<Class&>(static_cast<typename Class::impl_sdag_root&>(holder));
  else
    return static_cast<Own<NoRoot, Class>&>(holder).object();
}
template <class Class, void (Class::*function)(int, Frame&)>
void call(Holder& holder, int fragment, Frame& frame) {
  (object_of<Class>(holder).*function)(fragment, frame);
}

// Whether the class has its X_SDAG_CODE.
template <class Class, class = void>
struct HasCode : std::false_type {};
template <class Class>
struct HasCode<Class, periapt::void_t<typename Class::impl_sdag_class>>
    : std::is_same<typename Class::impl_sdag_class, Class> {};
template <class Class>
constexpr bool hasCode() {
  return HasCode<Class>::value;
}

}  // namespace periapt::sdag

typedef periapt::sdag::NoRoot impl_sdag_root;
