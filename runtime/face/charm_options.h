// Options of Charm++ for what is always so here, or has nothing to act on: they are taken from the command line of a
// program, and said to have no effect.
#pragma once

namespace periapt {
void take_charm_options(char** argv);
}
