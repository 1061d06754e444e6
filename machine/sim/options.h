// What can be said of a simulated machine, and how: "nodes=1024,ppn=4,topology=torus:8x8x16,L=1us,seed=7".
//
//   machine    nodes=N  ppn=N (PEs a node)  topology=flat|torus:AxBxC|fattree:AxB|dragonfly:PxAxG (see topology.h)
//   costs      L= o= g= hop= local=  times: 0.9us, 250ns (us when there is no unit)
//              G= link-G=            a byte: 0.08ns, or as a bandwidth: 12.5GB/s
//   work       cost=1us (every piece of work takes that, at least 1ns; the run is the same each time)
//              scale=0.5 (of measured time)
//   faults     seed=N  delay=2us (up to so much more, at random)  loss=0.01 (sent again after rto=)  rto=10us
//              dup=0.01  reorder=0.01  no-resource=0.01  raw=1 (losses stay lost: the transport only)
//   report     json=FILE  quiet=1
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "machine/sim/model.h"

namespace periapt::sim {

struct Faults {
  std::uint64_t seed = 1;
  Time delay = 0;   ///< the most; uniform
  double loss = 0;  ///< probabilities, of each time that a packet is sent
  double duplicate = 0;
  double reorder = 0;      ///< of a packet to be held up by several latencies
  double no_resource = 0;  ///< of each call that sends
  Time rto = 0;            ///< until a packet is sent again; 0: 4 (L + 2 o) + 2 delay
  bool raw = false;

  bool any() const { return delay != 0 || loss > 0 || duplicate > 0 || reorder > 0; }
};

struct Options {
  int nodes = 0;  ///< 0: as many as the topology has
  int ppn = 1;
  std::string topology = "flat";
  LogGP costs;
  Faults faults;
  bool fixed_cost = false;
  Time cost = 0;     ///< of each piece of work, if it is fixed
  double scale = 1;  ///< of measured processor time
  std::string json;
  bool quiet = false;

  int pes() const { return nodes * ppn; }
};

/// The options as text; on a mistake, the reason and the option that was probably meant.
Result<Options> parse_options(const std::string& text);

/// "1.5us", "300ns", "2ms", "7" (us).
Result<Time> parse_time(const std::string& name, const std::string& text);

/// "1.234 ms", with the unit that suits.
std::string in_words(Time time);

}  // namespace periapt::sim
