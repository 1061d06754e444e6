// Which processors we may use. The default path reads the affinity mask, the cgroup's quota and, where it matters,
// a few files of /sys: start-up must stay cheap. hwloc is loaded at run time, only when a caller asks for what it
// alone knows (logical numbering, `+showcpuaffinity`).
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace periapt::topology {

/// OS numbers of the processors in our affinity mask, ascending. Never empty.
std::vector<int> allowed_cpus();

/// How many processors' worth of time the cgroup grants; 0: no limit. (cgroup v2 cpu.max, v1 cfs quota.)
double cpu_quota();

/// The same cpus, best first: one hardware thread of each core before second ones. Reads /sys only for as many cpus as
/// are `wanted`, and not at all when all are.
std::vector<int> distinct_cores_first(const std::vector<int>& cpus, int wanted);

/// The cpu this thread runs on now.
int current_cpu();

/// Binds the calling thread to one cpu, or to several.
Status pin_this_thread(int cpu);
Status pin_this_thread(const std::vector<int>& cpus);

/// Sockets (packages) among the given cpus; 1 when /sys does not say.
int count_packages(const std::vector<int>& cpus);

/// How far a device is from these cpus, by the distances that the firmware states between nodes of memory (10: the same
/// node), the mean over the cpus; 0: not known. `folder` is the device's, as /sys/class/infiniband/mlx5_0/device.
double distance_to(const std::string& folder, const std::vector<int>& cpus,
                   const std::string& nodes = "/sys/devices/system/node");

/// How far two devices are from each other, by their folders in /sys or links to them: bridges and devices between them
/// on one bus; else 100 times the distance that the firmware states between their nodes of memory (10: the same one,
/// which is taken where it says nothing), which is more. 0: the same device, or not known.
double distance_between(const std::string& one, const std::string& other,
                        const std::string& nodes = "/sys/devices/system/node");

/// hwloc's logical processor number -> OS number, for all of the machine. Loads hwloc.
Result<std::vector<int>> logical_to_os();

/// "cpu 3 (package 0, core 1)" when hwloc can be loaded, else "cpu 3".
std::string describe_cpu(int cpu);

}  // namespace periapt::topology
