// GPUs, asked through their drivers' libraries when these can be loaded (machine/gpu), and RDMA devices, as the kernel
// lists them.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/topology.h"
#include "machine/gpu/couriers.h"
#include "machine/gpu/folds.h"
#include "machine/gpu/packs.h"
#include "machine/gpu/vendors.h"
#include "tools/doctor/finding.h"

namespace periapt::doctor {
namespace {

std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> names;
  if (DIR* open = ::opendir(folder.c_str())) {
    while (const dirent* entry = ::readdir(open)) {
      if (entry->d_name[0] != '.') names.push_back(entry->d_name);
    }
    ::closedir(open);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// A reason, behind a semicolon of which stands what can be done.
Finding not_good(const std::string& name, Availability state, const std::string& text, const std::string& why) {
  const std::size_t end = std::min(why.rfind("; "), why.size());
  return {"devices", name, state, text + why.substr(0, end), end == why.size() ? "" : why.substr(end + 2)};
}

/// "mlx5_0 (4 steps away on its bus)": the adapters that are nearest to a GPU.
std::string nearest_adapters(const std::string& gpu) {
  const std::string root = "/sys/class/infiniband/";
  std::string names;
  double nearest = 0;
  for (const std::string& device : entries_of(root)) {
    const double distance = topology::distance_between(root + device + "/device", gpu);
    if (distance == 0 || (!names.empty() && distance > nearest)) continue;
    names = (names.empty() || distance < nearest ? "" : names + ", ") + device;
    nearest = distance;
  }
  if (names.empty()) return names;
  constexpr double kAnotherBus = 1000;  // and farther: another node of memory
  return names + (nearest < kAnotherBus ? " (" + std::to_string(static_cast<int>(nearest)) + " steps away on its bus)"
                  : nearest == kAnotherBus ? " (on another bus)"
                                           : " (on another node)");
}

/// "CUDA 1 and 3 over NVLink": the other GPUs whose memory one reads and writes.
void probe_peers(const gpu::Vendor& vendor, gpu::Driver& driver, int gpu, Findings& findings) {
  std::map<std::string, std::string> by_link;
  std::string why_not;
  const int count = static_cast<int>(driver.gpus().size());
  for (int other = 0; other < count; ++other) {
    if (other == gpu) continue;
    if (const Status reaches = driver.reach(gpu, other); !reaches) {
      why_not = reaches.message();
      continue;
    }
    std::string& others = by_link[driver.link_between(gpu, other)];
    others += (others.empty() ? "" : ", ") + std::to_string(other);
  }
  std::string reached;
  for (const auto& [link, others] : by_link) {
    reached += (reached.empty() ? "" : "; ") + (vendor.title + (" " + others)) +
               (link.empty() ? std::string() : " over " + link);
  }
  if (count < 2) return;
  const std::string good = reached.empty() ? "" : "it reads and writes the memory of " + reached;
  findings.push_back({"devices", vendor.title + (" " + std::to_string(gpu)) + " peers",
                      why_not.empty() ? Availability::good : Availability::limited,
                      good + (why_not.empty() || good.empty() ? "" : "; ") +
                          (why_not.empty() ? "" : "copies go through the host: " + why_not),
                      ""});
}

/// Memory of the other processes of the host is mapped by handles, which a container or a part of a GPU may forbid. A
/// process does not map its own: that its driver gives them is what can be tried here.
void probe_handles(const std::string& name, gpu::Driver& driver, int gpu, Findings& findings) {
  constexpr std::uint64_t kBytes = 2 << 20;
  const std::string what = name + " IPC";
  const Result<std::byte*> memory = driver.allocate(gpu, gpu::MemoryType::device, kBytes);
  if (!memory) {
    findings.push_back({"devices", what, Availability::limited,
                        "whether other processes of this host map its memory was not tried: " + memory.message(),
                        "run it when the GPU has 2 MB left"});
    return;
  }
  const Result<gpu::Memory> seen = driver.look(*memory);
  const Status gives = seen ? driver.export_memory(*seen).status() : seen.status();
  static_cast<void>(driver.free(gpu, gpu::MemoryType::device, *memory));
  if (gives) {
    findings.push_back({"devices", what, Availability::good,
                        "it gives handles, by which other processes of this host may map its memory", ""});
  } else {
    findings.push_back(not_good(what, Availability::limited, "between processes its bytes go through the host: ",
                                gives.message() + "; containers want --ipc host and --pid host"));
  }
}

/// Whether RDMA adapters, processes with files in hand and hosts of its NVLink domain reach its memory, and which
/// adapters are the nearest.
void probe_reach(const std::string& name, gpu::Driver& driver, int gpu, Findings& findings) {
  if (const Status may = driver.may_share(gpu); !may) {
    findings.push_back(
        not_good(name + " dma-buf", Availability::limited, "RDMA adapters do not reach its memory: ", may.message()));
  } else {
    findings.push_back(
        {"devices", name + " dma-buf", Availability::good, "RDMA adapters whose drivers take it reach its memory", ""});
  }
  if (const std::string adapters = nearest_adapters(gpu::folder_of(driver.gpus()[gpu])); !adapters.empty()) {
    findings.push_back({"devices", name + " adapter", Availability::good,
                        "its memory goes over the nearest of those that are in use; nearest of all: " + adapters, ""});
  }
  if (const Status may = driver.may_give_files(gpu); !may) {
    findings.push_back(not_good(name + " by hand", Availability::limited,
                                "memory mapped by hand goes through the host to other processes: ", may.message()));
  } else {
    findings.push_back({"devices", name + " by hand", Availability::good,
                        "other processes of this host map memory that was made with a file "
                        "(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)",
                        ""});
  }
  if (const Status may = driver.may_use_fabric(gpu); may) {
    findings.push_back({"devices", name + " fabric", Availability::good,
                        "its driver knows handles of memory mapped by hand for other hosts of its NVLink domain "
                        "(CU_MEM_HANDLE_TYPE_FABRIC); whether programs may make such memory was not tried",
                        ""});
  } else {
    findings.push_back(not_good(name + " fabric", Availability::absent,
                                "memory mapped by hand is not mapped by other hosts: ", may.message()));
  }
}

/// Whether it works on memory itself: sums, and what lies in rows.
void probe_kernels(const std::string& name, gpu::Driver& driver, int gpu, Findings& findings) {
  const Result<gpu::Kernel>& kernel = gpu::Folder::kernel(driver, gpu);
  findings.push_back(
      {"devices",
       name + " reductions",
       kernel ? Availability::good : Availability::limited,
       kernel ? "of its memory are combined there" : "of its memory are combined by the host: " + kernel.message(),
       {}});
  const Result<gpu::Kernel>& packs = gpu::Packer::kernel(driver, gpu);
  findings.push_back(
      {"devices",
       name + " layouts",
       packs ? Availability::good : Availability::limited,
       packs ? "of its memory are packed by a kernel" : "of its memory are copied row by row: " + packs.message(),
       {}});
}

void probe_gpus(const gpu::Vendor& vendor, Findings& findings) {
  const Result<gpu::Driver*>& driver = vendor.driver();
  if (!driver) {
    findings.push_back(not_good(vendor.title, vendor.is_installed() ? Availability::limited : Availability::absent,
                                "not used: ", driver.message()));
    return;
  }
  const std::vector<gpu::Gpu>& gpus = driver.value()->gpus();
  gpu::Couriers& couriers = gpu::Couriers::of(*driver.value());
  for (int i = 0; i < static_cast<int>(gpus.size()); ++i) {
    const std::string name = vendor.title + (" " + std::to_string(i));
    findings.push_back({"devices",
                        name,
                        Availability::good,
                        gpus[i].name + " at " + gpus[i].pci + ", " + bytes_in_words(gpus[i].bytes) + ", driver for " +
                            vendor.title + " " + driver.value()->version(),
                        {}});
    const gpu::Couriers::Verdict courier = couriers.judge(i);
    findings.push_back(
        {"devices", name + " courier", courier.is_used ? Availability::good : Availability::limited,
         (courier.is_used ? "small messages go by it: " : "not used: ") + courier.why,
         courier.is_used ? "" : "nothing: copy engines take them; +gpu-courier on tries it all the same"});
    probe_peers(vendor, *driver.value(), i, findings);
    probe_handles(name, *driver.value(), i, findings);
    probe_reach(name, *driver.value(), i, findings);
    probe_kernels(name, *driver.value(), i, findings);
  }
}

void probe_rdma(Findings& findings) {
  const std::string root = "/sys/class/infiniband/";
  std::vector<std::string> devices = entries_of(root);
  if (devices.empty()) {
    findings.push_back({"devices", "RDMA", Availability::absent, "the kernel lists no device in " + root, {}});
    return;
  }
  for (const std::string& device : devices) {
    for (const std::string& port : entries_of(root + device + "/ports")) {
      std::string at = root + device + "/ports/" + port + "/";
      std::string state = first_line(at + "state");  // "4: ACTIVE"
      bool active = state.find("ACTIVE") != std::string::npos;
      findings.push_back({"devices", device + ":" + port, active ? Availability::good : Availability::limited,
                          first_line(at + "link_layer") + ", " + first_line(at + "rate") + ", " + state,
                          active ? "" : "ip link set the device's interface up; ibstat says more"});
    }
  }
  std::string closed;
  for (const std::string& name : entries_of("/dev/infiniband")) {
    if (name.rfind("uverbs", 0) == 0 && ::access(("/dev/infiniband/" + name).c_str(), R_OK | W_OK) != 0) {
      closed += (closed.empty() ? "" : ", ") + name + " (" + std::strerror(errno) + ")";
    }
  }
  bool none = entries_of("/dev/infiniband").empty();
  if (none || !closed.empty()) {
    findings.push_back({"devices", "/dev/infiniband", Availability::limited,
                        none ? "there are devices, but no files to use them" : "may not be used: " + closed,
                        none ? "modprobe ib_uverbs; containers: --device /dev/infiniband"
                             : "chmod 666 /dev/infiniband/uverbs*, or udev rules of rdma-core"});
  }
}

}  // namespace

void probe_devices(Findings& findings) {
  for (const gpu::Vendor& vendor : gpu::vendors()) probe_gpus(vendor, findings);
  probe_rdma(findings);
}

}  // namespace periapt::doctor
