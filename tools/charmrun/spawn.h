// Starting a command with its standard streams on pipes of ours.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"

namespace periapt::charmrun {

struct SpawnRequest {
  std::vector<std::string> command;      ///< looked for in PATH when it has no slash
  std::vector<std::string> environment;  ///< NAME=value; empty: ours
  std::string folder;                    ///< to begin in; empty: ours
  std::vector<int> keep_open;            ///< descriptors that the command inherits under their numbers
  bool with_input = false;               ///< a pipe to its standard input; else it reads nothing
  bool errors_apart = true;              ///< standard error on a pipe of its own; false: ours
  bool dies_with_us = false;             ///< killed when this process ends, however it ends
};

struct Spawned {
  pid_t pid = -1;
  int input = -1;   ///< where to write
  int output = -1;  ///< where to read
  int errors = -1;
};

/// In a process group (and session) of its own, with no signal blocked. That the command can't be executed is a
/// failure.
Result<Spawned> spawn(const SpawnRequest& request);

}  // namespace periapt::charmrun
