#include "base/topology.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

namespace periapt::topology {
namespace {

std::string read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string cpu_file(int cpu, const char* name) {
  return "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/" + name;
}

// "0-3,8" as the kernel writes it.
std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  std::stringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    int first = 0, last = 0;
    int found = std::sscanf(part.c_str(), "%d-%d", &first, &last);
    if (found < 1) continue;
    if (found == 1) last = first;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

double quota_v2(const std::string& folder) {
  std::istringstream line(read_line(folder + "/cpu.max"));
  std::string quota;
  double period = 0;
  if (!(line >> quota >> period) || quota == "max" || period <= 0) return 0;
  return std::strtod(quota.c_str(), nullptr) / period;
}

double quota_v1(const std::string& folder) {
  double quota = std::strtod(read_line(folder + "/cpu.cfs_quota_us").c_str(), nullptr);
  double period = std::strtod(read_line(folder + "/cpu.cfs_period_us").c_str(), nullptr);
  return quota > 0 && period > 0 ? quota / period : 0;
}

// The smallest quota from the group up to the root of its hierarchy.
template <class Read>
double smallest_quota(const std::string& root, std::string path, Read read) {
  double smallest = 0;
  for (;;) {
    double quota = read(root + path);
    if (quota > 0 && (smallest == 0 || quota < smallest)) smallest = quota;
    if (path.empty() || path == "/") return smallest;
    path.resize(path.rfind('/'));
  }
}

}  // namespace

std::vector<int> allowed_cpus() {
  // The kernel's mask may be longer than the fixed cpu_set_t.
  for (int most = 1024; most <= 1 << 20; most *= 4) {
    std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(most), [](cpu_set_t* s) { CPU_FREE(s); });
    std::size_t bytes = CPU_ALLOC_SIZE(most);
    CPU_ZERO_S(bytes, set.get());
    if (sched_getaffinity(0, bytes, set.get()) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < most; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set.get())) cpus.push_back(cpu);
    }
    if (!cpus.empty()) return cpus;
  }
  return {std::max(0, current_cpu())};
}

double cpu_quota() {
  std::ifstream groups("/proc/self/cgroup");
  double smallest = 0;
  for (std::string line; std::getline(groups, line);) {
    std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers = ",";
    controllers.append(line, first + 1, second - first - 1).append(",");
    std::string path = line.substr(second + 1);
    double quota = 0;
    if (controllers == ",,") {
      quota = smallest_quota("/sys/fs/cgroup", path, quota_v2);
    } else if (controllers.find(",cpu,") != std::string::npos) {
      quota = smallest_quota("/sys/fs/cgroup/cpu", path, quota_v1);
    }
    if (quota > 0 && (smallest == 0 || quota < smallest)) smallest = quota;
  }
  return smallest;
}

std::vector<int> distinct_cores_first(const std::vector<int>& cpus, int wanted) {
  if (wanted >= static_cast<int>(cpus.size())) return cpus;
  std::vector<int> first, second;
  std::set<int> siblings;
  for (int cpu : cpus) {
    if (siblings.count(cpu) != 0) {
      second.push_back(cpu);
      continue;
    }
    first.push_back(cpu);
    if (static_cast<int>(first.size()) > wanted) continue;  // enough is known
    for (int sibling : parse_cpu_list(read_line(cpu_file(cpu, "thread_siblings_list")))) siblings.insert(sibling);
  }
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

int current_cpu() { return sched_getcpu(); }

Status pin_this_thread(int cpu) { return pin_this_thread(std::vector<int>{cpu}); }

Status pin_this_thread(const std::vector<int>& cpus) {
  const int last = *std::max_element(cpus.begin(), cpus.end());
  std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(last + 1), [](cpu_set_t* s) { CPU_FREE(s); });
  std::size_t bytes = CPU_ALLOC_SIZE(last + 1);
  CPU_ZERO_S(bytes, set.get());
  for (int cpu : cpus) CPU_SET_S(cpu, bytes, set.get());
  int error = pthread_setaffinity_np(pthread_self(), bytes, set.get());
  if (error == 0) return {};
  return Status::failure("could not bind a thread to cpu " + std::to_string(last) + ": " + std::strerror(error));
}

double distance_to(const std::string& folder, const std::vector<int>& cpus, const std::string& nodes) {
  const std::string of_device = read_line(folder + "/numa_node");
  if (of_device.empty() || of_device[0] == '-') return 0;
  std::istringstream distances(read_line(nodes + "/node" + of_device + "/distance"));
  double sum = 0;
  int known = 0;
  for (int node : parse_cpu_list(read_line(nodes + "/online"))) {
    double distance = 0;
    if (!(distances >> distance)) return 0;
    for (int cpu : parse_cpu_list(read_line(nodes + "/node" + std::to_string(node) + "/cpulist"))) {
      if (std::count(cpus.begin(), cpus.end(), cpu) == 0) continue;
      sum += distance;
      ++known;
    }
  }
  return known == 0 ? 0 : sum / known;
}

namespace {

/// "/sys/devices/pci0000:00/0000:00:01.0/...": its parts; empty: there is no such folder.
std::vector<std::string> parts_of(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(folder, error);
  return error ? std::vector<std::string>() : std::vector<std::string>(real.begin(), real.end());
}

bool is_root_of_bus(const std::string& part) { return part.rfind("pci", 0) == 0; }

double distance_of_nodes(const std::string& one, const std::string& other, const std::string& nodes) {
  constexpr double kSame = 10;
  const std::string first = read_line(one + "/numa_node"), second = read_line(other + "/numa_node");
  if (first == second || first.empty() || second.empty() || first[0] == '-' || second[0] == '-') return kSame;
  std::istringstream distances(read_line(nodes + "/node" + first + "/distance"));
  for (int node : parse_cpu_list(read_line(nodes + "/online"))) {
    double distance = 0;
    if (!(distances >> distance)) break;
    if (std::to_string(node) == second) return distance;
  }
  return kSame;
}

}  // namespace

double distance_between(const std::string& one, const std::string& other, const std::string& nodes) {
  const std::vector<std::string> first = parts_of(one), second = parts_of(other);
  if (first.empty() || second.empty()) return 0;
  const auto [end, its_end] = std::mismatch(first.begin(), first.end(), second.begin(), second.end());
  if (std::any_of(first.begin(), end, is_root_of_bus))
    return static_cast<double>((first.end() - end) + (second.end() - its_end));
  return 100 * distance_of_nodes(one, other, nodes);
}

int count_packages(const std::vector<int>& cpus) {
  std::set<std::string> packages;
  for (int cpu : cpus) packages.insert(read_line(cpu_file(cpu, "physical_package_id")));
  return std::max<int>(1, static_cast<int>(packages.size()));
}

}  // namespace periapt::topology
