// Whether what a run has printed has reached its standard output. On a full disk it has not: that is told when the run
// ends, and its status is not 0.
#pragma once

#include "base/status.h"

namespace periapt::output {

/// Standard input, output and error that this process was started without become /dev/null: the next file that is
/// opened would get one of their numbers, and what is printed would go into it. Before anything else is opened.
void keep_standard_files();

/// A write to the standard output failed with this errno value. The first one counts. Any thread.
void note_lost(int error);

/// Flushes the standard output. A failure says that something printed before this has not been written, and why. A
/// program that has closed the standard output did not want it: that is no failure.
Status flush();

}  // namespace periapt::output
