// For tests: a run in one process whose PEs the caller steps by hand, in one thread, in the order it likes.
//
//   Process& run = start_stepped(layout with a carrier for each PE, argc, argv, _registerMyModule);
//   Pe& pe = run.pe(k); Pe::set_current(&pe); pe.step();
//
// One such run a process: what programs register is global. There is no watchdog.
#pragma once
#include <vector>

#include "runtime/face/part.h"
#include "runtime/scheduler/process.h"

namespace periapt {

Process& start_stepped(const bootstrap::HostLayout& layout, int argc, char** argv, void (*register_main_module)(),
                       std::vector<Part> parts = {});

}  // namespace periapt
