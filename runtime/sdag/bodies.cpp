// See bodies.h.
#include "runtime/sdag/bodies.h"

#include <vector>

namespace periapt::sdag {

namespace {
struct Known {
  const Procedure* body = nullptr;
  const ArgumentsType* trigger = nullptr;
};
// By entry. One a process, constant when the first PE runs.
std::vector<Known> known;

Known& slot(int entry) {
  if (static_cast<std::size_t>(entry) >= known.size()) known.resize(static_cast<std::size_t>(entry) + 1);
  return known[static_cast<std::size_t>(entry)];
}
const Known none;
const Known& look(int entry) {
  return static_cast<std::size_t>(entry) < known.size() ? known[static_cast<std::size_t>(entry)] : none;
}
}  // namespace

void registerBody(int entry, const Procedure& procedure) { slot(entry).body = &procedure; }
void registerTrigger(int entry, const ArgumentsType& type) { slot(entry).trigger = &type; }
const Procedure* body_of(int entry) { return look(entry).body; }
const ArgumentsType* type_of_trigger(int entry) { return look(entry).trigger; }

}  // namespace periapt::sdag
