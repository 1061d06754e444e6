// Stands in for pmix.cpp where PMIx's headers were not there at build time.
#include <cstdlib>

#include "machine/bootstrap/wire.h"

namespace periapt::bootstrap {

bool built_with_pmix() { return false; }

Looked look_for_pmix() {
  if (std::getenv("PMIX_NAMESPACE") == nullptr)
    return Looked::nothing("PMIx: PMIX_NAMESPACE is not set (and it was not built in)");
  return Looked::unusable(
      "PMIx: the launcher offers it, but Periapt was built without PMIx's headers: install libpmix-dev, "
      "configure again and rebuild");
}

}  // namespace periapt::bootstrap
