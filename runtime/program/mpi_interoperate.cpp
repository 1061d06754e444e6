// The calls of mpi-interoperate.h: an archive member that is linked only where a program uses them.
#include "runtime/program/mpi_interoperate.h"

#include "machine/bootstrap/communicator.h"
#include "runtime/face/user_driven.h"
#include "runtime/program/parts.h"
#include "runtime/registry/registry.h"

// Defined by the generated code of a mainmodule.
extern "C" void CkRegisterMainModule();

using periapt::UserDriven;

extern "C" {
void CharmBeginInit(int argc, char** argv) {
  UserDriven::begin(argc, argv, CkRegisterMainModule, periapt::program::parts());
}
void CharmFinishInit() { UserDriven::finish_init(); }
void CharmInit(int argc, char** argv) {
  CharmBeginInit(argc, argv);
  CharmFinishInit();
}
void periapt_lib_init(const PeriaptCommunicator* of, int argc, char** argv) {
  if (of) periapt::bootstrap::run_on({of->rank, of->size, of->communicator, of->gather, of->abort});
  CharmInit(argc, argv);
  if (periapt::registry().has_main_module) UserDriven::run_first_round();
}
void StartCharmScheduler() { UserDriven::run_round(); }
void StopCharmScheduler() { UserDriven::stop_here(); }
void CharmLibExit() { UserDriven::leave(); }
void LibCkExit() { UserDriven::request_stop(); }
}
