// Classes with several array bases: an object has an ArrayElement of each, and is one element, of its first base. What
// a further one's code does with its element is done with that: it contributes, moves, is destroyed and balanced as
// one.
//
// Only the first base is in the tables of the array and of the balancer, so that a further one has no use for its place
// in them: load_slot_ says there whether AtSync() was called by it. It is then the one whose UserSetLBLoad() and
// ResumeFromSync() are called, which the first base may not override.
#include <algorithm>

#include "runtime/array/array_manager.h"

namespace periapt {

namespace {
constexpr std::int32_t in_sync_by_it = -2;
ArrayElement* at(void* object, std::ptrdiff_t offset) {
  return reinterpret_cast<ArrayElement*>(static_cast<char*>(object) + offset);
}
}  // namespace

void ArrayManager::adopt_further(ArrayElement* base) {
  const std::ptrdiff_t offset = reinterpret_cast<char*>(base) - static_cast<char*>(construction_.object);
  // One that the constructor makes for itself, elsewhere, is no base of the object.
  if (offset < 0 || static_cast<std::size_t>(offset) >= registry().chares[type_].size) return;
  const auto known = std::find(further_.begin(), further_.end(), offset);
  const auto made = static_cast<std::size_t>(known - further_.begin()) + 1;
  if (known == further_.end()) further_.push_back(offset);
  for (Making& making : making_)
    if (making.id == base->myRec.id_) making.further = made;
}

// Where in the element those of its further bases are that have been made.
std::span<const std::ptrdiff_t> ArrayManager::further_of(const ArrayElement* element) const {
  for (const Making& making : making_)
    if (making.id == element->myRec.id_) return {further_.data(), making.further};
  return further_;
}

ArrayElement* ArrayManager::main_base(ArrayElement* base) {
  ArrayElement* const element = find(base->myRec.id_);
  return element ? element : base;
}

void ArrayManager::ask_further(ArrayElement* element) {
  for (const std::ptrdiff_t offset : further_)
    if (at(object_of(element), offset)->usesAtSync) element->usesAtSync = true;
}

void ArrayManager::set_in_sync(ArrayElement* base, bool is_in_sync) {
  if (element_of(base) != base) base->load_slot_ = is_in_sync ? in_sync_by_it : -1;
}
bool ArrayManager::is_in_sync(const ArrayElement* base) const { return base->load_slot_ == in_sync_by_it; }

ArrayElement* ArrayManager::base_in_sync(ArrayElement* element) const {
  for (const std::ptrdiff_t offset : further_of(element))
    if (ArrayElement* const base = at(object_of(element), offset); is_in_sync(base)) return base;
  return element;
}

bool ArrayManager::further_may_move(ArrayElement* element) const {
  const std::span<const std::ptrdiff_t> made = further_of(element);
  return std::all_of(made.begin(), made.end(),
                     [&](std::ptrdiff_t offset) { return at(object_of(element), offset)->ckIsMigratable(); });
}
// The first that runs is told where it is to go: when its code has returned, the others are asked again.
bool ArrayManager::further_run(ArrayElement* element, int to) const {
  const std::span<const std::ptrdiff_t> made = further_of(element);
  return std::any_of(made.begin(), made.end(),
                     [&](std::ptrdiff_t offset) { return at(object_of(element), offset)->impl_runs(to); });
}
void ArrayManager::further_leave(ArrayElement* element) const {
  for (const std::ptrdiff_t offset : further_of(element)) at(object_of(element), offset)->impl_leaves();
}

}  // namespace periapt
