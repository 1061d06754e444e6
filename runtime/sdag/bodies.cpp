// See bodies.h.
#include "runtime/sdag/bodies.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "runtime/objects/all_serial_blocks.h"
#include "runtime/sdag/machines.h"

namespace periapt::sdag {

namespace {
struct Known {
  const Procedure* body = nullptr;
  const ArgumentsType* trigger = nullptr;
  bool number = false, any = false;  // whens that ask for it
};
// By entry. One a process, constant when the first PE runs.
std::vector<Known> known;

Known& slot(int entry) {
  if (static_cast<std::size_t>(entry) >= known.size()) known.resize(static_cast<std::size_t>(entry) + 1);
  return known[static_cast<std::size_t>(entry)];
}
std::atomic<bool> complete{false};
std::mutex completing;

const Known none;
const Known& look(int entry) {
  return static_cast<std::size_t>(entry) < known.size() ? known[static_cast<std::size_t>(entry)] : none;
}

void for_each_block(const std::function<void(const SerialBlock& block, int entry)>& visit) {
  for (std::size_t entry = 0; entry < known.size(); ++entry) {
    if (known[entry].body == nullptr) continue;
    const Step* const steps = known[entry].body->steps;
    // Nothing stands behind the `end` that nothing jumps over.
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; steps[i].op != Op::end || i < last; ++i) {
      last = std::max(last, steps[i].target);
      if (steps[i].op == Op::serial) visit(steps[i].block, static_cast<int>(entry));
    }
  }
}
}  // namespace

void registerBody(int entry, const Procedure& procedure) {
  SerialBlocks::running = Machines::running;
  AllSerialBlocks::for_each = for_each_block;
  slot(entry).body = &procedure;
  complete.store(false, std::memory_order_relaxed);
}
void registerTrigger(int entry, const ArgumentsType& type) { slot(entry).trigger = &type; }
const Procedure* body_of(int entry) { return look(entry).body; }
const ArgumentsType* type_of_trigger(int entry) { return look(entry).trigger; }

void complete_bodies() {
  // With the store below: one that sees it sees the table.
  if (complete.load(std::memory_order_acquire)) return;
  const std::lock_guard<std::mutex> lock(completing);
  if (complete.load(std::memory_order_relaxed)) return;
  for (std::size_t entry = 0; entry < known.size(); ++entry) {
    const Procedure* body = known[entry].body;
    for (int i = 0; body && i < body->awaited_count; ++i) {
      Known& awaited = slot(body->awaited[i].entry());
      (body->awaited[i].reference == no_fragment ? awaited.any : awaited.number) = true;
    }
  }
  complete.store(true, std::memory_order_release);
}
bool wants_number(int entry) { return look(entry).number; }
bool wants_any(int entry) { return look(entry).any; }

}  // namespace periapt::sdag
