// Conditions that cost something to find out, and so are looked for on the PEs that listen only: that a PE has been
// idle for long (CcdPROCESSOR_LONG_IDLE), and signals (CcdSIGUSR1, CcdSIGUSR2).
#pragma once

namespace periapt {

class Pe;

namespace scheduler {

// +longIdleThresh S: seconds until CcdPROCESSOR_LONG_IDLE is raised, once in each period of idleness. Takes the option.
void take_long_idle_option(char** argv);
// A function listens for the condition on this PE from now on. Of other conditions, and again: nothing happens.
void watch_rare_condition(Pe& pe, int condition);

}  // namespace scheduler
}  // namespace periapt
