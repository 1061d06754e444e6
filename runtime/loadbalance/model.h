// What an assignment would cost, by the simplest model: a PE is busy for its background and for the work of its
// objects.
#pragma once
#include "runtime/loadbalance/database.h"

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
// What an object exchanges with another one, both ways together.
struct Partner {
  std::size_t object;
  std::uint64_t messages, bytes;
};
// By object. What is exchanged with elements that are no objects is left out.
std::vector<std::vector<Partner>> partners_of(const LoadDatabase& database);
// What would pass between objects on different PEs.
struct Crossing {
  std::uint64_t messages = 0, bytes = 0;
};
Crossing crossing_of(const LoadDatabase& database, const Assignment& assignment);

std::vector<double> pe_loads(const LoadDatabase& database, const Assignment& assignment);
Balance balance_of(const LoadDatabase& database, const Assignment& assignment);
// Where everything is.
Assignment present(const LoadDatabase& database);
// No assignment can have a smaller maximum: the mean over PEs, the largest single object, the fullest PE with what
// cannot leave it.
double lower_bound(const LoadDatabase& database);
// Empty when it is one: every object on an existing and available PE, what cannot move where it was. Otherwise, what is
// wrong with it.
std::string check_assignment(const LoadDatabase& database, const Assignment& assignment);

}  // namespace periapt::loadbalance
