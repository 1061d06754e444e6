// See built_in_maps.h.
#include "runtime/array/built_in_maps.h"

#include <cstring>
#include <string>

#include "base/fatal.h"
#include "runtime/array/default_map.h"
#include "runtime/converse/ck.h"
#include "runtime/converse/topo_manager.h"
#include "runtime/registry/c_calls.h"

using periapt::PlacingMap;
using periapt::chare::Placement;

int PlacingMap::registerArray(const CkArrayIndex& bounds, CkArrayID) {
  placements_.push_back(new Placement(placement(bounds)));
  return static_cast<int>(placements_.size()) - 1;
}
int PlacingMap::procNum(int array, const CkArrayIndex& index) {
  return placements_[static_cast<std::size_t>(array)]->pe_of(index);
}

namespace {
constexpr const char* map_file = "mapfile";
}

Placement RRMap::placement(const CkArrayIndex& bounds) const { return Placement::round_robin(bounds, CkNumPes()); }
Placement CldMap::placement(const CkArrayIndex& bounds) const { return Placement::round_robin(bounds, CkNumPes()); }
Placement DefaultArrayMap::placement(const CkArrayIndex& bounds) const { return Placement(bounds, CkNumPes()); }
Placement FastArrayMap::placement(const CkArrayIndex& bounds) const { return Placement::fast(bounds, CkNumPes()); }
Placement HilbertArrayMap::placement(const CkArrayIndex& bounds) const {
  return Placement::hilbert(bounds, CkNumPes());
}
Placement ReadFileMap::placement(const CkArrayIndex& bounds) const {
  TopoManager topology;
  const auto rank_of = [&](int x, int y, int z, int t) { return topology.coordinatesToRank(x, y, z, t); };
  return Placement::table(bounds, CkNumPes(),
                          periapt::chare::read_placement(map_file, bounds.count64(), CkNumPes(), rank_of));
}
Placement Simple1DFileMap::placement(const CkArrayIndex& bounds) const {
  if (bounds.dimension != 1)
    periapt::fatal("Simple1DFileMap is the map of an array of " + std::to_string(bounds.dimension) + " dimensions", {},
                   "its file has a line for each element of a row", "use ReadFileMap, or set bounds of one dimension");
  return Placement::table(bounds, CkNumPes(), periapt::chare::read_placement(map_file, bounds.count64(), CkNumPes()));
}
Placement ConfigurableRRMap::placement(const CkArrayIndex& bounds) const {
  for (char** argument = CkGetArgv(); *argument; ++argument)
    if (std::strcmp(*argument, "+ConfigurableRRMap") == 0 && argument[1])
      return Placement::table(bounds, CkNumPes(),
                              periapt::chare::configured_placement(argument[1], bounds.count64(), CkNumPes()));
  return Placement::round_robin(bounds, CkNumPes());
}
Placement PropMap::placement(const CkArrayIndex& bounds) const {
  const std::vector<double> speeds(static_cast<std::size_t>(CkNumPes()), 1.0);
  return Placement::table(bounds, CkNumPes(), periapt::chare::proportional_placement(bounds.count64(), speeds));
}

void periapt::register_built_in_maps() {
  CkIndex_RRMap::register_class("RRMap", "RRMap()");
  CkIndex_DefaultArrayMap::register_class("DefaultArrayMap", "DefaultArrayMap()");
  CkIndex_BlockMap::register_class("BlockMap", "BlockMap()");
  CkIndex_FastArrayMap::register_class("FastArrayMap", "FastArrayMap()");
  CkIndex_HilbertArrayMap::register_class("HilbertArrayMap", "HilbertArrayMap()");
  CkIndex_ReadFileMap::register_class("ReadFileMap", "ReadFileMap()");
  CkIndex_Simple1DFileMap::register_class("Simple1DFileMap", "Simple1DFileMap()");
  CkIndex_ConfigurableRRMap::register_class("ConfigurableRRMap", "ConfigurableRRMap()");
  CkIndex_PropMap::register_class("PropMap", "PropMap()");
  CkIndex_CldMap::register_class("CldMap", "CldMap()");
}
