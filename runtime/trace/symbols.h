// What the numbers in a trace mean: NAME.sts and NAME.sum.sts, as Projections reads them.
#pragma once
#include <string>

namespace periapt {
class Process;
}

namespace periapt::trace {

// `events`: names of the program's events and statistics too.
std::string symbols(const Process& process, const std::string& command_line, bool events);

}  // namespace periapt::trace
