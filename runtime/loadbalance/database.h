// What balancing decides on: plain data, gathered from all PEs. A strategy gets one and the values of its options, so
// the same code runs in a program, in a test and on recorded steps (tools/lb-lab). PEs are known by their place in
// `pes` alone, so a database may also describe a part of a machine, or groups of PEs.
#pragma once
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "runtime/pup/pup.h"

namespace periapt::loadbalance {

// What loads are measured by.
enum class LoadClock : std::uint8_t { wall, processor, gpu };

// Times are seconds since the last balancing.
struct PeLoad {
  double wall = 0;        // length of the interval
  double idle = 0;        // without work
  double background = 0;  // in entry methods of anything that cannot be moved
  double speed = 1;       // relative; work of w seconds at speed 1 takes w / speed
  bool available = true;  // objects may be put here
  std::int32_t process = 0;
  std::int32_t host = 0;
  double background_wall = 0;  // see LoadDatabase::clock
  double background_gpu = 0;   // of GPUs, for anything that cannot be moved
  void pup(PUP::er& p);
};

// Something that can be moved: an array element, with the elements of bound arrays that move along. `array` is the one
// that the others are bound to.
struct ObjectLoad {
  std::int32_t array = 0;
  std::uint64_t element = 0;
  std::int32_t pe = 0;      // where it is
  double seconds = 0;       // in its entry methods, on that PE
  std::uint64_t bytes = 0;  // its state, packed; 0: not asked for
  bool migratable = true;
  double wall = 0;  // see LoadDatabase::clock
  double gpu = 0;   // seconds that GPUs have worked for it
};

// Where an object's work is, in the program's own coordinates. Not a number: it gave none.
struct Position {
  float x = std::numeric_limits<float>::quiet_NaN(), y = x, z = x;
  bool given() const { return std::isfinite(x) && std::isfinite(y) && std::isfinite(z); }
  float operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
};

// A phase is work that all objects wait for together before the next one begins. How an object's seconds are spread
// over the program's phases; where nothing was said they are all in the first.
struct PhaseParts {
  static constexpr int most = 8;
  float part[most] = {1};
  // Of one that has `seconds`, together with another one that has `more`.
  void join(double seconds, const PhaseParts& other, double more);
};

// An element of an array. (Bound arrays: of the one that the others are bound to.)
struct ElementName {
  std::int32_t array = 0;
  std::uint64_t element = 0;
  bool operator==(const ElementName&) const = default;
  void pup(PUP::er& p);
};

// What one element has sent another since the last balancing. The receiver need not be an object that can be moved: of
// a group it is the member on one PE (`element` is its number), of a node group that of a process.
struct Communication {
  ElementName from, to;
  std::uint64_t messages = 0, bytes = 0;
  std::int32_t to_pe = -1;  // a member: it stays there; of a node group: on the PEs of that one's process
  bool to_process = false;  // of a node group
  void pup(PUP::er& p);
};

}  // namespace periapt::loadbalance
PUPbytes(periapt::loadbalance::ObjectLoad);  // there are many
PUPbytes(periapt::loadbalance::Position);
PUPbytes(periapt::loadbalance::PhaseParts);
namespace periapt::loadbalance {

struct LoadDatabase {
  std::uint32_t step = 0;
  // Of loads (`seconds` and `background`). Where it is not wall time, the wall time of the same is known besides.
  LoadClock clock = LoadClock::wall;
  std::string topology;  // of the network between hosts, "torus:8x8x16" as +sim names it; empty: not known
  std::vector<PeLoad> pes;
  std::vector<ObjectLoad> objects;
  std::vector<Position> positions;           // of the objects, in their order; empty when none gave one
  std::vector<PhaseParts> phases;            // the same
  std::vector<Communication> communication;  // recorded when the strategy wants it; a pair may stand here several times
  // What elements have written to getObjUserData(): user_bytes for each object, in their order. Not in JSON.
  std::uint32_t user_bytes = 0;
  std::vector<char> user_data;
  void pup(PUP::er& p);
  // The seconds of an object in a phase.
  double seconds_in(int phase, std::size_t object) const {
    const double part = phases.empty() ? static_cast<double>(phase == 0) : phases[object].part[phase];
    return objects[object].seconds * part;
  }
  // Adds the PEs of another part of the machine, whose objects name PEs by their place in the whole already.
  void append(const LoadDatabase& part);
  // Whether a member of a group is what it was sent to, and that stays where a PE of `pes` is.
  bool is_to_member(const Communication& c) const {
    return c.to_pe >= 0 && static_cast<std::size_t>(c.to_pe) < pes.size();
  }
  // Whether that has to leave PE `from` to reach its member.
  bool leaves(const Communication& c, int from) const {
    return c.to_process ? pes[from].process != pes[c.to_pe].process : from != c.to_pe;
  }
  void clear();  // keeps the memory
};

// objects[i] goes to PE assignment[i].
using Assignment = std::vector<int>;

// One line of JSON; reading refuses what is not one, with the reason in *error.
std::string to_json(const LoadDatabase& database);
bool from_json(const std::string& text, LoadDatabase* database, std::string* error);

}  // namespace periapt::loadbalance

template <>
struct std::hash<periapt::loadbalance::ElementName> {
  std::size_t operator()(const periapt::loadbalance::ElementName& name) const {
    return (name.element ^ static_cast<std::uint64_t>(name.array) << 48) * 0x9E3779B97F4A7C15u;
  }
};
