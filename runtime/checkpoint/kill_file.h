// +killFile FILE: provokes deaths of processes, to try what survives them. A line "3 2.5" has process 3 killed 2.5 s
// after the run was first started; a run that goes back to a checkpoint does not do it again.
#pragma once
#include <string>

namespace periapt {
class Pe;
}

namespace periapt::checkpoint {

// What the file says of this process; ends the run when it cannot be read. On the first PE of each process.
void arm_kill_file(Pe& pe, const std::string& path);

}  // namespace periapt::checkpoint
