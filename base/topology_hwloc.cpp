// What only hwloc knows. The library (and all that it drags in) is loaded when a caller asks, so that the start-up of
// a plain run does not pay for it.
#include <hwloc.h>

#include "base/loaded_library.h"
#include "base/topology.h"

namespace periapt::topology {
namespace {

struct Hwloc {
  hwloc_topology_t topology = nullptr;
  std::string error;

  decltype(&hwloc_topology_init) init = nullptr;
  decltype(&hwloc_topology_load) load = nullptr;
  decltype(&hwloc_topology_set_flags) set_flags = nullptr;
  decltype(&hwloc_get_type_depth) type_depth = nullptr;
  decltype(&hwloc_get_nbobjs_by_depth) count = nullptr;
  decltype(&hwloc_get_obj_by_depth) object = nullptr;

  Hwloc() {
    LoadedLibrary library({"libhwloc.so.15", "libhwloc.so"});
    if (!library.fault.empty()) {
      error = "libhwloc could not be loaded (Debian: apt install libhwloc15)";
      return;
    }
    library.find(init, "hwloc_topology_init");
    library.find(load, "hwloc_topology_load");
    library.find(set_flags, "hwloc_topology_set_flags");
    library.find(type_depth, "hwloc_get_type_depth");
    library.find(count, "hwloc_get_nbobjs_by_depth");
    library.find(object, "hwloc_get_obj_by_depth");
    error = library.unusable();
    if (!error.empty()) return;
    // The whole machine: logical numbers must not depend on the mask we were given.
    if (init(&topology) != 0 || set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
        load(topology) != 0) {
      topology = nullptr;
      error = "hwloc could not read this machine's topology";
    }
  }
};

const Hwloc& hwloc() {
  static const Hwloc instance;
  return instance;
}

std::string ancestor_number(hwloc_obj_t object, hwloc_obj_type_t type, const char* name) {
  while (object != nullptr && object->type != type) object = object->parent;
  return object == nullptr ? std::string() : std::string(name) + std::to_string(object->logical_index);
}

}  // namespace

Result<std::vector<int>> logical_to_os() {
  const Hwloc& lib = hwloc();
  if (lib.topology == nullptr) return Status::failure(lib.error);
  int depth = lib.type_depth(lib.topology, HWLOC_OBJ_PU);
  std::vector<int> os(lib.count(lib.topology, depth));
  for (unsigned i = 0; i < os.size(); ++i) {
    os[i] = static_cast<int>(lib.object(lib.topology, depth, i)->os_index);
  }
  return os;
}

std::string describe_cpu(int cpu) {
  std::string text = "cpu " + std::to_string(cpu);
  const Hwloc& lib = hwloc();
  if (lib.topology == nullptr) return text;
  int depth = lib.type_depth(lib.topology, HWLOC_OBJ_PU);
  for (unsigned i = 0; i < lib.count(lib.topology, depth); ++i) {
    hwloc_obj_t pu = lib.object(lib.topology, depth, i);
    if (static_cast<int>(pu->os_index) != cpu) continue;
    std::string package = ancestor_number(pu, HWLOC_OBJ_PACKAGE, "package ");
    std::string core = ancestor_number(pu, HWLOC_OBJ_CORE, "core ");
    return text + " (" + package + (package.empty() || core.empty() ? "" : ", ") + core + ")";
  }
  return text;
}

}  // namespace periapt::topology
