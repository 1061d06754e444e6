// The map of an array: that of the program, a CkArrayMap, or blocks over all PEs.
#pragma once
#include <optional>

#include "runtime/api/array_map.h"
#include "runtime/array/array_host.h"
#include "runtime/array/default_map.h"

namespace periapt {

class PeObjects;

class ElementMap final : public Homes {
 public:
  // What the options of this array name. Their map is here.
  ElementMap(PeObjects& objects, const CkArrayOptions& options, CkArrayID array);

  // Homes
  int home(const CkArrayIndex& index) const override;
  int place(const CkArrayIndex& index) const override;
  bool of_program() const override { return map_ != nullptr; }

  CkArrayMap* of_group() const { return map_; }  // null for blocks
  int handle() const { return handle_; }
  const chare::Placement& blocks() const { return *blocks_; }

 private:
  const int pes_;
  CkArrayMap* map_ = nullptr;
  int handle_ = 0;  // of the array, to the map
  std::optional<chare::Placement> blocks_;
};

}  // namespace periapt
