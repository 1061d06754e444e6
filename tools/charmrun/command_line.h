// The command line of charmrun. Its options may stand on either side of the program; what comes out is the one form
// that programs understand: ./program +pN +ppn M arguments..., and what launch.h needs to know.
#pragma once

#include <string>
#include <vector>

namespace periapt::charmrun {

/// What was asked for beside the program, for runs over several hosts (launch.h).
struct HostRequest {
  bool wanted = false;   ///< ++nodelist, ++nodegroup, ++numHosts or ++slurm; not with ++local
  bool slurm = false;    ///< ++slurm: those of the allocation
  bool one = false;      ///< ++local: this host is meant
  std::string nodelist;  ///< empty: where Charm++ looks
  std::string group = "main";
  std::string hosts_at_most;  ///< ++numHosts
  std::string shell;          ///< ++remote-shell
  std::string at_once;        ///< ++batch, ++maxssh
  std::string timeout;        ///< ++timeout: seconds
  std::string per_host;       ///< ++processPerHost
  bool tree = false;          ///< ++hierarchical-start
  bool recovers = false;      ///< ++recover
};

struct Run {
  std::string error;                          ///< not empty: what is wrong, with what to do about it
  std::vector<std::string> notes;             ///< of options that do nothing here, shown always
  std::vector<std::string> remarks;           ///< options accepted without effect, shown with ++verbose
  std::vector<std::string> argv;              ///< the program and its arguments; on several hosts without +p and +ppn
  std::string pes, pes_a_process, processes;  ///< +p, ++ppn, ++n as given
  HostRequest hosts;
  std::string runscript;
  std::string time_limit;  ///< ++timelimit: seconds, empty for none
  bool mpiexec = false;    ///< ++mpiexec: starts under it
  bool mpiexec_no_n = false;
  bool verbose = false;
  bool quiet = false;
  bool help = false;
  bool version = false;
};

Run parseCommandLine(const std::vector<std::string>& arguments);

/// The two options that programs understand, in front of the others.
void add_layout(Run& run, long pes, long pes_a_process);

std::string helpText();

}  // namespace periapt::charmrun
