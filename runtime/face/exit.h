// The end of a run, as far as a program asks for it: CkExit() and what it has registered for that.
#pragma once

namespace periapt {
class Pe;

// Asks PE 0 to end the run; returns.
void request_exit(int code);
// The same where the run goes on in another start of the program (MachineLayer::resize()): what the program wants done
// at its end is not.
void request_end_of_start();
// On PE 0, when the constructors of the mainchares have returned. In these, CkExit() ends a run of which the other PEs
// have seen nothing yet: nothing is waited for.
void program_has_begun();
// `end_parts` runs on each PE before it leaves.
void register_exit_entries(void (*end_parts)(Pe& pe));

}  // namespace periapt
