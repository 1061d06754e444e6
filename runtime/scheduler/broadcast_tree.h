// The trees that broadcasts to all PEs or processes go over: one over the hosts, and one over the units of each host,
// which are PEs or processes.
#pragma once
#include "machine/bootstrap/layout.h"

namespace periapt::scheduler {

constexpr int tree_branching = 4;
// So few units of a host are all children of the one where a broadcast enters it.
constexpr int flat_units_max = 8;

// Whether a broadcast goes from its PE to each other one, by way of none. Then small calls may go as a line to each,
// and come in order with the messages that larger ones are; elsewhere they would overtake those.
inline bool broadcasts_are_direct(const bootstrap::HostLayout& layout) {
  return layout.host_count() == 1 && layout.pes <= flat_units_max;
}

}  // namespace periapt::scheduler
