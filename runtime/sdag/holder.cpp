// See holder.h.
#include "runtime/sdag/holder.h"

#include "base/fatal.h"
#include "runtime/array/array_manager.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/sdag/machine.h"

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

std::int64_t no_reference() { return any_reference; }

void refuse_reference(int entry, std::int64_t number) {
  fatal("reference number " + std::to_string(number) + " of " + entry_name(entry) +
            " is too large: it has to lie between " + std::to_string(any_reference + 1) + " and " +
            std::to_string(reference_max),
        describe_running(*Pe::current()),
        "the first argument of an entry that a when waits for is its reference number",
        "send smaller numbers, or let another argument be the first");
}

void begin(Holder& holder, int entry, Delivery& call) {
  const Procedure& body = *body_of(entry);
  holder.machine().begin(entry, body, body.type ? std::make_unique<Held>(call) : nullptr);
}

void beginMessage(Holder& holder, int entry, void* message) {
  holder.machine().begin(entry, *body_of(entry), std::make_unique<Held>(Message::from_payload(message)));
}

void arrive(Holder& holder, int entry, Delivery& call, std::int64_t reference) {
  if (reference > reference_max || reference < any_reference) refuse_reference(entry, reference);
  auto held = std::make_unique<Held>(call);
  held->key = key_of(entry, reference);
  holder.machine().arrive(std::move(held));
}

void arriveMessage(Holder& holder, int entry, void* message) {
  auto held = std::make_unique<Held>(Message::from_payload(message));
  held->key = key_of(entry, CkGetRefNum(message));
  holder.machine().arrive(std::move(held));
}

std::string name_of(const ArrayElement& element) {
  return array_manager(element.ckGetArrayID()).describe(element.ckGetID());
}

}  // namespace periapt::sdag
