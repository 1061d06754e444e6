// See available_pes.h.
#include "runtime/loadbalance/available_pes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/fatal.h"
#include "base/log.h"
#include "runtime/objects/pe_objects.h"

namespace periapt::loadbalance {

AvailablePes& available_pes() {
  static AvailablePes the_pes;
  return the_pes;
}

void AvailablePes::set(const char* available, int pes) {
  std::vector<char> said(available, available + pes);
  if (std::count(said.begin(), said.end(), 0) == pes)
    fatal("set_avail_vector() leaves no PE", describe_running(*Pe::current()),
          "no PE of the run may get objects, so that none could be balanced", "let at least one of them be 1");
  const std::lock_guard lock(mutex_);
  said_ = std::move(said);
}
bool AvailablePes::may_get(int pe) const {
  const std::lock_guard lock(mutex_);
  return said_.empty() || said_[static_cast<std::size_t>(pe)] != 0;
}
void AvailablePes::mark(LoadDatabase& database) const {
  for (std::size_t pe = 0; pe < database.pes.size(); ++pe)
    if (!may_get(static_cast<int>(pe))) database.pes[pe].available = false;
}
bool AvailablePes::all() const {
  const std::lock_guard lock(mutex_);
  return std::count(said_.begin(), said_.end(), 0) == 0;
}
void AvailablePes::say_unread(const char* strategy) {
  if (all() || std::exchange(told_, true)) return;
  log::warn(std::string(strategy) + " gives objects to all PEs, also to those that set_avail_vector() has left out");
}

}  // namespace periapt::loadbalance
