// What periapt-doctor finds: a line each, and with what is not as it should be the command that mends it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "machine/bootstrap/world.h"
#include "machine/layer/net.h"

namespace periapt::doctor {

enum class Availability {
  good,     ///< there, and works
  absent,   ///< not there, and not needed
  limited,  ///< works, but something is slower or not possible
  broken,   ///< runs will fail
};
const char* name_of(Availability state);

struct Finding {
  std::string area;  ///< "limits"
  std::string name;  ///< "locked memory"
  Availability state = Availability::good;
  std::string text;    ///< what was found, and what follows from it
  std::string remedy;  ///< what to do, a command where there is one; empty when all is well
};
using Findings = std::vector<Finding>;

// The areas, each a file of probes. Nothing here changes anything, and nothing waits for another process.
void probe_build(Findings& findings);                                             // what was compiled in
void probe_transports(Findings& findings, const machine::NetSettings& settings);  // networks and memory: found, usable
void probe_choice(Findings& findings,
                  const machine::NetSettings& settings);  // which of them would be used for whom, and why
void probe_run(Findings& findings, const Result<std::unique_ptr<bootstrap::World>>& world);  // by whom we were started
void probe_workers(Findings& findings, int wanted);  // how many a process would have; `wanted`: +workers, 0: not given
void probe_launchers(Findings& findings);            // what could start runs
void probe_cores(Findings& findings);
void probe_limits(Findings& findings);   // ulimit, cgroup, container
void probe_sharing(Findings& findings);  // what processes of a host may do with each other's memory, by doing it
void probe_devices(Findings& findings);  // GPUs, RDMA

std::string as_text(const Findings& findings, bool all);
std::string as_json(const Findings& findings);

/// The first line of a file; empty if it can't be read.
std::string first_line(const std::string& path);
/// "1.5 GiB".
std::string bytes_in_words(unsigned long long bytes);

}  // namespace periapt::doctor
