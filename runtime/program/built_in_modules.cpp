// Modules of Charm++ that are part of every program here, in the names by which a program registers what it is linked
// with. A build system of the program's own (charmc -print-building-blocks) writes that itself, and calls them; what
// charmc writes does not. A program may have modules of its own by these names.
#include "runtime/trace/options.h"

#define PERIAPT_BUILT_IN(module) \
  __attribute__((weak)) void _register##module() {}
PERIAPT_BUILT_IN(CkMulticast)
PERIAPT_BUILT_IN(CommonLBs)
PERIAPT_BUILT_IN(EveryLB)
PERIAPT_BUILT_IN(TreeLB)
PERIAPT_BUILT_IN(DistributedLB)
PERIAPT_BUILT_IN(RecBipartLB)
PERIAPT_BUILT_IN(MetisLB)
PERIAPT_BUILT_IN(ScotchLB)
PERIAPT_BUILT_IN(CentralLB)
PERIAPT_BUILT_IN(HybridBaseLB)
#undef PERIAPT_BUILT_IN

// A trace mode has two: one says that it is linked, one makes its module.
__attribute__((weak)) void _registerTraceProjections() { periapt::trace::add_default_mode("projections"); }
__attribute__((weak)) void _registerTraceSummary() { periapt::trace::add_default_mode("summary"); }
__attribute__((weak)) void _createTraceprojections(char**) {}
__attribute__((weak)) void _createTracesummary(char**) {}
__attribute__((weak)) void _createTraceall(char**) {}
