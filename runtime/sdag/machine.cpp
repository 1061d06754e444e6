// See machine.h.
#include "runtime/sdag/machine.h"

#include <algorithm>
#include <new>
#include <vector>

#include "base/fatal.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/sdag/bodies.h"
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
  void* room = ::operator new(sizeof(Frame) + procedure.slots * sizeof(Slot) + procedure.links * sizeof(Link));
  Frame* frame = new (room) Frame(procedure, entry, parent);
  frame->before_ = last_;
  (last_ ? last_->behind_ : first_) = frame;
  last_ = frame;
  return frame;
}

void Machine::destroy_frame(Frame* frame) {
  for (int i = 0; i < frame->procedure_->slots; ++i)
    if (frame->slots()[i].owned) delete frame->slots()[i].held;
  (frame->before_ ? frame->before_->behind_ : first_) = frame->behind_;
  (frame->behind_ ? frame->behind_->before_ : last_) = frame->before_;
  frame->~Frame();
  ::operator delete(frame);
}

void Machine::hold(Frame* frame, int slot, Held* held, const ArgumentsType& type, std::uint16_t awaited) {
  frame->slots()[slot] = {held, 0, awaited, true};
  held->make(type);
}

// --- life ------------------------------------------------------------------------------------------------------------

Machine::Machine(Holder& holder, const ObjectKind& kind) : holder_(&holder), kind_(kind) { Machines::add(*this); }

Machine::~Machine() {
  while (Frame* frame = last_) {  // children before those that made them
    for (int i = 0; leaving_ && i < frame->procedure_->slots; ++i)
      if (frame->slots()[i].owned) frame->slots()[i].held->leave();
    destroy_frame(frame);
  }
}

void Machine::destroy(Machine* machine) {
  Machines::remove(*machine);
  machine->gone_ = true;
  if (machine->running_ == 0) delete machine;
}

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

void Machine::stopped() {
  if (gone_) {
    delete this;
  } else if (pending_migration_ >= 0) {
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

void Machine::begin(int entry, const Procedure& procedure, std::unique_ptr<Held> arguments) {
  Running running(*this);
  Frame* frame = make_frame(procedure, entry, nullptr);
  if (arguments) hold(frame, 0, arguments.release(), *procedure.type, own_arguments);
  run(frame);
}

// Runs until it waits, or has ended with all that it is a part of.
void Machine::run(Frame* frame) {
  while (frame) {
    const Step& step = frame->step();
    switch (step.op) {
      case Op::serial:
        ++frame->at_;
        if (!call(frame, step)) return;
        break;
      case Op::unless:
        if (!call(frame, step)) return;
        frame->at_ = frame->answer_ ? frame->at_ + 1 : step.target;
        break;
      case Op::jump:
        frame->at_ = step.target;
        break;
      case Op::when:
        if (!wait(frame, &step, 1)) return;
        break;
      case Op::choose:
        if (!wait(frame, &step + 1, step.count)) return;
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

// C++ of the program. False: its object has gone.
bool Machine::call(Frame* frame, const Step& step) {
  const Step* const outer = step_;
  step_ = &step;
  frame->procedure_->function(*holder_, step.fragment, *frame);
  step_ = outer;
  return !gone_;
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
  if (!call(frame, step)) return nullptr;
  const std::int64_t first = frame->answer_, last = frame->last_, stride = frame->stride_;
  if (stride == 0)
    fatal("the stride of a forall is 0", std::string(step.place) + ", " + name(frame->entry_), "",
          "write forall [i] (first : last, stride) with a stride that leads from first to last");
  const std::int64_t way = stride > 0 ? last - first : first - last;
  const std::int64_t steps = way < 0 ? 0 : way / (stride > 0 ? stride : -stride) + 1;
  frame->children_ = static_cast<std::uint32_t>(steps + 1);
  for (std::int64_t i = 0; i < steps; ++i)
    if (!child(frame, frame->at_ + 1, step.first, static_cast<std::int32_t>(first + i * stride))) return nullptr;
  return joined(frame);
}

void Machine::release(Frame* frame, const Step& step) {
  for (int i = step.first; i < step.first + step.count; ++i) {
    Slot& slot = frame->slots()[i];
    delete slot.held;
    slot = {nullptr, 0, 0, false};
  }
}

// --- whens -----------------------------------------------------------------------------------------------------------

namespace {
constexpr unsigned awaited_max = 64;  // checked by the translator

void refuse_reference(std::int64_t number, const char* place, const std::string& object) {
  fatal("reference number " + std::to_string(number) + " is too large: it has to lie between " +
            std::to_string(any_reference + 1) + " and " + std::to_string(reference_max),
        std::string(place) + ", " + object, "a when waits for it", "use smaller numbers");
}

void refuse_entry(int entry, const char* place) {
  fatal(std::string("a when waits for ") + entry_name(entry) + ", but messages for it go to a method", place,
        std::string("class ") + chare_name_of_entry(entry) + ", which declares it, has no when for it",
        "declare the entry in the class whose when waits for it");
}
}  // namespace

// Finds out what the when waits for: fills the frame's next links. False: the object has gone.
bool Machine::aim(Frame* frame, const Step& when) {
  const Procedure& procedure = *frame->procedure_;
  const auto step = static_cast<std::uint32_t>(&when - procedure.steps);
  for (std::uint32_t i = when.first; i < when.first + std::uint32_t{when.count}; ++i) {
    const Awaited& awaited = procedure.awaited[i];
    std::int64_t number = any_reference;
    if (awaited.reference != no_fragment) {
      procedure.function(*holder_, awaited.reference, *frame);
      if (gone_) return false;
      number = frame->answer_;
      if (number > reference_max || number <= any_reference) refuse_reference(number, when.place, name(frame->entry_));
    }
    frame->links()[frame->links_used_++] = {frame, nullptr, nullptr, key_of(awaited.entry(), number), step, i};
  }
  return true;
}

// The earliest messages for each link, no message twice; those with a reference number, which have less choice, first.
bool Machine::choose(const Link* links, unsigned count, Held** chosen) {
  for (const bool any : {false, true}) {
    for (unsigned i = 0; i < count; ++i) {
      const Key key = links[i].key;
      if (is_any(key) != any) continue;
      chosen[i] = nullptr;
      Held* held = mailbox_.first(key);
      for (unsigned j = 0; held && j < count; ++j) {
        const bool has_chosen = is_any(links[j].key) == any ? j < i : any;
        if (!has_chosen || chosen[j] != held) continue;
        held = Mailbox::next(held, key);
        j = ~0u;  // from the start again
      }
      if (!held) return false;
      chosen[i] = held;
    }
  }
  return true;
}

// The frame has come to a when, or to the whens of a case. True: one of them has all it wants. All numbers are known
// before any message is looked for: finding them out may run code that brings messages.
bool Machine::wait(Frame* frame, const Step* whens, unsigned count) {
  frame->links_used_ = 0;
  for (unsigned i = 0; i < count; ++i)
    if (!aim(frame, whens[i])) return false;
  const Link* links = frame->links();
  Held* chosen[awaited_max];
  for (const Step* when = whens; when < whens + count; links += when->count, ++when) {
    if (!choose(links, when->count, chosen)) continue;
    frame->links_used_ = 0;
    for (unsigned j = 0; j < when->count; ++j) mailbox_.remove(chosen[j]);
    take(frame, *when, chosen);
    return true;
  }
  park(frame);
  return false;
}

void Machine::park(Frame* frame) {
  frame->order_ = ++waits_;
  for (std::uint32_t i = 0; i < frame->links_used_; ++i) {
    Link& link = frame->links()[i];
    if (!type_of_trigger(entry_of(link.key))) [[unlikely]]
      refuse_entry(entry_of(link.key), frame->procedure_->steps[link.step].place);
    mailbox_.add(&link);
  }
}

void Machine::unlink(Frame* frame) {
  for (std::uint32_t i = 0; i < frame->links_used_; ++i) mailbox_.remove(&frame->links()[i]);
  frame->links_used_ = 0;
}

// The messages, which are in no list any more, become the arguments of the body.
void Machine::take(Frame* frame, const Step& when, Held** chosen) {
  for (unsigned i = 0; i < when.count; ++i) {
    const Awaited& awaited = frame->procedure_->awaited[when.first + i];
    hold(frame, awaited.slot, chosen[i], *awaited.type, static_cast<std::uint16_t>(when.first + i));
  }
  frame->at_ = when.target;
}

// The first when that this message makes complete. `kept`: whether the message lies in the mailbox, where whens of
// several entries look for it.
Link* Machine::first_ready(Held* held, Held** chosen, bool& kept) {
  Link* number = is_any(held->key) ? nullptr : mailbox_.first_link(held->key);
  Link* any = mailbox_.first_link(key_of_any(held->key));
  while (number || any) {
    const bool take_number = !any || (number && number->frame->order_ < any->frame->order_);
    Link* link = take_number ? number : any;
    (take_number ? number : any) = link->behind;
    const Step& when = link->frame->procedure_->steps[link->step];
    if (when.count == 1) {
      chosen[0] = held;
      return link;
    }
    if (!kept) mailbox_.add(held);
    kept = true;
    if (choose(link - (link->awaited - when.first), when.count, chosen)) return link;
  }
  return nullptr;
}

void Machine::arrive(std::unique_ptr<Held> held) {
  Held* const message = held.release();
  Held* chosen[awaited_max];
  bool kept = false;
  Link* link = first_ready(message, chosen, kept);
  if (!link) {
    if (!kept) mailbox_.add(message);
    return;
  }
  Frame* frame = link->frame;
  const Step& when = frame->procedure_->steps[link->step];
  unlink(frame);
  for (unsigned i = 0; kept && i < when.count; ++i) mailbox_.remove(chosen[i]);
  Running running(*this);
  take(frame, when, chosen);
  run(frame);
}

// --- packing ---------------------------------------------------------------------------------------------------------

void Machine::pup(PUP::er& p) {
  if (running_ != 0)
    fatal(name(first_ ? first_->entry_ : 0) + " is packed while a serial block of it runs", describe_running(),
          "what stands behind that block cannot be packed with it", "call pup() from outside of its entries");
  p | waits_;
  pup_messages(p);
  pup_frames(p);
}

void Machine::pup_messages(PUP::er& p) {
  std::uint64_t count = mailbox_.size();
  p | count;
  auto pup_one = [&p](Held& held) {
    p | held.key;
    held.pup(p, *type_of_trigger(entry_of(held.key)));
  };
  if (!p.isUnpacking()) return mailbox_.for_each(pup_one);
  for (; count > 0; --count) {
    auto held = std::make_unique<Held>();
    pup_one(*held);
    mailbox_.add(held.release());
  }
}

void Machine::pup_frames(PUP::er& p) {
  std::uint32_t count = 0;
  for (Frame* frame = first_; frame; frame = frame->behind_) ++count;
  p | count;
  // In the order of the list, in which a frame comes behind the one that made it: named by its number.
  std::vector<Frame*> all;
  Frame* frame = first_;
  for (std::uint32_t i = 0; i < count; ++i) {
    int entry = frame ? frame->entry_ : 0;
    std::uint32_t parent = frame && frame->parent_ ? frame->parent_->number_ : count;
    p | entry;
    p | parent;
    if (p.isUnpacking()) frame = make_frame(*body_of(entry), entry, parent < count ? all[parent] : nullptr);
    pup_frame(p, *frame);
    frame->number_ = i;
    all.push_back(frame);
    frame = frame->behind_;
  }
  if (!p.isUnpacking()) return;
  std::sort(all.begin(), all.end(), [](const Frame* a, const Frame* b) { return a->order_ < b->order_; });
  for (Frame* waiting : all)
    for (std::uint32_t i = 0; i < waiting->links_used_; ++i) mailbox_.add(&waiting->links()[i]);
}

void Machine::pup_frame(PUP::er& p, Frame& frame) {
  p | frame.at_;
  p | frame.children_;
  p | frame.order_;
  p | frame.links_used_;
  for (int i = 0; i < frame.procedure_->slots; ++i) {
    Slot& slot = frame.slots()[i];
    p | slot.index;
    p | slot.awaited;
    p | slot.owned;
    if (!slot.owned) continue;
    if (p.isUnpacking()) slot.held = new Held;
    const Procedure& procedure = *frame.procedure_;
    slot.held->pup(p, slot.awaited == own_arguments ? *procedure.type : *procedure.awaited[slot.awaited].type);
  }
  for (std::uint32_t i = 0; i < frame.links_used_; ++i) {
    Link& link = frame.links()[i];
    p | link.key;
    p | link.step;
    p | link.awaited;
    if (p.isUnpacking()) link.frame = &frame;
  }
}

// --- in words --------------------------------------------------------------------------------------------------------

namespace {
// "first[3](int step)"
std::string words(Key key) {
  std::string text = entry_name(entry_of(key));
  if (is_any(key)) return text;
  const std::string number = std::to_string(reference_of(key));
  return text.insert(std::min(text.find('('), text.size()), std::string("[").append(number).append("]"));
}
}  // namespace

// "when a[3](int n), b() (hello.ci:12) of run(), b() has come". The whens of a case follow each other.
std::string Machine::describe(Frame& frame) {
  std::string text, come;
  std::uint32_t step = ~0u;
  for (std::uint32_t i = 0; i < frame.links_used_; ++i) {
    const Link& link = frame.links()[i];
    const char* place = frame.procedure_->steps[link.step].place;
    const bool last = i + 1 == frame.links_used_ || frame.links()[i + 1].step != link.step;
    text += link.step != step ? (text.empty() ? "when " : " or ") : ", ";
    text += words(link.key) + (last ? std::string(" (") + place + ")" : "");
    if (mailbox_.first(link.key)) come += (come.empty() ? ", of which " : ", ") + words(link.key);
    step = link.step;
  }
  return text + " in " + entry_name(frame.entry_) + (come.empty() ? "" : come + " has come");
}

// "Hello[3]", or "Main on PE 0".
std::string Machine::name(int entry) const {
  const std::string own = kind_.describe(*holder_);
  if (!own.empty()) return own;
  const Pe* pe = Pe::current();
  return chare_name_of_entry(entry) + (pe ? " on PE " + std::to_string(pe->index) : std::string());
}

std::string Machine::describe() {
  std::string text;
  for (Frame* frame = first_; frame; frame = frame->behind_)
    if (frame->links_used_ != 0) text += name(frame->entry_) + " waits: " + describe(*frame) + "\n";
  if (text.empty() || mailbox_.size() == 0) return text;
  constexpr int named_max = 3;
  int named = 0;
  std::string kept;
  mailbox_.for_each([&](const Held& held) {
    if (named++ < named_max) kept += (named > 1 ? ", " : "") + words(held.key);
  });
  return text + name(first_->entry_) + " keeps " + std::to_string(mailbox_.size()) +
         (mailbox_.size() == 1 ? " message" : " messages") + " that no when has taken: " + kept +
         (named > named_max ? ", ..." : "") + "\n";
}

std::string Machine::describe_running() const {
  if (!step_) return {};
  return (*step_->label ? "serial \"" + std::string(step_->label) + "\" (" : std::string("serial (")) + step_->place +
         ")";
}

}  // namespace periapt::sdag
