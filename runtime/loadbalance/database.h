// What balancing decides on: plain data, gathered from all PEs. A strategy gets one and nothing else, so the same code
// runs in a program, in a test and on recorded steps.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/pup/pup.h"

namespace periapt::loadbalance {

// Times are seconds since the last balancing.
struct PeLoad {
  double wall = 0;        // length of the interval
  double idle = 0;        // without work
  double background = 0;  // in entry methods of anything that cannot be moved
  double speed = 1;       // relative; work of w seconds at speed 1 takes w / speed
  bool available = true;  // objects may be put here
  void pup(PUP::er& p);
};

// Something that can be moved: an array element, with the elements of bound arrays that move along.
struct ObjectLoad {
  std::int32_t array = 0;
  std::uint64_t element = 0;
  std::int32_t pe = 0;      // where it is
  double seconds = 0;       // in its entry methods, on that PE
  std::uint64_t bytes = 0;  // its state, packed; 0: not asked for
  bool migratable = true;
  void pup(PUP::er& p);
};

struct LoadDatabase {
  std::uint32_t step = 0;
  std::vector<PeLoad> pes;
  std::vector<ObjectLoad> objects;
  void pup(PUP::er& p);
};

// objects[i] goes to PE assignment[i].
using Assignment = std::vector<int>;

// One line of JSON; reading refuses what is not one, with the reason in *error.
std::string to_json(const LoadDatabase& database);
bool from_json(const std::string& text, LoadDatabase* database, std::string* error);

}  // namespace periapt::loadbalance
