// Another number of PEs while a program runs, as a part of it (runtime/program/parts.cpp).
#pragma once
#include "runtime/face/part.h"

namespace periapt::resize {
Part part();
}  // namespace periapt::resize
