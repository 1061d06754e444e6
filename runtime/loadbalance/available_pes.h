// Which PEs may get objects, as the program has said in this process: LBManager::set_avail_vector().
#pragma once
#include <mutex>
#include <vector>

#include "runtime/loadbalance/database.h"

namespace periapt::loadbalance {

class AvailablePes {
 public:
  // 1 or 0 for each PE of the run; not all of them 0.
  void set(const char* available, int pes);
  bool may_get(int pe) const;
  // PEs that may not are known as such in the database from now on.
  void mark(LoadDatabase& database) const;
  // Says, once, that this strategy gives objects to all PEs all the same.
  void say_unread(const char* strategy);

 private:
  bool all() const;
  mutable std::mutex mutex_;
  std::vector<char> said_;  // empty: nothing
  bool told_ = false;
};
AvailablePes& available_pes();

}  // namespace periapt::loadbalance
