// See element_map.h.
#include "runtime/array/element_map.h"

#include <string>

#include "base/fatal.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/scheduler/process.h"

namespace periapt {

ElementMap::ElementMap(PeObjects& objects, const CkArrayOptions& options, CkArrayID array)
    : pes_(objects.pe.process.pes()) {
  if (options.getMap().isZero()) {
    blocks_.emplace(options.getBounds(), pes_);
    return;
  }
  map_ = static_cast<CkArrayMap*>(objects.group(options.getMap().idx).base);
  handle_ = map_->registerArray(options.getBounds(), array);
}

int ElementMap::place(const CkArrayIndex& index) const {
  if (!map_) return blocks_->pe_of(index);
  const int pe = map_->procNum(handle_, index);
  if (pe < 0 || pe >= pes_)
    fatal("a map put element " + index.toString() + " on PE " + std::to_string(pe) + " of " + std::to_string(pes_),
          "procNum() of the array's map", "", "return a number from 0 to CkNumPes() - 1");
  return pe;
}

int ElementMap::home(const CkArrayIndex& index) const {
  return map_ ? map_->homePe(handle_, index) : blocks_->pe_of(index);
}

}  // namespace periapt
