// The .sts file of a trace: what the numbers in its logs mean.
#pragma once

#include <string>

#include "base/status.h"

namespace periapt::trace {

struct Run {
  int pes = 1;
  int processes = 1;
  int pes_a_process = 1;
  std::string command;
};

// Chares, entries, messages and the user's events, as they are registered.
std::string sts_text(const Run& run);
Status write_sts(const std::string& path, const Run& run);

}  // namespace periapt::trace
