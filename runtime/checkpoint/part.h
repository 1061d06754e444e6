// Checkpoints as a part of a program (runtime/program/parts.cpp).
#pragma once
#include "runtime/face/part.h"

namespace periapt::checkpoint {
Part part();
}  // namespace periapt::checkpoint
