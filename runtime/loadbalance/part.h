// Load balancing as a part of a program (runtime/program/parts.cpp).
#pragma once
#include "runtime/face/part.h"

namespace periapt::loadbalance {
Part part();
}  // namespace periapt::loadbalance
