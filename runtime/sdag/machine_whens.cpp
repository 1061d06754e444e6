// Whens and messages meet: see machine.h.
#include "base/fatal.h"
#include "runtime/registry/registry.h"
#include "runtime/sdag/machine.h"

namespace periapt::sdag {

namespace {
constexpr unsigned awaited_max = 64;  // checked by the translator

void refuse_reference(std::int64_t number, const char* place, const std::string& object) {
  fatal("reference number " + std::to_string(number) + " is too large: it has to lie between " +
            std::to_string(reference_min) + " and " + std::to_string(reference_max),
        std::string(place) + ", " + object, "a when waits for it", "use smaller numbers");
}

void refuse_entry(int entry, const char* place) {
  fatal(std::string("a when waits for ") + entry_name(entry) + ", but messages for it go to a method", place,
        std::string("class ") + chare_name_of_entry(entry) + ", which declares it, has no when for it",
        "declare the entry in the class whose when waits for it");
}
}  // namespace

// Finds out what the when waits for at one place of its list: fills the frame's next link. False: the object has gone.
bool Machine::aim(Frame* frame, const Step& when, std::uint32_t at) {
  const Procedure& procedure = *frame->procedure_;
  const Awaited& awaited = procedure.awaited[at];
  Key key = any_of(awaited.entry());
  if (awaited.reference != no_fragment) {
    if (!call(frame, awaited.reference)) return false;
    const std::int64_t number = frame->answer_;
    if (!fits(number)) [[unlikely]]
      refuse_reference(number, when.block.place, name(frame->entry_));
    key = key_of(entry_of(key), number);
  }
  const auto step = static_cast<std::uint32_t>(&when - procedure.steps);
  frame->links()[frame->links_used_++] = {frame, nullptr, nullptr, key, 0, step, at};
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
        held = mailbox_.next(held, key);
        j = ~0u;  // from the start again
      }
      if (!held) return false;
      chosen[i] = held;
    }
  }
  return true;
}

// The frame has come to a when. True: it has all that it wants.
bool Machine::wait(Frame* frame, const Step& when) {
  return when.count == 1 ? wait_for_one(frame, when) : wait_for_any(frame, &when, 1);
}

bool Machine::wait_for_one(Frame* frame, const Step& when) {
  frame->links_used_ = 0;
  if (!aim(frame, when, when.first)) return false;
  Held* held = mailbox_.first(frame->links()->key);
  if (!held) {
    park(frame);
    return false;
  }
  frame->links_used_ = 0;
  mailbox_.remove(held);
  take(frame, when, &held);
  return true;
}

// Several entries, or the whens of a case. All numbers are known before any message is looked for: finding them out may
// run code that brings messages.
bool Machine::wait_for_any(Frame* frame, const Step* whens, unsigned count) {
  frame->links_used_ = 0;
  for (const Step* when = whens; when < whens + count; ++when)
    for (std::uint32_t i = 0; i < when->count; ++i)
      if (!aim(frame, *when, when->first + i)) return false;
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
  ++waits_;
  for (std::uint32_t i = 0; i < frame->links_used_; ++i) {
    Link& link = frame->links()[i];
    if (!type_of_trigger(entry_of(link.key))) [[unlikely]]
      refuse_entry(entry_of(link.key), frame->procedure_->steps[link.step].block.place);
    link.order = waits_;
    whens_.add(&link);
  }
}

void Machine::unlink(Frame* frame) {
  for (std::uint32_t i = 0; i < frame->links_used_; ++i) whens_.remove(&frame->links()[i]);
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
  Whens::Fitting fitting = whens_.fitting(held->key);
  while (Link* link = fitting.next()) {
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

void Machine::arrive(Held* message) {
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

}  // namespace periapt::sdag
