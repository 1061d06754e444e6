// The least that any assignment can have on its fullest PE, for problems small enough to find out.
#pragma once
#include <optional>

#include "runtime/loadbalance/database.h"

namespace periapt::lab {

// Branch and bound, largest objects first. Nothing when it would take more than that many looks.
std::optional<double> optimum(const loadbalance::LoadDatabase& database, std::uint64_t looks = 500'000);

}  // namespace periapt::lab
