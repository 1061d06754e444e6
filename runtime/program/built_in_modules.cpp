// Modules of Charm++ that are part of every program here, in the names by which a program registers what it is linked
// with. A build system of the program's own (charmc -print-building-blocks) writes that itself, and calls them; what
// charmc writes does not. A program may have modules of its own by these names.
#include "runtime/trace/options.h"

#define PERIAPT_MODULE(name) \
  __attribute__((weak)) void _register##name() {}
#include "runtime/program/built_in_modules.inc"
#undef PERIAPT_MODULE

// A trace mode has two: one says that it is linked, one makes its module.
__attribute__((weak)) void _registerTraceProjections() { periapt::trace::add_default_mode("projections"); }
__attribute__((weak)) void _registerTraceSummary() { periapt::trace::add_default_mode("summary"); }
__attribute__((weak)) void _createTraceprojections(char**) {}
__attribute__((weak)) void _createTracesummary(char**) {}
__attribute__((weak)) void _createTraceall(char**) {}
