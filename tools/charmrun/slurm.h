// The hosts of an allocation of Slurm's, for ++slurm. Their agents are started by srun, a step each, so that no login
// from node to node is needed, and Slurm accounts for what runs.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "tools/charmrun/nodelist.h"

namespace periapt::charmrun {

/// Of the job that charmrun runs in: its nodes, in Slurm's order, with their processors as their shares.
Result<std::vector<Host>> hosts_of_allocation();

/// How Slurm has ended that job, in its own word (NODE_FAIL, TIMEOUT); "": it has not, or cannot be asked.
std::string end_of_allocation();

/// What is to be said where charmrun uses this host alone, and the job that it runs in has more; "": nothing.
std::string nodes_left_idle();

/// "4(x2),2": the number of processors on each node, as SLURM_JOB_CPUS_PER_NODE has it. Empty: it makes no sense.
std::vector<int> cpus_of_nodes(const std::string& text);

}  // namespace periapt::charmrun
