// A run that goes on with another number of PEs: it ends with a checkpoint, and the program is started again with a
// variable in its environment that says how. What starts it is the process itself where it was the only one, the
// parent that watches the processes (launch.h), or charmrun.
#pragma once

#include <optional>
#include <string>

namespace periapt::bootstrap {

struct ResizedStart {
  int pes = 0;               ///< of the run, in place of +p
  int pes_a_process = 0;     ///< in place of +ppn and +np; 0: one process has all
  int server_port = 0;       ///< of the server that clients know (runtime/ccs); 0: there was none
  std::string server_token;  ///< its token; "": clients need none
  std::string folder;        ///< of the checkpoint; "": it is in kept memory

  std::string text() const;
  static std::optional<ResizedStart> parse(const std::string& text);

  static constexpr char kVariable[] = "PERIAPT_RESIZED_START";
  /// Of this start; null: it is the first of its run. The first call takes the variable out of the environment: it is
  /// ours, not that of programs that we start.
  static const ResizedStart* current();
};

}  // namespace periapt::bootstrap
