// Which seed balancer a run has: `charmc -balance NAME` or `+seed-balancer NAME`.
#pragma once
#include "runtime/objects/pe_objects.h"

namespace periapt::seeds {

// Takes +seed-balancer out of the program's arguments; a name that means nothing ends the run.
void take_option(char** argv);
// Makes the pool of a PE, where seeds wait with that balancer. After the PE got its Ordering.
void begin(Pe& pe);
// Where a chare goes first that is made on `pe` without a PE.
int first_place(Pe& pe);
// A number below `count`.
int by_chance(Pe& pe, int count);

}  // namespace periapt::seeds

// What charmc -balance NAME calls at the start of the program.
void CldDefaultStrategy(const char* name);
