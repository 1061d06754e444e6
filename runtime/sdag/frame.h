// A running instance of a body, and of each child of an overlap and each instance of a forall: those work on the
// arguments of the frame that made them. A frame stands at a step of its table. What it is lies in it and in the tables
// of the translator, so that it can be packed. C++17: reached from charm++.h.
#pragma once
#include <cstdint>
#include <type_traits>

#include "runtime/sdag/held.h"
#include "runtime/sdag/steps.h"
#include "runtime/sdag/whens.h"

namespace periapt::sdag {

class Machine;

// One place of a frame: the arguments of a when or of the entry, or the variable of a forall.
struct Slot {
  Held* held;
  std::int32_t index;
  std::uint16_t awaited;  // whose arguments they are, in the procedure's table; own_arguments: the entry's
  bool owned;             // by this frame, not by the one that made it
};
constexpr std::uint16_t own_arguments = 0xffff;

class Frame {
 public:
  // For the generated code.
  template <class A, std::size_t i>
  auto& get(int slot) {
    return static_cast<A*>(slots()[slot].held->made())->template get<i>();
  }
  std::int32_t& index(int slot) { return slots()[slot].index; }
  void answer(bool yes) { answer_ = yes; }
  template <class T>
  void reference(T number) {
    static_assert(std::is_integral<T>::value || std::is_enum<T>::value, "a reference number is an integer");
    answer_ = static_cast<std::int64_t>(number);
  }
  void range(std::int64_t first, std::int64_t last, std::int64_t stride) {
    answer_ = first;
    last_ = last;
    stride_ = stride;
  }

 private:
  friend class Machine;
  Frame(const Procedure& procedure, int entry, Frame* parent);
  static std::size_t bytes(const Procedure& procedure) {
    return sizeof(Frame) + procedure.slots * sizeof(Slot) + procedure.links * sizeof(Link);
  }
  Slot* slots() { return reinterpret_cast<Slot*>(this + 1); }
  Link* links() { return reinterpret_cast<Link*>(slots() + procedure_->slots); }
  const Step& step() const { return procedure_->steps[at_]; }

  const Procedure* const procedure_;
  Frame* const parent_;
  Frame* before_ = nullptr;  // in the machine's list
  Frame* behind_ = nullptr;
  std::int64_t answer_ = 0, last_ = 0, stride_ = 0;
  std::uint32_t at_ = 0;
  std::uint32_t children_ = 0;    // that have not ended
  std::uint32_t links_used_ = 0;  // by the when at which it waits
  std::uint32_t number_ = 0;      // while it is packed
  const int entry_;               // whose body it runs
};

}  // namespace periapt::sdag
