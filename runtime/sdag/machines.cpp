// See machines.h.
#include "runtime/sdag/machines.h"

namespace periapt::sdag {

Machines::~Machines() {
  for (Machine* machine = first_; machine; machine = machine->next_) machine->list_ = nullptr;
}

void Machines::make(Pe& pe) { pe.objects->waiting_bodies = std::make_unique<Machines>(); }

const SerialBlock* Machines::running(const Pe& pe) {
  const auto* self = static_cast<const Machines*>(pe.objects->waiting_bodies.get());
  return self && self->now_.call == pe.running ? self->now_.block : nullptr;
}

void Machines::add(Machine& machine) {
  Pe* pe = Pe::current();
  if (!pe || !pe->objects) return;
  Machines* const self = &of(*pe);
  const std::lock_guard<std::mutex> lock(self->mutex_);
  machine.list_ = self;
  machine.next_ = self->first_;
  machine.link_ = &self->first_;
  if (self->first_) self->first_->link_ = &machine.next_;
  self->first_ = &machine;
}

void Machines::remove(Machine& machine) {
  if (!machine.list_) return;
  const std::lock_guard<std::mutex> lock(machine.list_->mutex_);
  *machine.link_ = machine.next_;
  if (machine.next_) machine.next_->link_ = machine.link_;
  machine.list_ = nullptr;
}

std::string Machines::describe() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string text;
  for (Machine* machine = first_; machine; machine = machine->next_) text += machine->describe();
  return text;
}

}  // namespace periapt::sdag
