// What an assignment would cost, by the simplest model: a PE is busy for its background and for the work of its
// objects.
#pragma once
#include "runtime/loadbalance/database.h"
#include "runtime/loadbalance/partners.h"

namespace periapt::loadbalance {

struct Balance {
  double max = 0, average = 0;  // seconds of load a PE, over available ones
  int migrations = 0;
  double ratio() const { return average > 0 ? max / average : 1; }
};

// Seconds that an object would take on another PE.
inline double seconds_on(const LoadDatabase& database, const ObjectLoad& object, int pe) {
  return object.seconds * database.pes[object.pe].speed / database.pes[pe].speed;
}
// Calls function(c, from, to) for what would leave PE `from` to an object on PE `to`, or to a member of a group there.
template <class Function>
void for_each_crossing(const LoadDatabase& database, const Assignment& assignment, Function&& function) {
  if (database.communication.empty()) return;
  const ObjectIndex index(database);
  for (const Communication& c : database.communication) {
    const std::uint32_t sender = index.find(c.from), receiver = index.find(c.to);
    if (sender == ObjectIndex::none) continue;
    const int from = assignment[sender];
    if (receiver != ObjectIndex::none) {
      if (const int to = assignment[receiver]; from != to) function(c, from, to);
    } else if (database.is_to_member(c) && database.leaves(c, from)) {
      function(c, from, c.to_pe);
    }
  }
}
// All of that.
struct Crossing {
  std::uint64_t messages = 0, bytes = 0;
};
Crossing crossing_of(const LoadDatabase& database, const Assignment& assignment);

std::vector<double> pe_loads(const LoadDatabase& database, const Assignment& assignment);
Balance balance_of(const LoadDatabase& database, const Assignment& assignment);
// What the objects take if all wait for the fullest PE of each phase. What PEs do besides is in no phase.
double phases_makespan(const LoadDatabase& database, const Assignment& assignment);
// Where everything is.
Assignment present(const LoadDatabase& database);
// No assignment can have a smaller maximum: the mean over PEs, the largest single object, the fullest PE with what
// cannot leave it.
double lower_bound(const LoadDatabase& database);
// What is left of the mean over PEs when nothing stands in the way: the level to which available PEs are filled when
// all that can move is spread evenly, and, by PE, how much work then fits on each (0 where one is fuller, or not
// available).
struct Capacity {
  double level = 0;
  std::vector<double> work;
};
Capacity capacity_of(const LoadDatabase& database);
// Empty when strategies can work on it. Otherwise, what is wrong: a load that is no number, a PE that there is not.
std::string check_database(const LoadDatabase& database);
// The same of what some PEs have measured, the first of which is number `first` of `pes` in all.
std::string check_part(const LoadDatabase& part, int first, int pes);
// Empty when it is one: every object on an existing and available PE, what cannot move where it was. Otherwise, what is
// wrong with it.
std::string check_assignment(const LoadDatabase& database, const Assignment& assignment);

}  // namespace periapt::loadbalance
