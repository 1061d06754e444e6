// Runs the bodies of the entries of one object. Each running instance of a body is a frame; so is each child of an
// overlap and each instance of a forall, which work on the arguments of the frame that made them. A frame stands at a
// step: it runs until it comes to a when that has to wait, and goes on when the last entry that the when names has
// come. What a frame is lies in it and in the tables of the translator, so all of it can be packed and taken to another
// PE.
//
//   a message comes   it is offered to the whens that wait for it, in the order in which they began to wait; else kept
//   a when is reached it takes the earliest messages that fit
//
// The object may be destroyed by the code that is being run: the machine lives on until that has returned.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/sdag/bodies.h"
#include "runtime/sdag/mailbox.h"
#include "runtime/sdag/steps.h"

namespace periapt::sdag {

class Machine;
class Machines;

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
  Slot* slots() { return reinterpret_cast<Slot*>(this + 1); }
  Link* links() { return reinterpret_cast<Link*>(slots() + procedure_->slots); }
  const Step& step() const { return procedure_->steps[at_]; }

  const Procedure* const procedure_;
  Frame* const parent_;
  Frame* before_ = nullptr;  // in the machine's list
  Frame* behind_ = nullptr;
  std::uint64_t order_ = 0;  // of those that wait
  std::int64_t answer_ = 0, last_ = 0, stride_ = 0;
  std::uint32_t at_ = 0;
  std::uint32_t children_ = 0;  // that have not ended
  std::uint32_t links_used_ = 0;
  std::uint32_t number_ = 0;  // while it is packed
  const int entry_;           // whose body it runs
};

class Machine {
 public:
  Machine(Holder& holder, const ObjectKind& kind);
  Machine(const Machine&) = delete;

  // The body of entry `entry` begins.
  void begin(int entry, const Procedure& procedure, std::unique_ptr<Held> arguments);
  // A message for an entry that whens name: its key is set.
  void arrive(std::unique_ptr<Held> held);

  void pup(PUP::er& p);
  // Nothing runs, waits or is kept: there is nothing to pack.
  bool empty() const { return first_ == nullptr && mailbox_.size() == 0; }
  // Whether code of the object runs now. Then it goes to PE `to` when that has returned.
  bool runs(int to);
  // It is about to: what it owns leaves with it.
  void set_leaving() { leaving_ = true; }
  // The object has gone.
  static void destroy(Machine* machine);

  // A line for each when that waits.
  std::string describe();
  // "serial "label" (hello.ci:12)" of what runs; empty when nothing does.
  std::string describe_running() const;

 private:
  class Running;
  void stopped();
  ~Machine();
  Frame* make_frame(const Procedure& procedure, int entry, Frame* parent);
  void destroy_frame(Frame* frame);
  void hold(Frame* frame, int slot, Held* held, const ArgumentsType& type, std::uint16_t awaited);

  void run(Frame* frame);
  bool call(Frame* frame, const Step& step);
  Frame* finish(Frame* frame);
  Frame* overlap(Frame* frame, const Step& step);
  Frame* forall(Frame* frame, const Step& step);
  bool child(Frame* frame, std::uint32_t at, int slot, std::int32_t index);
  Frame* joined(Frame* frame);
  void release(Frame* frame, const Step& step);

  // Whens.
  bool wait(Frame* frame, const Step* whens, unsigned count);
  bool aim(Frame* frame, const Step& when);
  bool choose(const Link* links, unsigned count, Held** chosen);
  void take(Frame* frame, const Step& when, Held** chosen);
  void unlink(Frame* frame);
  void park(Frame* frame);
  Link* first_ready(Held* held, Held** chosen, bool& kept);

  void pup_messages(PUP::er& p);
  void pup_frames(PUP::er& p);
  void pup_frame(PUP::er& p, Frame& frame);
  std::string describe(Frame& frame);
  std::string name(int entry) const;

  Holder* holder_;
  const ObjectKind& kind_;
  Mailbox mailbox_;
  Frame* first_ = nullptr;  // those that made others come before them
  Frame* last_ = nullptr;
  std::uint64_t waits_ = 0;
  int running_ = 0;             // calls into the machine that have not returned
  const Step* step_ = nullptr;  // whose code runs
  int pending_migration_ = -1;  // PE to go to
  bool leaving_ = false, gone_ = false;
  friend class Machines;
  Machines* list_ = nullptr;
  Machine* next_ = nullptr;
  Machine** link_ = nullptr;
};

}  // namespace periapt::sdag
