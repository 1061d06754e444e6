// See machines.h.
#include "runtime/sdag/machines.h"

namespace periapt::sdag {

Machines::~Machines() {
  for (Machine* machine = first_; machine; machine = machine->next_) machine->list_ = nullptr;
}

void Machines::add(Machine& machine) {
  const Pe* pe = Pe::current();
  if (!pe || !pe->objects) return;
  auto& list = pe->objects->waiting_bodies;
  if (!list) list = std::make_unique<Machines>();
  auto* self = static_cast<Machines*>(list.get());
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
