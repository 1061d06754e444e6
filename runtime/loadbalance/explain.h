// What a step of balancing found, did, and why: text for people (+lb-explain). Plain data in, text out.
#pragma once
#include "runtime/loadbalance/strategy.h"

namespace periapt::loadbalance {

struct Decision {
  const LoadDatabase& database;  // loads as the strategy saw them
  const Assignment& assignment;
  const Strategy* strategy = nullptr;  // null: AtSync is a barrier
  std::string refused = "";            // why the strategy's answer was not taken
  double seconds = 0;                  // to decide
  double predicted_before = 0;         // max/avg that the step before said for this one; 0: there was none
  double moved_seconds = 0;            // that the moves of the step before took, and how many they were
  int moved_before = 0;
  std::string (*name)(const ObjectLoad& object) = nullptr;  // as people know it; null: by its numbers
};

// Several lines, the last one with an end.
std::string explain(const Decision& decision);

}  // namespace periapt::loadbalance
