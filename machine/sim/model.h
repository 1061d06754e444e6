// Model: when a message arrives. LogGP (Alexandrov, Ionescu, Schauser and Scheiman, 1995) over a topology, with
// contention.
//
// A message of k bytes that the network adapter of node a takes at time t arrives at node b, if nothing is in its way,
// at
//
//   t + L + hops * hop + (k - 1) * G
//
// The processors' overheads `o` at both ends are their owner's to add. Between two messages the adapter leaves a gap g.
// What is in its way is found by reservation: each link, and each adapter on both its sides, is busy for the time that
// the bytes take over it, first come first served, in the order of send(). The head of a message goes on as soon as a
// link is free (cut-through), its tail follows; so a message waits at a busy link, and holds up those that want to
// follow it on that link. Virtual channels, routers' buffers and adaptive routes are not modelled.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "machine/sim/topology.h"

namespace periapt::sim {

/// Picoseconds of virtual time.
using Time = std::uint64_t;
inline constexpr Time kNs = 1000;
inline constexpr Time kUs = 1000 * kNs;

/// What the network costs. Values of today's better interconnects; each can be given.
struct LogGP {
  Time L = 900 * kNs;      ///< latency of adapters and wire, apart from hops
  Time o = 200 * kNs;      ///< of the processor to send a message, and to take one
  Time g = 20 * kNs;       ///< between two messages of an adapter
  double G = 80;           ///< ps a byte of an adapter: 12.5 GB/s
  double link_G = 80;      ///< ps a byte of a link between routers
  Time hop = 100 * kNs;    ///< each router on the way
  Time local = 100 * kNs;  ///< all of a message within a node
};

/// Time of the bytes behind the first.
Time bytes_time(std::uint64_t bytes, double G);

struct LinkUse {
  Time free_at = 0;
  Time busy = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

class Model {
 public:
  Model(LogGP costs, std::unique_ptr<Topology> topology);

  /// Reserves the way of a message that is ready at the adapter of `from` and tells when all of it is in the adapter of
  /// `to`, another node. To be called in the order of `ready`.
  Time send(Time ready, int from, int to, std::uint64_t bytes);
  /// The same without contention, reserving nothing.
  Time unloaded(Time ready, int from, int to, std::uint64_t bytes) const;

  const LogGP& costs() const { return costs_; }
  const Topology& topology() const { return *topology_; }

  struct Traffic {
    std::uint64_t messages = 0, bytes = 0;
  };
  /// By number of hops.
  const std::vector<Traffic>& by_hops() const { return by_hops_; }
  /// The link or adapter that was busy longest; null: there was no message. `name` says which.
  const LinkUse* busiest(std::string* name) const;
  /// Time that messages have waited for links and adapters.
  Time waited() const { return waited_; }
  /// Of a link between routers.
  const LinkUse& link(LinkId id) const { return links_[static_cast<std::size_t>(id)]; }

 private:
  Time take(LinkUse& use, Time at, Time occupied, std::uint64_t bytes);

  LogGP costs_;
  std::unique_ptr<Topology> topology_;
  std::vector<LinkUse> links_, out_, in_;  // out_ and in_: the adapters' two sides, by node
  std::vector<Traffic> by_hops_;
  std::vector<LinkId> path_;
  Time waited_ = 0;
};

}  // namespace periapt::sim
