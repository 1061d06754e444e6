// See holder.h.
#include "runtime/sdag/holder.h"

#include "base/fatal.h"
#include "runtime/array/array_manager.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/sdag/machine.h"
#include "runtime/zero_copy/zero_copy_entries.h"

namespace periapt::sdag {

Machine& Holder::machine() {
  if (!machine_) [[unlikely]]
    machine_ = new Machine(*this, kind_);
  return *machine_;
}

void Holder::gone() { Machine::destroy(machine_); }

void Holder::pup_machine(PUP::er& p) {
  bool any = !p.isUnpacking() && machine_ && !machine_->empty();
  p | any;
  if (any) machine().pup(p);
}

bool Holder::runs(int to) { return machine_ && machine_->runs(to); }
void Holder::set_leaving() {
  if (machine_) machine_->set_leaving();
}

namespace {
// Arguments are kept longer than the call lasts.
void keep_posted(int entry, Delivery& call) {
  if (entry_info(entry).flags & ep_nocopypost) [[unlikely]]
    zero_copy::keep_posted(call.arguments);
}
}  // namespace

void begin(Holder& holder, int entry, Delivery& call) {
  keep_posted(entry, call);
  holder.machine().begin(entry, *body_of(entry), call);
}

void beginMessage(Holder& holder, int entry, void* message) {
  holder.machine().begin(entry, *body_of(entry), Message::from_payload(message));
}

namespace {
Key checked_key(int entry, Reference reference) {
  // Where no when asks for a number the first argument may be anything.
  if (!reference.is_there || !wants_number(entry)) return any_of(entry);
  if (!fits(reference.number)) [[unlikely]]
    fatal("reference number " + std::to_string(reference.number) + " of " + entry_name(entry) +
              " is too large: it has to lie between " + std::to_string(reference_min) + " and " +
              std::to_string(reference_max),
          describe_running(*Pe::current()),
          "the first argument of an entry that a when waits for with a number is its reference number",
          "send smaller numbers, or let another argument be the first");
  return key_of(entry, reference.number);
}
}  // namespace

void arrive(Holder& holder, int entry, Delivery& call, Reference reference) {
  keep_posted(entry, call);
  Machine& machine = holder.machine();
  if (machine.number_is_set) [[unlikely]] {
    machine.number_is_set = false;
    reference = {machine.number, true};
  }
  machine.arrive(checked_key(entry, reference), call);
}

void arriveMessage(Holder& holder, int entry, void* message) {
  Machine& machine = holder.machine();
  const Reference reference{static_cast<std::int64_t>(CkGetRefNum(message)), true};
  machine.arrive(checked_key(entry, reference), Message::from_payload(message));
}

void numberOfMessage(Holder& holder, void* message) {
  Machine& machine = holder.machine();
  machine.number = CkGetRefNum(message);
  machine.number_is_set = true;
}

void refuse_to_move_address() {
  fatal("an object is packed while a body goes on whose [local] entry was given a pointer",
        describe_running(*Pe::current()), "what it points to is on this PE only",
        "let the object move when the body has ended, or give the entry a value");
}

std::string name_of(const ArrayElement& element) {
  return array_manager(element.ckGetArrayID()).describe(element.ckGetID());
}

}  // namespace periapt::sdag
