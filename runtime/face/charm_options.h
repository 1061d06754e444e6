// Options of Charm++ that have no effect here: they are taken from the command line of a program, and said to have
// none.
#pragma once

namespace periapt {
void take_charm_options(char** argv);
}
