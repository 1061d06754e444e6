// Traces as a part of a program (runtime/program/parts.cpp).
#pragma once
#include "runtime/face/part.h"

namespace periapt::trace {
Part part();
}  // namespace periapt::trace
