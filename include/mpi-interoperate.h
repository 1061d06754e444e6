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

#undef CkExit
#define CkExit LibCkExit

// Compiled with the program, as each MPI has a header and a library of its own.
#ifdef MPI_VERSION
#undef CMK_CONVERSE_MPI
#define CMK_CONVERSE_MPI 1

static inline int periapt_mpi_gather(void* communicator, const void* bytes, int size, void* all) {
  return MPI_Allgather((void*)bytes, size, MPI_BYTE, all, size, MPI_BYTE, *(MPI_Comm*)communicator) != MPI_SUCCESS;
}
static inline void periapt_mpi_abort(void* communicator, int code) { MPI_Abort(*(MPI_Comm*)communicator, code); }

/// After MPI_Init(), in all processes of the communicator. What it sends on it, it sends on a copy.
static inline void CharmLibInit(MPI_Comm communicator, int argc, char** argv) {
  static MPI_Comm own;
  struct PeriaptCommunicator of = {0, 1, &own, periapt_mpi_gather, periapt_mpi_abort};
  MPI_Comm_dup(communicator, &own);
  MPI_Comm_rank(own, &of.rank);
  MPI_Comm_size(own, &of.size);
  periapt_lib_init(&of, argc, argv);
}
#endif
