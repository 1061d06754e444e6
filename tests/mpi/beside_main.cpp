// A program of MPI that has two communicators and a run of Charm++ on each, one after the other with MPI, and MPI at
// the end. With `aborts`: a chare of the second one ends badly; `alone`: each process is a run; `all`: one run on all.
#include <mpi.h>

#include <cstdio>
#include <cstring>

#include "mpi-interoperate.h"

// Of the library: all processes of a run call it, PE 0 gets the sum.
int sum_of(int elements);

static void check(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0, part_rank = 0, part_size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* const mode = argc > 1 ? argv[1] : "";
  const int color = std::strcmp(mode, "alone") == 0 ? rank : std::strcmp(mode, "all") == 0 ? 0 : rank % 2;
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, color, rank, &part);
  MPI_Comm_rank(part, &part_rank);
  MPI_Comm_size(part, &part_size);

  CharmLibInit(part, argc, argv);
  check(CkNumNodes() == part_size && CkMyNode() == part_rank, "the run is the communicator");

  for (int round = 1; round <= 3; ++round) {
    // MPI among all, while the runs wait.
    int ranks = 0;
    MPI_Allreduce(&rank, &ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check(ranks == size * (size - 1) / 2, "MPI's sum");
    const int elements = 10 * round + color;
    const int sum = sum_of(elements);
    check(CkMyPe() != 0 || sum == elements * (elements - 1) / 2, "the chares' sum");
    MPI_Barrier(part);
  }
  if (std::strcmp(mode, "aborts") == 0 && color == 1 && part_rank == 0) CkAbort("the second run has had enough");
  CharmLibExit();

  int ones = 0;
  const int one = 1;
  MPI_Allreduce(&one, &ones, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check(ones == size, "MPI goes on behind the run");
  if (rank == 0) std::printf("all checks passed in %d processes\n", ones);
  MPI_Finalize();
  return std::strcmp(mode, "code") == 0 ? 5 : 0;
}
