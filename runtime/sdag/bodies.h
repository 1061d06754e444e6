// Which entries have a body in their .ci, and which are waited for: filled where the generated code registers its
// entries. C++17: reached from charm++.h.
#pragma once
#include <string>

#include "runtime/sdag/steps.h"

namespace periapt::sdag {

// What an object is to its machine.
struct ObjectKind {
  std::string (*describe)(const Holder&);  // empty: it has no name but its class's
  void (*depart)(Holder&, int pe);         // null: it stays where it is
};

void registerBody(int entry, const Procedure& procedure);
void registerTrigger(int entry, const ArgumentsType& type);

// Null: it has none.
const Procedure* body_of(int entry);
// Null: no when of its class waits for it.
const ArgumentsType* type_of_trigger(int entry);

// Before the first message comes: all that is registered is known, to the whens of all classes.
void complete_bodies();
// Whether any when asks for messages of the entry with a reference number; without one.
bool wants_number(int entry);
bool wants_any(int entry);

}  // namespace periapt::sdag
