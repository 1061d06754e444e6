// Requests from outside as a part of a program (runtime/program/parts.cpp).
#pragma once
#include "runtime/face/part.h"

namespace periapt::ccs {
Part part();
}  // namespace periapt::ccs
