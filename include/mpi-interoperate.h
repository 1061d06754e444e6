// A program with a main() of its own, which starts the runtime and runs the scheduler when it likes. main() runs in
// every process of the run, and each process calls all of these, in this order:
//
//   CharmInit(argc, argv);   // or CharmBeginInit(), then on PE 0 readonlys and groups, then CharmFinishInit()
//   ...                      // the code is that of the process's first PE: it creates, calls and sends as it likes
//   StartCharmScheduler();   // delivers what was sent, until CkExit() or a callback of that kind; as often as wished
//   CharmLibExit();          // ends the run, and comes back
//
// In a program of MPI, with <mpi.h> included before this: CharmLibInit(communicator, argc, argv) in place of
// CharmInit(). The processes of that communicator are the run; those of others may be runs of their own. It is linked
// by charmc, with the compiler of that MPI: charmc -c++ mpicxx -ld++ mpicxx -mpi.
#pragma once
#include "converse.h"
#ifdef __cplusplus
#include "charm++.h"
#endif
#include "runtime/program/mpi_interoperate.h"
#ifdef MPI_VERSION
#include "runtime/program/mpi_communicator.h"
#endif

#undef CkExit
#define CkExit LibCkExit
