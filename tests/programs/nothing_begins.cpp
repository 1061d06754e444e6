// A program without a mainchare, and, where OWN_FUNCTION is in the environment, with an initnode function of its own,
// which begins nothing either.
#include <cstdlib>

#include "charm++.h"
#include "register.h"

extern "C" void CkRegisterMainModule(void) {
  if (std::getenv("OWN_FUNCTION") != nullptr) CkRegisterInitCall([] {}, false);
}
