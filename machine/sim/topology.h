// Topology: how the nodes of a simulated machine are wired, and which links a message takes. Pure: no time, no state.
//
// A node is a computer with one network adapter. The links here are those between routers; the two of the adapter (in
// and out) belong to the model. A path's length is its number of *hops*: 0 between two nodes of one router.
//
//   flat                 one switch that all nodes hang on and that is never the bottleneck
//   torus:8x8x16         1 to 4 dimensions, a router a node; dimension by dimension, the shorter way round, ties go up.
//                        Node numbers run fastest in the first dimension.
//   fattree:16x8[x...]   16 nodes a leaf switch, 8 of those below each switch of the next level, and so on; full
//                        bisection: as many lanes up from a subtree as nodes in it, lane by destination (d-mod-k)
//   fattree:16x8/2       the same with half the lanes above the leaves (a taper)
//   dragonfly:4x8x9      4 nodes a router, 8 routers a group, 9 groups; all to all within a group, one link between any
//                        two groups; minimal routes
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace periapt::sim {

using LinkId = int;

class Topology {
 public:
  virtual ~Topology() = default;
  /// Room for that many nodes.
  int nodes() const { return nodes_; }
  int links() const { return links_; }
  /// The links from node `from` to node `to`, in order, appended to `path`. None when they share a router.
  virtual void route(int from, int to, std::vector<LinkId>& path) const = 0;
  /// "node (1,2,3), up in dimension 0": for people.
  virtual std::string name_of(LinkId link) const = 0;
  /// "3D torus 8x8x16".
  virtual std::string describe() const = 0;
  /// Where a node lies, in the topology's own dimensions (torus: its coordinates).
  virtual std::vector<int> coordinates(int node) const { return {node}; }
  virtual std::vector<int> dimensions() const { return {nodes_}; }

  int hops(int from, int to) const {
    std::vector<LinkId> path;
    route(from, to, path);
    return static_cast<int>(path.size());
  }

  /// From the text after "topology="; `nodes` is what the run wants to have (0: as many as there is room for). What
  /// makes no sense is a failure with the arithmetic.
  static Result<std::unique_ptr<Topology>> parse(const std::string& text, int nodes);

 protected:
  int nodes_ = 0;
  int links_ = 0;
};

}  // namespace periapt::sim
