// The layout of a run whose processes a launcher started: each tells what it was asked for and which cpus it may use,
// and all work out the same layout from what all told.
//
// Processes are renumbered host by host, so that the PEs of a host are consecutive whatever order the launcher dealt
// its ranks in.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "machine/bootstrap/layout.h"

namespace periapt::bootstrap {

/// What one process tells the others.
struct Member {
  std::string refusal;         ///< why it can't take part; what follows means nothing then
  std::string program;         ///< its build (base/program.h), then a space and the file
  std::string options;         ///< those that all must have been given alike, as they were written
  int host = 0;                ///< any numbering
  int pes = 1;                 ///< its own (+ppn)
  UsableCpus usable;           ///< the cpus it may use
  bool crowded = false;        ///< it shares them with other processes of the run that count as other hosts
  std::string encode() const;  ///< without the host, which the launcher knows
  static Result<Member> decode(const std::string& text);
};

struct JobLayout {
  HostLayout layout;
  int process = 0;             ///< of the member `self`
  std::vector<int> member_of;  ///< by process: the launcher's rank
};

/// Which member says why nothing comes of the run: the first that refuses, and where all find the same, the first.
int speaker_of(const std::vector<Member>& members);

/// How many PEs a process of a run of `members` processes has. A contradiction is a Status with the arithmetic.
Result<int> pes_of_member(const LayoutRequest& request, int members);

/// Pure: the same for all, but for the host that is "here". So all fail alike: when a member refuses, runs another
/// program or was given other options, and when the layout of any host is impossible.
Result<JobLayout> resolve_job(const LayoutRequest& request, const std::vector<Member>& members, int self);

/// What a process tells the others that one start has forked after `layout`, each to be a host of its own. Where the
/// layout binds no thread, it may use all of `usable`.
Member forked_member(const HostLayout& layout, int process, const UsableCpus& usable);

}  // namespace periapt::bootstrap
