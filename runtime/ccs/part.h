// Requests from outside as a part of a program (runtime/program/parts.cpp).
#pragma once
#include <string>

#include "runtime/face/part.h"

namespace periapt::ccs {
Part part();

/// Where clients reach this run, on PE 0.
struct Contact {
  int port = 0;       ///< 0: there is no server
  std::string token;  ///< "": clients need none
};
Contact contact();
}  // namespace periapt::ccs
