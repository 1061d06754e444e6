// CharmLibInit() of a program of MPI: compiled with the program, as each MPI has a header and a library of its own. The
// program has included <mpi.h>. C and C++17.
#pragma once

#include "runtime/program/mpi_interoperate.h"

#undef CMK_CONVERSE_MPI
#define CMK_CONVERSE_MPI 1

static inline int periapt_mpi_gather(void* communicator, const void* bytes, int size, void* all) {
  return MPI_Allgather((void*)bytes, size, MPI_BYTE, all, size, MPI_BYTE, *(MPI_Comm*)communicator) == MPI_SUCCESS ? 0
                                                                                                                   : 1;
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
