// A run that goes on without the hosts that it has lost, from its last checkpoint on disk (++recover): charmrun starts
// itself again, with a variable in its environment that says what is left. As in a run that goes on with another number
// of PEs (machine/bootstrap/resized_start.h), the words that it was started with stay.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/charmrun/hub.h"
#include "tools/charmrun/nodelist.h"

namespace periapt::charmrun {

struct Recovery {
  std::string folder;             ///< of the checkpoint; "": none is known
  int starts = 0;                 ///< from this checkpoint, without a newer one
  int pes = 0;                    ///< of the run, in place of +p; 0: as many as were asked for
  int pes_a_process = 0;          ///< in place of ++ppn
  std::vector<std::string> lost;  ///< names of hosts

  std::string text() const;
  static std::optional<Recovery> parse(const std::string& text);

  static constexpr char kVariable[] = "PERIAPT_RECOVERY";
  static constexpr int kStartsMost = 10;  ///< from one checkpoint: a mistake would be made again and again
  /// Of this start; takes the variable out of the environment.
  static Recovery current();

  /// How the run goes on that has ended so; `spare_hosts`: hosts that were not in use. A failure says why it cannot.
  Result<Recovery> next(const RunPlan& plan, const RunEnd& end, int spare_hosts) const;
};

/// The hosts that are not lost.
std::vector<Host> without(std::vector<Host> hosts, const std::vector<std::string>& lost);
/// The folder behind a program's `+restart`; "": it has none.
std::string restarts_from(const std::vector<std::string>& words);
/// The words of a program with `+restart folder` in place of the one that they may have.
void restart_from(std::vector<std::string>& words, const std::string& folder);

}  // namespace periapt::charmrun
