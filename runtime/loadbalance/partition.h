// What strategies that give the graph of messages to a partitioning library have in common: the graph in the form that
// such libraries take, and the way from numbered parts back to PEs.
#pragma once
#include "runtime/loadbalance/partners.h"
#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

struct PartitionGraph {
  // Of the objects that may move. Weights are whole numbers that add up to less than 2^31.
  PartitionGraph(const LoadDatabase& database, const Partners& partners, double message_bytes);

  std::vector<std::size_t> objects;            // vertex -> object
  std::vector<std::int32_t> weight;            // of a vertex
  std::vector<std::int32_t> begin, to, bytes;  // edges of vertex v: [begin[v], begin[v + 1])
  std::int32_t vertices() const { return static_cast<std::int32_t>(objects.size()); }
};

// Part k is to have the work that the k-th available PE has room for. Parts that are alike in this are exchanged so
// that much stays where it is: pairs of part and PE by the work that they have in common, largest first. (L. Oliker, R.
// Biswas, "PLUM: parallel load balancing for adaptive unstructured meshes", JPDC 52, 1998.)
Assignment place_parts(Problem& problem, const Capacity& capacity, const PartitionGraph& graph,
                       const std::vector<std::int32_t>& part);

}  // namespace periapt::loadbalance
