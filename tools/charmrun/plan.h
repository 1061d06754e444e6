// What charmrun tells an agent to do: the program and everything that is the same on all hosts, and the part of the run
// that is this agent's, with the hosts below it in a tree of starts. Travels in a frame over the remote shell's
// standard input, never on a command line: it holds the job's secret.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace periapt::charmrun {

struct HostPlan {
  std::string name;
  int index = 0;  ///< in the nodelist: the number of the host in the run
  int first_rank = 0;
  int ranks = 0;
  std::vector<std::string> shell;  ///< the command that starts the agent there; empty: on this host, by itself
  std::string agent;               ///< the path of charmrun there
  std::string program;             ///< the path of the program there
  std::string folder;              ///< where it starts
  std::string setup;
  std::vector<HostPlan> below;  ///< hosts that its agent starts

  int all_ranks() const;
  int all_hosts() const;
};

struct RunPlan {
  std::vector<std::string> arguments;    ///< behind the program's name
  std::vector<std::string> environment;  ///< NAME=value
  std::string runscript;                 ///< started instead of the program, with the program as first argument
  std::string job;
  std::string secret;
  std::string mapping;  ///< rank to host, as in PMI_process_mapping
  std::string describe;
  int size = 0;
  int pes_a_process = 1;     ///< known to charmrun alone; agents get it among the arguments
  int timeout_seconds = 60;  ///< until a host has to answer
  int shells_at_once = 64;
  int silence_seconds = 30;   ///< a host, or charmrun, that is not heard of for so long is lost
  int watchdog_seconds = 30;  ///< start-up without progress is explained after these; 0: never
  bool verbose = false;
  HostPlan here;
};

std::string encode_plan(const RunPlan& plan);
Result<RunPlan> decode_plan(const std::string& bytes);

/// The plan for the agent of a host below: the same run, another `here`.
RunPlan plan_for(const RunPlan& plan, const HostPlan& host);

}  // namespace periapt::charmrun
