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
  int pes = 0;                    ///< of the run, in place of +p; 0: as many as were asked for
  int pes_a_process = 0;          ///< in place of ++ppn
  int starts = 0;                 ///< from this checkpoint, without a newer one
  std::string manifest;           ///< of this checkpoint, what tells it from others
  std::vector<std::string> lost;  ///< names of hosts
  std::string folder;             ///< of the checkpoint; "": none is known

  std::string text() const;
  static std::optional<Recovery> parse(const std::string& text);

  static constexpr char kVariable[] = "PERIAPT_RECOVERY";
  static constexpr int kStartsMost = 10;  ///< from one checkpoint: a mistake would be made again and again
  /// Of this start; takes the variable out of the environment. A failure: it has something else in it.
  static Result<Recovery> current();

  /// The folder in which the run may have a checkpoint; "": it has said none.
  const std::string& folder_after(const RunEnd& end) const { return end.checkpoint.empty() ? folder : end.checkpoint; }
  /// How the run goes on that has ended so. `manifest`: of the checkpoint in folder_after(), "" where there is none
  /// that is whole. `spare_hosts`: hosts that were not in use. A failure says why it cannot.
  Result<Recovery> next(const RunPlan& plan, const RunEnd& end, const std::string& manifest, int spare_hosts) const;
};

/// What tells the checkpoint in a folder from others; "": there is none that is whole.
std::string manifest_in(const std::string& folder);
/// The hosts that are not lost.
std::vector<Host> without(std::vector<Host> hosts, const std::vector<std::string>& lost);
/// The folder behind a program's `+restart`; "": it has none.
std::string restarts_from(const std::vector<std::string>& words);
/// The words of a program with `+restart folder` in place of the one that they may have.
void restart_from(std::vector<std::string>& words, const std::string& folder);

}  // namespace periapt::charmrun
