// See shown_branches.h.
#include "runtime/objects/shown_branches.h"

#include <map>
#include <mutex>
#include <utility>

#include "runtime/scheduler/pe.h"

namespace periapt {
namespace {
struct Shown {
  std::mutex mutex;
  std::map<std::pair<int, int>, void*> branches;  // by the PE's slot and the group's number
};
Shown& shown() {
  static auto& the_shown = *new Shown;  // never destroyed, like what else PEs hold
  return the_shown;
}
}  // namespace

void show_branch(const Pe& pe, int group, void* branch) {
  const std::lock_guard lock(shown().mutex);
  shown().branches[{pe.slot, group}] = branch;
}
void* shown_branch(const Pe& here, int rank, int group) {
  const std::lock_guard lock(shown().mutex);
  const auto found = shown().branches.find({here.slot - here.rank + rank, group});
  return found == shown().branches.end() ? nullptr : found->second;
}

}  // namespace periapt
