// Cores, limits, cgroups and containers of this host.
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "base/this_host.h"
#include "base/topology.h"
#include "tools/doctor/finding.h"

namespace periapt::doctor {
namespace {

constexpr rlim_t kEnoughLocked = rlim_t{64} << 20;  // what registered memory of a modest run takes
constexpr rlim_t kEnoughAddresses = rlim_t{1}
                                    << 44;  // message memory is reserved in terabytes of addresses (not of memory)
constexpr rlim_t kEnoughFiles = 4096;

std::string limit_in_words(rlim_t limit, bool bytes) {
  if (limit == RLIM_INFINITY) return "unlimited";
  return bytes ? bytes_in_words(limit) : std::to_string(limit);
}

struct Limit {
  const char* name;
  int resource;
  bool bytes;
  rlim_t enough;
  Availability below;
  const char* meaning;
  const char* remedy;
};
const Limit kLimits[] = {
    {"locked memory", RLIMIT_MEMLOCK, true, kEnoughLocked, Availability::limited,
     "RDMA networks can register no more than this",
     "ulimit -l unlimited (for all logins: a line \"* - memlock unlimited\" in /etc/security/limits.conf; containers: "
     "--ulimit memlock=-1)"},
    {"address space", RLIMIT_AS, true, kEnoughAddresses, Availability::broken,
     "message memory is reserved in terabytes of addresses", "ulimit -v unlimited"},
    {"open files", RLIMIT_NOFILE, false, kEnoughFiles, Availability::limited,
     "a connection takes one: runs of thousands of processes need more", "ulimit -n 65536"},
    {"processes", RLIMIT_NPROC, false, 1024, Availability::limited, "threads count too", "ulimit -u unlimited"},
};

// A limit of a cgroup, in either version of them.
struct GroupLimit {
  const char* file;
  const char* controller;  // of version 1: a hierarchy of its own
  const char* file_1;
};
constexpr GroupLimit kMemoryOfGroup{"memory.max", "memory", "memory.limit_in_bytes"};
constexpr GroupLimit kProcessesOfGroup{"pids.max", "pids", "pids.max"};
constexpr unsigned long long kNoLimit = 1ull << 60;  // version 1 says it as the largest number of pages

// The strictest value between our group and the root of its hierarchy; where it stands, empty: there is none. A line of
// the list of our groups is "0::/a/b", or in version 1 "4:cpu,memory:/a/b".
std::string strictest(const GroupLimit& limit, unsigned long long& least) {
  least = kNoLimit;
  std::string where;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool is_2 = controllers == ",,";
    if (!is_2 && controllers.find("," + std::string(limit.controller) + ",") == std::string::npos) continue;
    const std::string root = is_2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + std::string(limit.controller);
    for (std::string group = line.substr(second + 1);;) {
      const std::string value = first_line(root + group + "/" + (is_2 ? limit.file : limit.file_1));
      const bool none = value.empty() || value == "max";
      const unsigned long long number = none ? kNoLimit : std::strtoull(value.c_str(), nullptr, 10);
      if (number < least) least = number, where = root + group;
      if (group.empty()) break;
      group.erase(group.rfind('/'));
    }
  }
  return where;
}

std::string container_kind() {
  if (const char* named = std::getenv("container")) return named;
  if (::access("/.dockerenv", F_OK) == 0) return "docker";
  if (::access("/run/.containerenv", F_OK) == 0) return "podman";
  if (::access("/.singularity.d", F_OK) == 0) return "apptainer";
  std::string first = first_line("/proc/1/cgroup");
  for (const char* sign : {"docker", "kubepods", "containerd", "lxc"}) {
    if (first.find(sign) != std::string::npos) return sign;
  }
  return {};
}

std::map<std::string, std::string> own_status() {
  std::map<std::string, std::string> fields;
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    std::size_t colon = line.find(':');
    std::size_t value = line.find_first_not_of(" \t", colon + 1);
    if (colon != std::string::npos && value != std::string::npos) fields[line.substr(0, colon)] = line.substr(value);
  }
  return fields;
}

}  // namespace

void probe_cores(Findings& findings) {
  std::vector<int> cpus = topology::allowed_cpus();
  int packages = topology::count_packages(cpus);
  std::string text = std::to_string(cpus.size()) + (cpus.size() == 1 ? " cpu" : " cpus") + " may be used, in " +
                     std::to_string(packages) + (packages == 1 ? " package" : " packages");
  findings.push_back({"cores", "cpus", Availability::good, text, {}});
  double quota = topology::cpu_quota();
  if (quota > 0 && quota < static_cast<double>(cpus.size())) {
    std::ostringstream words;
    words << "the cgroup grants the time of " << quota << " of them: no more carriers than that are used";
    findings.push_back({"cores", "cpu quota", Availability::limited, words.str(),
                        "containers: --cpus N; Kubernetes: resources.limits.cpu"});
  } else {
    findings.push_back({"cores", "cpu quota", Availability::good, "none", {}});
  }
}

void probe_limits(Findings& findings) {
  for (const Limit& limit : kLimits) {
    rlimit value{};
    ::getrlimit(static_cast<__rlimit_resource>(limit.resource), &value);
    bool matters = limit.resource != RLIMIT_MEMLOCK || kernel_lists_any("/sys/class/infiniband");
    bool enough = !matters || value.rlim_cur == RLIM_INFINITY || value.rlim_cur >= limit.enough;
    std::string text =
        limit_in_words(value.rlim_cur, limit.bytes) + (matters ? "" : " (of use to RDMA networks only; here is none)");
    findings.push_back({"limits", limit.name, enough ? Availability::good : limit.below,
                        enough ? text : text + ": " + limit.meaning, enough ? "" : limit.remedy});
  }
  std::string overcommit = first_line("/proc/sys/vm/overcommit_memory");
  if (overcommit == "2") {
    findings.push_back({"limits", "overcommit", Availability::limited,
                        "vm.overcommit_memory=2: reserved memory counts as used", "sysctl vm.overcommit_memory=0"});
  }
  unsigned long long least = 0;
  std::string where = strictest(kMemoryOfGroup, least);
  findings.push_back({"limits",
                      "cgroup memory",
                      Availability::good,
                      where.empty() ? "no limit found" : bytes_in_words(least) + " (" + where + ")",
                      {}});
  where = strictest(kProcessesOfGroup, least);
  bool few = !where.empty() && least < 1024;
  findings.push_back({"limits", "cgroup processes", few ? Availability::limited : Availability::good,
                      where.empty() ? "no limit found" : std::to_string(least) + " (" + where + ")",
                      few ? "containers: --pids-limit -1; systemd: TasksMax=infinity" : ""});
  struct statvfs shm {};
  if (::statvfs("/dev/shm", &shm) == 0) {
    unsigned long long size = static_cast<unsigned long long>(shm.f_blocks) * shm.f_frsize;
    findings.push_back({"limits",
                        "/dev/shm",
                        Availability::good,
                        bytes_in_words(size) + "; not used by message memory, which lies in memfd",
                        {}});
  }
  std::string kind = container_kind();
  findings.push_back({"limits", "container", Availability::good, kind.empty() ? "no sign of one" : kind, {}});
  std::map<std::string, std::string> status = own_status();
  bool filtered = status["Seccomp"] == "2";
  findings.push_back({"limits",
                      "seccomp",
                      Availability::good,
                      filtered ? "a filter of system calls is on (see sharing for what it forbids)" : "no filter",
                      {}});
}

}  // namespace periapt::doctor
