// Lines for people: one write(2) a line, so that lines of several processes don't mix. Off unless asked for (+verbose).
#pragma once

#include <string>

namespace periapt::log {

/// A line for every user of the program: "periapt: <text>" on stdout (it is part of a run's normal output).
void note(const std::string& text);
/// Something is not as it should be, but the run goes on: "periapt: warning: <text>" on stderr.
void warn(const std::string& text);
/// Explanations of what was found and chosen; printed on stderr when verbose.
void detail(const std::string& text);

void set_verbose(bool verbose);
bool verbose();
/// Notes are left out (++quiet).
void set_quiet(bool quiet);

}  // namespace periapt::log
