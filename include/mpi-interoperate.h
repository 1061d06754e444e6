// A program with a main() of its own, which starts the runtime and runs the scheduler when it likes. main() runs in
// every process of the run, and each process calls all of these, in this order:
//
//   CharmInit(argc, argv);   // or CharmBeginInit(), then on PE 0 readonlys and groups, then CharmFinishInit()
//   ...                      // the code is that of the process's first PE: it creates, calls and sends as it likes
//   StartCharmScheduler();   // delivers what was sent, until CkExit() or a callback of that kind; as often as wished
//   CharmLibExit();          // ends the run
//
// Linked by charmc as any program. CharmLibInit(), for MPI beside Charm++, is not there.
#pragma once
#include "converse.h"
#ifdef __cplusplus
#include "charm++.h"
#endif
#include "runtime/program/mpi_interoperate.h"

#undef CkExit
#define CkExit LibCkExit
