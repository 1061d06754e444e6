// Refiner: moves objects away from PEs above the average, for balancers that have an assignment. C++17: reached from
// Refiner.h.
#pragma once
#include "runtime/loadbalance/classic/central_lb.h"

class Refiner {
 public:
  // A PE may be loaded `tolerance` times the average.
  explicit Refiner(double tolerance) : tolerance_(tolerance) {}
  // A place for each object of `stats`.
  static int* AllocProcs(int pes, BaseLB::LDStats* stats);
  static void FreeProcs(int* places) { delete[] places; }
  // Objects are on from[i]; writes to[i].
  void Refine(int pes, BaseLB::LDStats* stats, int* from, int* to);
  // Of the last Refine(): seconds a PE.
  double computeAverageLoad() const { return average_; }
  double computeMax() const { return max_; }

 private:
  double tolerance_;
  double average_ = 0, max_ = 0;
};
