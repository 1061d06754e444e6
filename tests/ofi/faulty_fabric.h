// libfabric with faults (faulty/) in place of the system's, and what a test may break in it.
#pragma once

#include <dlfcn.h>

#include <cstdlib>

#include "base/fatal.h"
#include "tests/ofi/faulty/faults.h"

namespace periapt::faulty_fabric {

/// To be made before the transport is asked for its devices for the first time: a global of the test.
struct InPlace {
  InPlace() { ::setenv("PERIAPT_LIBFABRIC", PERIAPT_FAULTY_FABRIC, 1); }
};

inline Faults& faults() {
  static void* library = ::dlopen(PERIAPT_FAULTY_FABRIC, RTLD_NOW | RTLD_LOCAL);
  void* found = library == nullptr ? nullptr : ::dlsym(library, "periapt_faulty_fabric_faults");
  if (found == nullptr) fatal("the faulty libfabric has no faults", "a test");
  return reinterpret_cast<Faults& (*)()>(found)();
}

}  // namespace periapt::faulty_fabric
