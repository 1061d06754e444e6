// What came of a strategy on one step, and the forms in which it is shown.
#pragma once
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "runtime/loadbalance/model.h"

namespace periapt::loadbalance {

struct Outcome {
  std::string strategy;
  double max_load = 0, ratio = 1, sigma = 0;  // of PEs; ratio: max/avg
  double above_bound = 0;                     // max_load over the lower bound, minus one
  std::optional<double> above_optimum;        // likewise, where the optimum is known
  std::uint64_t migrations = 0, bytes_moved = 0;
  Crossing crossing;
  double seconds = 0;              // that the strategy took
  std::uint64_t memory_bytes = 0;  // that it needed beside the database
};

struct StepOutcomes {
  std::uint32_t step = 0;
  std::size_t objects = 0, pes = 0;
  double bound = 0;
  std::optional<double> optimum;
  std::vector<Outcome> rows;  // the first: as it was
};

// Everything but the strategy's cost.
Outcome outcome_of(const LoadDatabase& database, const Assignment& assignment, double bound,
                   std::optional<double> optimum);

void print_table(std::ostream& out, const StepOutcomes& step);
void print_csv(std::ostream& out, const std::vector<StepOutcomes>& steps);
void print_json(std::ostream& out, const std::vector<StepOutcomes>& steps);

}  // namespace periapt::loadbalance
