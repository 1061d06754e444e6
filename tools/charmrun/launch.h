// From what was asked for to what is started: on this host the program itself, which starts its own processes; under
// ++mpiexec that command; on several hosts the hubs of hub.h.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "tools/charmrun/command_line.h"
#include "tools/charmrun/nodelist.h"
#include "tools/charmrun/plan.h"

namespace periapt::charmrun {

/// The plan of a run over hosts; completes run.argv. `own` is charmrun's path, `folder` where we are.
Result<RunPlan> plan_run(Run& run, std::vector<Host> hosts, const std::string& own, const std::string& folder);

/// The command of a run on this host or under mpiexec.
std::vector<std::string> local_command(const Run& run);

/// The environment that goes along to other hosts: all but what speaks of this host, this log-in or another launcher.
std::vector<std::string> environment_to_take(char** environment);

/// "(vector,(0,1,4),(1,1,4))" for blocks of ranks on hosts.
std::string mapping_of(const std::vector<int>& ranks_of_hosts);

}  // namespace periapt::charmrun
