// The fake libfabric (fake/) in place of the system's, and what a test may break in it.
#pragma once

#include <cstdlib>
#include <string>

#include "tests/loaded_function.h"
#include "tests/ofi/fake/faults.h"

namespace periapt::fake_fabric {

/// To be made before the transport is asked for its devices for the first time: a global of the test.
struct InPlace {
  InPlace() { ::setenv("PERIAPT_LIBFABRIC", PERIAPT_FAKE_FABRIC, 1); }
};

template <class Function>
Function* function(const char* name) {
  return loaded_function<Function>(PERIAPT_FAKE_FABRIC, name, "fake libfabric");
}

inline Faults& faults() { return *function<Faults*()>("periapt_fake_fabric_faults")(); }
/// How many of its objects there are.
inline int alive() { return function<int()>("periapt_fake_fabric_alive")(); }

}  // namespace periapt::fake_fabric
