#include "machine/bootstrap/copies.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace periapt::bootstrap {
namespace {

struct Sign {
  const char* size;  // the variable that holds the number of copies
  const char* also;  // a variable that must be there too; nullptr: none
  const char* launcher;
  const char* instead;
};
constexpr Sign kSigns[] = {
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun",
     "use srun --mpi=pmi2 or srun --mpi=pmix (srun --mpi=list shows what this Slurm has)"},
    {"OMPI_COMM_WORLD_SIZE", nullptr, "Open MPI's mpirun", "it offers PMIx: see why that was not taken, with +verbose"},
    {"PRTE_LAUNCHED", nullptr, "prterun", "it offers PMIx: see why that was not taken, with +verbose"},
    {"MV2_COMM_WORLD_SIZE", nullptr, "MVAPICH's launcher", "use its mpiexec.hydra, which offers PMI"},
    {"PALS_LOCAL_SIZE", nullptr, "Cray PALS", "load a PMIx module, or start with charmrun ++nodelist"},
    {"ALPS_APP_PE", nullptr, "aprun", "start with charmrun ++nodelist"},
    {"JSM_NAMESPACE_SIZE", nullptr, "jsrun", "it offers PMIx: see why that was not taken, with +verbose"},
    {"FLUX_JOB_SIZE", nullptr, "flux run", "it offers PMI: see why that was not taken, with +verbose"},
    {"MPI_LOCALNRANKS", nullptr, "hydra", "it offers PMI: see why that was not taken, with +verbose"},
    {"PMI_SIZE", nullptr, "a launcher that sets PMI_SIZE",
     "it should set PMI_FD too: use one that offers PMI-1, PMI-2 or PMIx"},
};

// Parents that exist only to hold the tasks of a parallel job.
struct Parent {
  const char* name;  // as in /proc/PID/comm: at most 15 characters
  const char* launcher;
};
constexpr Parent kParents[] = {
    {"slurmstepd", "Slurm"},    {"hydra_pmi_proxy", "hydra"},   {"hydra_pmi_prox", "hydra"}, {"orted", "Open MPI"},
    {"prted", "PRRTE"},         {"palsd", "Cray PALS"},         {"jsmd", "jsrun"},           {"flux-shell", "Flux"},
    {"pmi_proxy", "MPICH"},     {"mpirun.openmpi", "Open MPI"}, {"mpirun", "mpirun"},        {"prterun", "PRRTE"},
    {"mpiexec.hydra", "hydra"}, {"mpiexec", "mpiexec"}};

constexpr int kLooks = 10;
constexpr useconds_t kLookEveryUs = 30'000;

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// How many of the parent's children were started with our command line, ourselves included.
int copies_under(pid_t parent) {
  std::ifstream children("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  std::string own = read_all("/proc/self/cmdline");
  int copies = 0;
  for (pid_t pid; children >> pid;) copies += read_all("/proc/" + std::to_string(pid) + "/cmdline") == own;
  return copies;
}

std::string sentence(const std::string& launcher, const std::string& count, const std::string& instead) {
  return launcher + " started " + count +
         " copies of this program, but gives them no way to know each other: each would run " + "alone. Instead, " +
         instead + ". If they are meant to run alone, set PERIAPT_LAUNCHER=alone";
}

}  // namespace

std::string explain_copies() {
  for (const Sign& sign : kSigns) {
    const char* size = std::getenv(sign.size);
    if (size == nullptr || std::atoi(size) < 2) continue;
    if (sign.also != nullptr && std::getenv(sign.also) == nullptr) continue;
    return sentence(sign.launcher, size, sign.instead);
  }
  std::string name;
  std::getline(std::ifstream("/proc/" + std::to_string(::getppid()) + "/comm"), name);
  for (const Parent& parent : kParents) {
    if (name != parent.name) continue;
    // The others may be on their way still.
    int copies = copies_under(::getppid());
    for (int look = 0; copies < 2 && look < kLooks; ++look) {
      ::usleep(kLookEveryUs);
      copies = copies_under(::getppid());
    }
    if (copies < 2) continue;
    ::usleep(kLooks * kLookEveryUs);  // until they have seen us, too
    return sentence(parent.launcher, "at least " + std::to_string(copies),
                    "use a launcher that offers PMI-1, PMI-2 or PMIx, or charmrun");
  }
  return {};
}

}  // namespace periapt::bootstrap
