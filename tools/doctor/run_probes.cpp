// What this build holds, its transports, and what could start runs.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string_view>

#include "base/topology.h"
#include "machine/bootstrap/wire.h"
#include "machine/bootstrap/world.h"
#include "machine/layer/net.h"
#include "machine/layer/transports.h"
#include "tools/doctor/finding.h"

namespace periapt::doctor {
namespace {

std::string in_path(std::string_view command) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    std::size_t colon = rest.find(':');
    std::string file = std::string(rest.substr(0, colon)) + "/" + std::string(command);
    if (::access(file.c_str(), X_OK) == 0) return file;
    rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
  }
  return {};
}

struct Launcher {
  const char* command;
  const char* way;  // how we are found under it
  const char* example;
};
constexpr Launcher kLaunchers[] = {
    {"srun", "PMIx or PMI", "srun -n 8 --mpi=pmi2 ./program"},
    {"mpiexec.hydra", "PMI-1", "mpiexec.hydra -n 8 ./program"},
    {"mpirun.openmpi", "PMIx", "mpirun.openmpi -n 8 ./program"},
    {"prterun", "PMIx", "prterun -n 8 ./program"},
    {"flux", "PMI-1", "flux run -n 8 ./program"},
    {"ssh", "charmrun", "charmrun ++nodelist hosts +p8 ./program"},
};

std::string names_of_transports() {
  std::string names;
  for (const ucx::TransportFactory* factory : machine::transports())
    names += (names.empty() ? "" : ", ") + std::string(factory->name);
  return names.empty() ? "none" : names;
}

}  // namespace

void probe_build(Findings& findings) {
  findings.push_back({"build",
                      "version",
                      Availability::good,
                      "Periapt " PERIAPT_VERSION ", " __VERSION__ ", C++ " + std::to_string(__cplusplus),
                      {}});
  findings.push_back({"build", "transports", Availability::good, names_of_transports(), {}});
  if (bootstrap::built_with_pmix()) {
    findings.push_back(
        {"build", "PMIx", Availability::good, "compiled in; its library is loaded when a launcher offers PMIx", {}});
  } else {
    findings.push_back({"build", "PMIx", Availability::limited,
                        "not compiled in: no runs under launchers that offer nothing else (mpirun, srun --mpi=pmix)",
                        "apt-get install libpmix-dev, then configure again and rebuild"});
  }
}

void probe_transports(Findings& findings, const machine::NetSettings& settings) {
  for (const ucx::TransportFactory* factory : settings.transports) {
    ucx::OpenRequest request;
    request.option = settings.option;
    std::vector<ucx::Device> devices = factory->probe(request);
    int usable = 0;
    for (const ucx::Device& device : devices) usable += device.usable;
    if (devices.empty()) findings.push_back({"transports", factory->name, Availability::limited, "no device", {}});
    for (const ucx::Device& device : devices) {
      // One that can't be used matters when there is no other, and something can be done about it.
      const bool matters = usable == 0 && !device.remedy.empty();
      Availability state = device.usable ? Availability::good : matters ? Availability::limited : Availability::absent;
      findings.push_back({"transports", factory->name + (" " + device.name), state, device.detail,
                          device.usable ? "" : device.remedy});
    }
  }
}

void probe_run(Findings& findings, const Result<std::unique_ptr<bootstrap::World>>& world) {
  if (!world) {
    findings.push_back({"run", "launcher", Availability::broken, world.message(), "see docs/launching.md"});
    return;
  }
  const bootstrap::World& found = *world.value();
  std::set<int> hosts(found.host_of().begin(), found.host_of().end());
  findings.push_back({"run", "launcher", Availability::good, found.describe(), {}});
  findings.push_back({"run",
                      "processes",
                      Availability::good,
                      std::to_string(found.size()) + " on " + std::to_string(hosts.size()) +
                          (hosts.size() == 1 ? " host" : " hosts") + "; this is process " +
                          std::to_string(found.rank()),
                      {}});
  for (const std::string& other : found.passed_over())
    findings.push_back({"run", "passed over", Availability::absent, other, {}});
}

// Of a process with a PE for each cpu of this host.
void probe_workers(Findings& findings, int wanted) {
  const int cpus = static_cast<int>(topology::allowed_cpus().size());
  const double quota = topology::cpu_quota();
  bootstrap::Process process;
  process.pes = process.carriers = quota > 0 && quota < cpus ? std::max(1, static_cast<int>(std::floor(quota))) : cpus;
  const auto workers_in = [&](int processes) { return machine::Net::workers_for(process, processes, wanted); };
  const int workers = workers_in(2);
  std::string text = std::to_string(workers) + " for other hosts, in a process of " + std::to_string(process.pes) +
                     (process.pes == 1 ? " PE" : " PEs");
  if (wanted != 0) {
    text += ": +workers says so";
  } else if (workers > 1) {
    int processes = 2;
    while (workers_in(processes + 1) == workers) ++processes;
    text += " of a run of up to " + std::to_string(processes) + " processes";
    while (workers_in(processes) > 1) ++processes;
    text += ", fewer in larger ones, 1 from " + std::to_string(processes) + " on; +workers N sets another number";
  }
  findings.push_back({"run", "workers", Availability::good, text, {}});
}

void probe_launchers(Findings& findings) {
  for (const Launcher& launcher : kLaunchers) {
    std::string path = in_path(launcher.command);
    if (path.empty()) {
      findings.push_back({"launchers", launcher.command, Availability::absent, "not in PATH", {}});
    } else {
      findings.push_back({"launchers",
                          launcher.command,
                          Availability::good,
                          path + " (" + launcher.way + "): " + launcher.example,
                          {}});
    }
  }
  if (!bootstrap::built_with_pmix()) return;
  void* library = ::dlopen("libpmix.so.2", RTLD_LAZY | RTLD_LOCAL);
  if (library != nullptr) {
    findings.push_back({"launchers", "libpmix", Availability::good, "libpmix.so.2 can be loaded", {}});
    ::dlclose(library);
  } else {
    findings.push_back({"launchers", "libpmix", Availability::limited,
                        std::string("needed under launchers that offer PMIx alone: ") + ::dlerror(),
                        "apt-get install libpmix2, or set PERIAPT_LIBPMIX to the path of the launcher's own"});
  }
}

}  // namespace periapt::doctor
