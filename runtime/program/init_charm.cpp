// _initCharm(): an archive member that is linked only where a program calls it, and then ConverseInit() starts all that
// chares need. It is called on every PE, by what ConverseInit() was given or by main(); on PE 0 it runs the
// constructors of the mainchares, and the other PEs get what these have set and made when they run the scheduler.
#include <utility>

#include "runtime/converse/converse_state.h"
#include "runtime/face/startup.h"
#include "runtime/program/converse_init.h"
#include "runtime/program/parts.h"

// Defined by the generated code of a mainmodule.
extern "C" void CkRegisterMainModule();

namespace periapt::program {
namespace {

const bool linked = [] {
  run_with_chares = [](int argc, char** argv, Part last) {
    std::vector<Part> all = parts();
    all.push_back(std::move(last));
    run_program(argc, argv, CkRegisterMainModule, std::move(all));
  };
  return true;
}();

}  // namespace
}  // namespace periapt::program

void _initCharm(int, char**) {
  periapt::Pe& pe = periapt::require_pe("_initCharm");
  periapt::refuse_simulation(pe, "_initCharm");
  if (pe.index == 0) periapt::begin_program(pe);
}
