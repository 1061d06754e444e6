// A library with a mainmodule of its own beside MPI: CharmLibInit() comes back when that has called CkExit().
#include <mpi.h>

#include "main_module.decl.h"
#include "mpi-interoperate.h"

static int worked = 0;

struct Main : CBase_Main {
  explicit Main(CkArgMsg* m) {
    delete m;
    thisProxy.work(10);
  }
  void work(int left) {
    ++worked;
    if (left == 0) return CkExit();
    thisProxy.work(left - 1);
  }
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CharmLibInit(MPI_COMM_WORLD, argc, argv);
  const bool right = CkMyPe() != 0 || worked == 11;
  CharmLibExit();
  int all = 0;
  const int own = right ? 1 : 0;
  MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::printf(all != 0 ? "all checks passed\n" : "wrong: the mainchare has not come to its end\n");
  MPI_Finalize();
}

#include "main_module.def.h"
