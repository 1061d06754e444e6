// See machine.h.
#include "runtime/sdag/machine.h"

#include <new>
#include <utility>

#include "base/fatal.h"
#include "runtime/scheduler/pe.h"
#include "runtime/sdag/machines.h"

namespace periapt::sdag {

// --- frames ----------------------------------------------------------------------------------------------------------

Frame::Frame(const Procedure& procedure, int entry, Frame* parent)
    : procedure_(&procedure), parent_(parent), entry_(entry) {
  for (int i = 0; i < procedure.slots; ++i) {
    slots()[i] = parent ? parent->slots()[i] : Slot{nullptr, 0, 0, false};
    slots()[i].owned = false;
  }
}

Frame* Machine::make_frame(const Procedure& procedure, int entry, Frame* parent) {
  void* room = blocks_.take(Frame::bytes(procedure));
  Frame* frame = new (room) Frame(procedure, entry, parent);
  frame->before_ = last_;
  (last_ ? last_->behind_ : first_) = frame;
  last_ = frame;
  return frame;
}

void Machine::destroy_frame(Frame* frame) {
  for (int i = 0; i < frame->procedure_->slots; ++i)
    if (frame->slots()[i].owned) Held::destroy(blocks_, frame->slots()[i].held);
  (frame->before_ ? frame->before_->behind_ : first_) = frame->behind_;
  (frame->behind_ ? frame->behind_->before_ : last_) = frame->before_;
  const std::size_t bytes = Frame::bytes(*frame->procedure_);
  frame->~Frame();
  blocks_.give(frame, bytes);
}

// --- life ------------------------------------------------------------------------------------------------------------

Machine::Machine(Holder& holder, const ObjectKind& kind) : holder_(&holder), kind_(kind) {
  complete_bodies();
  Machines::add(*this);
}

Machine::~Machine() {
  while (Frame* frame = last_) {  // children before those that made them
    for (int i = 0; leaving_ && i < frame->procedure_->slots; ++i)
      if (frame->slots()[i].owned) frame->slots()[i].held->leave();
    destroy_frame(frame);
  }
  mailbox_.for_each([this](Held& held) { Held::destroy(blocks_, &held); });
}

void Machine::destroy(Machine* machine) {
  Machines::remove(*machine);
  machine->gone_ = true;
  if (machine->running_ == 0) delete machine;
}

void Machine::leave() {
  if (gone_) {
    delete this;
  } else {
    const int to = pending_migration_;
    pending_migration_ = -1;
    kind_.depart(*holder_, to);
  }
}

bool Machine::runs(int to) {
  if (running_ == 0) return false;
  pending_migration_ = to;
  return true;
}

// --- running ---------------------------------------------------------------------------------------------------------

void Machine::begin(int entry, const Procedure& procedure, Held* arguments) {
  Running running(*this);
  Frame* frame = make_frame(procedure, entry, nullptr);
  if (arguments) hold(frame, 0, arguments, *procedure.type, own_arguments);
  run(frame);
}

// A serial block, told to what watches, and to error messages.
inline bool Machine::serial(Frame* frame, const Step& step) {
  Pe* const pe = Pe::current();
  if (!pe || !pe->objects) [[unlikely]]
    return call(frame, step.fragment);
  const Machines::Serial told(*pe, step.block);
  return call(frame, step.fragment);
}

inline void Machine::release(Frame* frame, const Step& step) {
  for (int i = step.first; i < step.first + step.count; ++i) {
    Slot& slot = frame->slots()[i];
    Held::destroy(blocks_, slot.held);
    slot = {nullptr, 0, 0, false};
  }
}

// Runs until it waits, or has ended with all that it is a part of.
void Machine::run(Frame* frame) {
  while (frame) {
    const Step& step = frame->step();
    switch (step.op) {
      case Op::serial:
        ++frame->at_;
        if (!serial(frame, step)) return;
        break;
      case Op::unless:
        if (!call(frame, step.fragment)) return;
        frame->at_ = frame->answer_ ? frame->at_ + 1 : step.target;
        break;
      case Op::jump:
        frame->at_ = step.target;
        break;
      case Op::when:
        if (!wait(frame, step)) return;
        break;
      case Op::choose:
        if (!wait_for_any(frame, &step + 1, step.count)) return;
        break;
      case Op::release:
        release(frame, step);
        ++frame->at_;
        break;
      case Op::overlap:
        frame = overlap(frame, step);
        break;
      case Op::forall:
        frame = forall(frame, step);
        break;
      case Op::end:
        frame = finish(frame);
        break;
    }
  }
}

// Whose turn it is then: none's, if others that the same frame has made go on.
Frame* Machine::finish(Frame* frame) {
  Frame* parent = frame->parent_;
  destroy_frame(frame);
  return parent ? joined(parent) : nullptr;
}

Frame* Machine::joined(Frame* frame) {
  if (--frame->children_ != 0) return nullptr;
  frame->at_ = frame->step().target;
  return frame;
}

// Makes a part of `frame` and runs it. False: the object has gone.
bool Machine::child(Frame* frame, std::uint32_t at, int slot, std::int32_t index) {
  Frame* made = make_frame(*frame->procedure_, frame->entry_, frame);
  made->at_ = at;
  if (slot >= 0) made->slots()[slot] = {nullptr, index, 0, false};
  run(made);
  return !gone_;
}

// One more than it has parts, so that it does not go on before the last of them has begun.
Frame* Machine::overlap(Frame* frame, const Step& step) {
  frame->children_ = step.count + 1u;
  for (std::uint32_t i = 1; i <= step.count; ++i)
    if (!child(frame, frame->at_ + i, -1, 0)) return nullptr;
  return joined(frame);
}

Frame* Machine::forall(Frame* frame, const Step& step) {
  if (!call(frame, step.fragment)) return nullptr;
  const std::int64_t first = frame->answer_, last = frame->last_, stride = frame->stride_;
  if (stride == 0)
    fatal("the stride of a forall is 0", std::string(step.block.place) + ", " + name(frame->entry_), "",
          "write forall [i] (first : last, stride) with a stride that leads from first to last");
  const std::int64_t way = stride > 0 ? last - first : first - last;
  const std::int64_t steps = way < 0 ? 0 : way / (stride > 0 ? stride : -stride) + 1;
  frame->children_ = static_cast<std::uint32_t>(steps + 1);
  for (std::int64_t i = 0; i < steps; ++i)
    if (!child(frame, frame->at_ + 1, step.first, static_cast<std::int32_t>(first + i * stride))) return nullptr;
  return joined(frame);
}

}  // namespace periapt::sdag
