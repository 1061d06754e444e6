// Runs the bodies of the entries of one object, each running instance of which is a frame (frame.h). A frame runs until
// it comes to a when that has to wait, and goes on when the last entry that the when names has come.
//
//   a message comes   it is offered to the whens that wait for it, in the order in which they began to wait; else kept
//   a when is reached it takes the earliest messages that fit
//
// The object may be destroyed by the code that is being run: the machine lives on until that has returned.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "runtime/sdag/blocks.h"
#include "runtime/sdag/bodies.h"
#include "runtime/sdag/frame.h"
#include "runtime/sdag/mailbox.h"
#include "runtime/sdag/whens.h"

namespace periapt::sdag {

class Machines;

class Machine {
 public:
  Machine(Holder& holder, const ObjectKind& kind);
  Machine(const Machine&) = delete;

  // The body of entry `entry` begins. What came for it: a call, or a message that the program owns.
  template <class Came>
  void begin(int entry, const Procedure& procedure, Came&& came) {
    begin(entry, procedure, procedure.type ? Held::of(blocks_, std::forward<Came>(came)) : nullptr);
  }
  // The same for an entry that whens name.
  template <class Came>
  void arrive(Key key, Came&& came) {
    Held* const held = Held::of(blocks_, std::forward<Came>(came));
    held->key = key;
    arrive(held);
  }

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

  // The next call that arrives has this number, whatever its first argument is.
  std::int64_t number = 0;
  bool number_is_set = false;

 private:
  class Running;
  void stopped() {
    if (gone_ || pending_migration_ >= 0) [[unlikely]]
      leave();
  }
  void leave();
  ~Machine();
  Frame* make_frame(const Procedure& procedure, int entry, Frame* parent);
  void destroy_frame(Frame* frame);
  void hold(Frame* frame, int slot, Held* held, const ArgumentsType& type, std::uint16_t awaited) {
    frame->slots()[slot] = {held, 0, awaited, true};
    held->make(blocks_, type);
  }

  void begin(int entry, const Procedure& procedure, Held* arguments);
  void run(Frame* frame);
  // C++ of the program. False: its object has gone.
  bool call(Frame* frame, int fragment) {
    frame->procedure_->function(*holder_, fragment, *frame);
    return !gone_;
  }
  bool serial(Frame* frame, const Step& step);
  Frame* finish(Frame* frame);
  Frame* overlap(Frame* frame, const Step& step);
  Frame* forall(Frame* frame, const Step& step);
  bool child(Frame* frame, std::uint32_t at, int slot, std::int32_t index);
  Frame* joined(Frame* frame);
  void release(Frame* frame, const Step& step);

  // Whens: machine_whens.cpp.
  void arrive(Held* held);
  bool wait(Frame* frame, const Step& when);
  bool wait_for_one(Frame* frame, const Step& when);
  bool wait_for_any(Frame* frame, const Step* whens, unsigned count);
  bool aim(Frame* frame, const Step& when, std::uint32_t awaited);
  bool choose(const Link* links, unsigned count, Held** chosen);
  void take(Frame* frame, const Step& when, Held** chosen);
  void unlink(Frame* frame);
  void park(Frame* frame);
  Link* first_ready(Held* held, Held** chosen, bool& kept);

  // Packing: machine_pack.cpp.
  void pup_messages(PUP::er& p);
  void pup_frames(PUP::er& p);
  void pup_frame(PUP::er& p, Frame& frame);
  void wait_again();

  // In words: machine_words.cpp.
  std::string describe(Frame& frame);
  std::string name(int entry) const;

  Holder* holder_;
  const ObjectKind& kind_;
  Blocks blocks_;
  Mailbox mailbox_;
  Whens whens_;
  Frame* first_ = nullptr;  // those that made others come before them
  Frame* last_ = nullptr;
  std::uint64_t waits_ = 0;
  int running_ = 0;             // calls into the machine that have not returned
  int pending_migration_ = -1;  // PE to go to
  bool leaving_ = false, gone_ = false;
  friend class Machines;
  Machines* list_ = nullptr;
  Machine* next_ = nullptr;
  Machine** link_ = nullptr;
};

// While code of the object may run. Threads of its entries may end in another order than they began.
class Machine::Running {
 public:
  explicit Running(Machine& machine) : machine_(machine) { ++machine.running_; }
  ~Running() {
    if (--machine_.running_ == 0) machine_.stopped();
  }
  Running(const Running&) = delete;

 private:
  Machine& machine_;
};

}  // namespace periapt::sdag
