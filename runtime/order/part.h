// The order of messages, fuzzed, recorded and replayed, as a part of a program (runtime/program/parts.cpp).
#pragma once
#include "runtime/face/part.h"

namespace periapt::order {
Part part();
}  // namespace periapt::order
