// The parts of the runtime that a program starts with, for run_program().
#pragma once
#include "runtime/face/part.h"

namespace periapt::program {
std::vector<Part> parts();
}  // namespace periapt::program
