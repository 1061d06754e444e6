// The fake libfabric (fake/) in place of the system's, and what a test may break in it.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "base/fatal.h"
#include "tests/ofi/fake/faults.h"

namespace periapt::fake_fabric {

/// To be made before the transport is asked for its devices for the first time: a global of the test.
struct InPlace {
  InPlace() { ::setenv("PERIAPT_LIBFABRIC", PERIAPT_FAKE_FABRIC, 1); }
};

template <class Function>
Function* function(const char* name) {
  static void* library = ::dlopen(PERIAPT_FAKE_FABRIC, RTLD_NOW | RTLD_LOCAL);
  void* found = library == nullptr ? nullptr : ::dlsym(library, name);
  if (found == nullptr) fatal(std::string("the fake libfabric has no ") + name, "a test");
  return reinterpret_cast<Function*>(found);
}

inline Faults& faults() { return *function<Faults*()>("periapt_fake_fabric_faults")(); }
/// How many of its objects there are.
inline int alive() { return function<int()>("periapt_fake_fabric_alive")(); }

}  // namespace periapt::fake_fabric
