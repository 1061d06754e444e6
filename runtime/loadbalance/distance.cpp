// See distance.h.
#include "runtime/loadbalance/distance.h"

#include <algorithm>

#include "runtime/loadbalance/model.h"

namespace periapt::loadbalance {

namespace {
constexpr int same_process = 1, same_host = 2, other_host = 3;
constexpr std::size_t listed_hosts_max = 2048;
}  // namespace

Distance::Distance(const LoadDatabase& database) : pes_(database.pes) {
  for (const PeLoad& pe : pes_) hosts_ = std::max(hosts_, static_cast<std::size_t>(pe.host) + 1);
  if (database.topology.empty()) return;
  auto network = sim::Topology::parse(database.topology, 0);
  if (!network || static_cast<std::size_t>((*network)->nodes()) < hosts_) return;
  network_ = std::move(*network);
  if (hosts_ > listed_hosts_max) return;
  for (std::size_t from = 0; from < hosts_; ++from)
    for (std::size_t to = 0; to < hosts_; ++to)
      hops_.push_back(static_cast<std::uint16_t>(network_->hops(static_cast<int>(from), static_cast<int>(to))));
}

int Distance::operator()(int pe, int other) const {
  if (pe == other) return 0;
  const PeLoad &one = pes_[pe], &two = pes_[other];
  if (one.host == two.host) return one.process == two.process ? same_process : same_host;
  if (!network_) return other_host;
  if (hops_.empty()) return other_host + network_->hops(one.host, two.host);
  return other_host + hops_[static_cast<std::size_t>(one.host) * hosts_ + static_cast<std::size_t>(two.host)];
}

double hop_bytes_of(const LoadDatabase& database, const Assignment& assignment) {
  const Distance distance(database);
  double sum = 0;
  for_each_crossing(database, assignment, [&](const Communication& c, int from, int to) {
    sum += static_cast<double>(c.bytes) * distance(from, to);
  });
  return sum;
}

}  // namespace periapt::loadbalance
