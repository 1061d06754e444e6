// A strategy: a function from a load database to an assignment, and nothing else. No state, no runtime, no clock;
// chance comes from the step's number. A new one is a .cpp in strategies/ and one line in strategies.cpp.
#pragma once
#include <string>
#include <vector>

#include "runtime/loadbalance/database.h"

namespace periapt::loadbalance {

using Strategy = Assignment (*)(const LoadDatabase&);

struct StrategyInfo {
  const char* name;     // "GreedyRefine"
  const char* classic;  // "GreedyRefineLB", as programs written for Charm++ ask for it
  const char* summary;
  Strategy solve;
};

const std::vector<StrategyInfo>& strategies();
// By either name; null when there is none.
const StrategyInfo* find_strategy(const std::string& name);
// The name nearest to one that does not exist.
std::string nearest_strategy(const std::string& name);

// Moves little: an object leaves its PE only where that PE would be fuller than `tolerance` times what Greedy reaches.
Assignment greedy_refine(const LoadDatabase& database);
Assignment greedy_refine_within(const LoadDatabase& database, double tolerance);
// The largest object first, each to the PE with the least load (Graham's LPT rule, 1969). Moves nearly everything.
Assignment greedy(const LoadDatabase& database);
// Takes from the fullest PE what fits the emptiest, until no PE is above the average by more than a few per cent.
Assignment refine(const LoadDatabase& database);
// For tests: everything one PE further; anywhere; nowhere.
Assignment rotate(const LoadDatabase& database);
Assignment scatter(const LoadDatabase& database);
Assignment stay(const LoadDatabase& database);

}  // namespace periapt::loadbalance
