// The maps that every program has: CProxy_RRMap::ckNew() and so on, for CkArrayOptions::setMap(). What each does stands
// in default_map.h. Programs may derive from them: `group Mine : RRMap { entry Mine(); };`.
// C++17: reached from charm++.h.
#pragma once
#include <vector>

#include "runtime/api/array_map.h"
#include "runtime/api/invoke.h"

namespace periapt {
namespace chare {
class Placement;
}

// A placement for each array that uses the map.
class PlacingMap : public CkArrayMap {
 public:
  PlacingMap() = default;
  explicit PlacingMap(CkMigrateMessage* m) : CkArrayMap(m) {}
  int registerArray(const CkArrayIndex& bounds, CkArrayID array) override;
  int procNum(int array, const CkArrayIndex& index) override;

 private:
  virtual chare::Placement placement(const CkArrayIndex& bounds) const = 0;
  std::vector<const chare::Placement*> placements_;  // kept to the end, as groups are
};

// CkIndex_Map and the proxies of a built-in map.
template <class Map, class BaseIndex>
class MapIndex : public BaseIndex {
 public:
  typedef Map local_t;
  static int __idx;
  static int constructor;
  static int ckNew() { return constructor; }
  static void register_class(const char* name, const char* entry) {
    __idx = CkRegisterChare(name, sizeof(Map), TypeGroup);
    CkRegisterBase(__idx, BaseIndex::__idx, baseOffset<Map, CkArrayMap>());
    constructor = CkRegisterEp(
        entry, [](Delivery&, void* object) { new (object) Map(); }, CkMarshallMsg::__idx, __idx,
        ep_marshalled | ep_constructor);
    CkRegisterDefaultCtor(__idx, constructor);
    CkRegisterMigCtor(__idx, CkRegisterEp(
                                 entry, [](Delivery&, void* object) { new (object) Map(); }, 0, __idx, ep_constructor));
  }
};
template <class Map, class BaseIndex>
int MapIndex<Map, BaseIndex>::__idx;
template <class Map, class BaseIndex>
int MapIndex<Map, BaseIndex>::constructor;

template <class Map, class Index, class Base>
class MapElement : public Base {
 public:
  typedef Map local_t;
  using Base::Base;
  MapElement() = default;
  Map* ckLocalBranch() const { return static_cast<Map*>(Base::ckLocalBranch()); }
};
template <class Map, class Index, class Element, class Base>
class MapProxy : public Base {
 public:
  typedef Map local_t;
  typedef Index index_t;
  typedef MapProxy proxy_t;
  typedef Element element_t;
  using Base::Base;
  MapProxy() = default;
  Map* ckLocalBranch() const { return static_cast<Map*>(Base::ckLocalBranch()); }
  static CkGroupID ckNew(const CkEntryOptions* options = nullptr) {
    return newGroup(Index::__idx, Index::constructor, options);
  }
};

void register_built_in_maps();
}  // namespace periapt

// The names of a map that Charm++ programs use.
#define PERIAPT_BUILT_IN_MAP(Map, Base)                                                           \
  typedef periapt::MapIndex<Map, CkIndex_##Base> CkIndex_##Map;                                   \
  typedef periapt::MapElement<Map, CkIndex_##Map, CProxyElement_##Base> CProxyElement_##Map;      \
  typedef periapt::MapProxy<Map, CkIndex_##Map, CProxyElement_##Map, CProxy_##Base> CProxy_##Map; \
  typedef CProxySection_##Base CProxySection_##Map;

// Round robin; the other maps, but for two, count as one.
class RRMap : public periapt::PlacingMap {
 public:
  using PlacingMap::PlacingMap;

 private:
  periapt::chare::Placement placement(const CkArrayIndex& bounds) const override;
};
// Blocks.
class DefaultArrayMap : public RRMap {
 public:
  using RRMap::RRMap;

 private:
  periapt::chare::Placement placement(const CkArrayIndex& bounds) const override;
};
class BlockMap : public DefaultArrayMap {
 public:
  using DefaultArrayMap::DefaultArrayMap;
};
class FastArrayMap : public DefaultArrayMap {
 public:
  using DefaultArrayMap::DefaultArrayMap;

 private:
  periapt::chare::Placement placement(const CkArrayIndex& bounds) const override;
};
class HilbertArrayMap : public DefaultArrayMap {
 public:
  using DefaultArrayMap::DefaultArrayMap;

 private:
  periapt::chare::Placement placement(const CkArrayIndex& bounds) const override;
};
// The file "mapfile" in the working directory of each process: a PE, or coordinates x y z t of TopoManager, in the line
// of each element.
class ReadFileMap : public DefaultArrayMap {
 public:
  using DefaultArrayMap::DefaultArrayMap;

 private:
  periapt::chare::Placement placement(const CkArrayIndex& bounds) const override;
};
// "mapfile" with a PE a line, for arrays of one dimension.
class Simple1DFileMap : public DefaultArrayMap {
 public:
  using DefaultArrayMap::DefaultArrayMap;

 private:
  periapt::chare::Placement placement(const CkArrayIndex& bounds) const override;
};
// As the option +ConfigurableRRMap "objects_per_block pes_per_block pe_0 pe_1 ..." says; without it as RRMap.
class ConfigurableRRMap : public RRMap {
 public:
  using RRMap::RRMap;

 private:
  periapt::chare::Placement placement(const CkArrayIndex& bounds) const override;
};
// In proportion to the speeds of the PEs, which count as equal.
class PropMap : public periapt::PlacingMap {
 public:
  using PlacingMap::PlacingMap;

 private:
  periapt::chare::Placement placement(const CkArrayIndex& bounds) const override;
};
// Round robin: elements do not go where there is least to do.
class CldMap : public periapt::PlacingMap {
 public:
  using PlacingMap::PlacingMap;

 private:
  periapt::chare::Placement placement(const CkArrayIndex& bounds) const override;
};

PERIAPT_BUILT_IN_MAP(RRMap, CkArrayMap)
PERIAPT_BUILT_IN_MAP(DefaultArrayMap, RRMap)
PERIAPT_BUILT_IN_MAP(BlockMap, DefaultArrayMap)
PERIAPT_BUILT_IN_MAP(FastArrayMap, DefaultArrayMap)
PERIAPT_BUILT_IN_MAP(HilbertArrayMap, DefaultArrayMap)
PERIAPT_BUILT_IN_MAP(ReadFileMap, DefaultArrayMap)
PERIAPT_BUILT_IN_MAP(Simple1DFileMap, DefaultArrayMap)
PERIAPT_BUILT_IN_MAP(ConfigurableRRMap, RRMap)
PERIAPT_BUILT_IN_MAP(PropMap, CkArrayMap)
PERIAPT_BUILT_IN_MAP(CldMap, CkArrayMap)
#undef PERIAPT_BUILT_IN_MAP
