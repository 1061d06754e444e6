// libfabric with faults (faulty/) in place of the system's, and what a test may break in it.
#pragma once

#include <cstdlib>

#include "tests/loaded_function.h"
#include "tests/ofi/faulty/faults.h"

namespace periapt::faulty_fabric {

/// To be made before the transport is asked for its devices for the first time: a global of the test.
struct InPlace {
  InPlace() { ::setenv("PERIAPT_LIBFABRIC", PERIAPT_FAULTY_FABRIC, 1); }
};

inline Faults& faults() {
  return loaded_function<Faults&()>(PERIAPT_FAULTY_FABRIC, "periapt_faulty_fabric_faults", "faulty libfabric")();
}

}  // namespace periapt::faulty_fabric
