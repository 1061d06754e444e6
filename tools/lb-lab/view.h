// What a page and a plot show of a strategy on one step: the load of PEs before and after, and how many objects go from
// where to where. More PEs than can be told apart are drawn together: a bar has the fullest of its own.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/loadbalance/database.h"

namespace periapt::lab {

struct View {
  std::uint32_t step = 0;
  std::string strategy;
  std::size_t objects = 0, pes = 0;
  double max_before = 0, max_after = 0, average = 0;  // seconds
  std::uint64_t moved = 0;
  std::vector<double> before, after;              // by bar
  std::vector<std::vector<std::uint64_t>> flows;  // [from][to], objects
};

View view_of(const loadbalance::LoadDatabase& database, const std::string& strategy,
             const loadbalance::Assignment& assignment);

}  // namespace periapt::lab
