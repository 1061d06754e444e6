// Greedy as other strategies use it: as the mark that they are to come near.
#pragma once
#include "runtime/loadbalance/database.h"

namespace periapt::loadbalance {
Assignment place_greedily(const LoadDatabase& database);
}  // namespace periapt::loadbalance
