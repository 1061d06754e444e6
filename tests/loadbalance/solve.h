// A strategy by its name, for tests.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "runtime/loadbalance/model.h"
#include "runtime/loadbalance/strategy.h"

namespace periapt::loadbalance {

// As +balancer would name it, with its options.
inline Assignment solve(const std::string& strategy, const LoadDatabase& db) {
  Complaint complaint;
  const auto chosen = read_strategy(strategy, &complaint);
  if (!chosen) ADD_FAILURE() << complaint.what;
  return chosen ? chosen->solve(db) : present(db);
}

}  // namespace periapt::loadbalance
