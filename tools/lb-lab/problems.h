// Load databases that need no run to record them: objects on a grid in the unit cube, with loads of several kinds,
// messages to neighbours, and positions.
#pragma once
#include <optional>
#include <string>

#include "runtime/loadbalance/strategy.h"

namespace periapt::lab {

struct ProblemKind {
  const char* name;
  const char* summary;
  // Seconds of the object at a place in the unit cube. `chance`: 0 to 1, its own for good.
  double (*load)(const loadbalance::Position& at, double chance, unsigned step,
                 const loadbalance::StrategyOptions& options);
  std::vector<loadbalance::StrategyOption> options;
};
const std::vector<ProblemKind>& problem_kinds();

struct Problem {
  const ProblemKind* kind;
  loadbalance::StrategyOptions options;
};
// "hotspot:objects=1000,pes=16,steps=4"; or what is wrong with it.
std::optional<Problem> read_problem(const std::string& text, Complaint* complaint);
// Objects are dealt out to PEs in blocks, in each step. The same question has the same answer.
loadbalance::LoadDatabase make_step(const Problem& problem, unsigned step);
unsigned steps_of(const Problem& problem);

}  // namespace periapt::lab
