// How far apart PEs are for what their objects send each other, and what an assignment costs by that measure.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "machine/sim/topology.h"
#include "runtime/loadbalance/database.h"
#include "runtime/loadbalance/partners.h"

namespace periapt::loadbalance {

class Distance {
 public:
  explicit Distance(const LoadDatabase& database);
  // 0: the same PE, 1: the same process, 2: the same host; between hosts 3 and what the network has of hops between
  // its routers.
  int operator()(int pe, int other) const;

 private:
  const std::vector<PeLoad>& pes_;
  std::unique_ptr<sim::Topology> network_;  // null: any two hosts are as far apart as others
  std::vector<std::uint16_t> hops_;         // between hosts; empty: too many to be listed
  std::size_t hosts_ = 1;
};

// Bytes between objects, each times the distance that it has to go: the work of the network.
// (T. Agarwal, A. Sharma, L. V. Kale, "Topology-aware task mapping for reducing communication contention on large
// parallel machines", IPDPS 2006.)
double hop_bytes_of(const LoadDatabase& database, const Assignment& assignment);

}  // namespace periapt::loadbalance
