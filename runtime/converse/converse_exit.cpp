// The end of a run as Converse says it.
#include "runtime/converse/converse_state.h"
#include "runtime/scheduler/process.h"

extern "C" void realConverseExit(int code) {
  periapt::Pe& pe = periapt::require_pe("ConverseExit");
  pe.process.finish(pe, code);
}
