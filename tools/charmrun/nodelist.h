// The nodelist: which hosts a run uses. A file in Charm++'s format:
//
//   # a comment
//   group main ++shell ssh
//     host ck0
//     host ck1 ++cpus 4 ++login guest
//
// `host` names one; every other command is a qualifier of all hosts that follow it: of the file, when it stands in
// front of the first group; else of the rest of its group. On a `group` or `host` line qualifiers follow with ++, for
// that group or host alone. `*` takes a qualifier back.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace periapt::charmrun {

struct Host {
  std::string name;
  int cpus = 1;       ///< its share of the run, against the other hosts'
  std::string shell;  ///< the remote shell; empty: the run's
  std::string login;
  std::string setup;  ///< a command to execute before the program
  std::string ext;    ///< appended to the program's name
  std::vector<std::pair<std::string, std::string>> pathfixes;
};

/// The hosts of a group, in order. `source` names the text in messages.
Result<std::vector<Host>> parse_nodelist(const std::string& text, const std::string& group, const std::string& source);

/// Reads the file, or the one that is used when none is named: $NODELIST, ./nodelist, ~/.nodelist.
Result<std::vector<Host>> read_nodelist(const std::string& file, const std::string& group);

/// How many of `processes` go to each host: contiguous ranks, in proportion to cpus.
std::vector<int> share_processes(const std::vector<Host>& hosts, int processes);

}  // namespace periapt::charmrun
