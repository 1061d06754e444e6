// The fake libibverbs (fake/) in place of the system's, and what a test may break in it.
#pragma once

#include <cstdlib>

#include "tests/loaded_function.h"
#include "tests/verbs/fake/faults.h"

namespace periapt::fake_verbs {

/// To be made before the transport is asked for its devices for the first time: a global of the test.
struct InPlace {
  InPlace() { ::setenv("PERIAPT_LIBIBVERBS", PERIAPT_FAKE_VERBS, 1); }
};

template <class Function>
Function* function(const char* name) {
  return loaded_function<Function>(PERIAPT_FAKE_VERBS, name, "fake libibverbs");
}

inline Faults& faults() { return *function<Faults*()>("periapt_fake_verbs_faults")(); }
/// How many of the device's objects there are, of all workers of this process.
inline int alive() { return function<int()>("periapt_fake_verbs_alive")(); }
/// For all devices, or one.
inline void raise(ibv_event_type type, int device = -1) {
  function<void(ibv_event_type, int)>("periapt_fake_verbs_raise")(type, device);
}

}  // namespace periapt::fake_verbs
