// A machine is packed, with its frames and messages: see machine.h.
#include <algorithm>
#include <vector>

#include "base/fatal.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/sdag/machine.h"

namespace periapt::sdag {

void Machine::pup(PUP::er& p) {
  if (running_ != 0)
    fatal(name(first_ ? first_->entry_ : 0) + " is packed while a serial block of it runs",
          describe_running(*Pe::current()), "what stands behind that block cannot be packed with it",
          "call pup() or ckMigrate() from outside of its entries; where its class derives from its CBase_X, "
          "ckMigrate() waits by itself");
  p | waits_;
  pup_messages(p);
  pup_frames(p);
}

void Machine::pup_messages(PUP::er& p) {
  std::uint64_t count = mailbox_.size();
  p | count;
  if (!p.isUnpacking())
    return mailbox_.for_each([&](Held& held) {
      p | held.key;
      Held::pup(p, blocks_, &held, *type_of_trigger(entry_of(held.key)));
    });
  for (; count > 0; --count) {
    Key key = 0;
    p | key;
    Held* const held = Held::pup(p, blocks_, nullptr, *type_of_trigger(entry_of(key)));
    held->key = key;
    mailbox_.add(held);
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
  if (p.isUnpacking()) wait_again();
}

void Machine::wait_again() {
  std::vector<Link*> all;
  for (Frame* frame = first_; frame; frame = frame->behind_)
    for (std::uint32_t i = 0; i < frame->links_used_; ++i) all.push_back(&frame->links()[i]);
  std::stable_sort(all.begin(), all.end(), [](const Link* a, const Link* b) { return a->order < b->order; });
  for (Link* link : all) whens_.add(link);
}

void Machine::pup_frame(PUP::er& p, Frame& frame) {
  p | frame.at_;
  p | frame.children_;
  p | frame.links_used_;
  for (int i = 0; i < frame.procedure_->slots; ++i) {
    Slot& slot = frame.slots()[i];
    p | slot.index;
    p | slot.awaited;
    p | slot.owned;
    if (!slot.owned) continue;
    const Procedure& procedure = *frame.procedure_;
    slot.held = Held::pup(p, blocks_, p.isUnpacking() ? nullptr : slot.held,
                          slot.awaited == own_arguments ? *procedure.type : *procedure.awaited[slot.awaited].type);
  }
  for (std::uint32_t i = 0; i < frame.links_used_; ++i) {
    Link& link = frame.links()[i];
    p | link.key;
    p | link.order;
    p | link.step;
    p | link.awaited;
    if (p.isUnpacking()) link.frame = &frame;
  }
}

}  // namespace periapt::sdag
