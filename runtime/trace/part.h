// Traces as a part of a program (runtime/program/parts.cpp).
#pragma once
#include "runtime/face/part.h"

namespace periapt::trace {
Part part();
// Before the part takes its options: this program is to record logs for Projections.
void want_projections();
}  // namespace periapt::trace
