// The layout of a run whose processes a launcher started: each tells what it was asked for and which cpus it may use, and
// all work out the same layout from what all told.
//
// Processes are renumbered host by host, so that the PEs of a host are consecutive whatever order the launcher dealt its
// ranks in.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "machine/bootstrap/layout.h"

namespace periapt::bootstrap {

/// What one process tells the others.
struct Member {
  std::string refusal;  ///< why it can't take part; what follows means nothing then
  int host = 0;        ///< any numbering
  int pes = 1;         ///< its own (+ppn)
  Machine machine;     ///< the cpus it may use
  bool crowded = false;  ///< it shares them with other processes of the run that count as other hosts
  std::string encode() const;  ///< without the host, which the launcher knows
  static Result<Member> decode(const std::string& text);
};

struct JobLayout {
  HostLayout layout;
  int process = 0;                 ///< of the member `self`
  std::vector<int> member_of;      ///< by process: the launcher's rank
};

/// How many PEs a process of a run of `members` processes has. A contradiction is a Status with the arithmetic.
Result<int> pes_of_member(const LayoutRequest& request, int members);

/// Pure: the same for all, but for the host that is "here". So all fail alike: a member that refuses is a failure of all.
Result<JobLayout> resolve_job(const LayoutRequest& request, const std::vector<Member>& members, int self);

}  // namespace periapt::bootstrap
