// GPUs, asked through their drivers' libraries when these can be loaded, and RDMA devices, as the kernel lists them.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

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

// The driver's interface is C and stable: three functions are enough here, without its headers.
void probe_cuda(Findings& findings) {
  void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) {
    bool hardware = ::access("/proc/driver/nvidia/version", F_OK) == 0;
    findings.push_back({"devices", "CUDA", hardware ? State::limited : State::absent,
                        hardware ? "the kernel's driver is there, but libcuda.so.1 is not" : "no driver (libcuda.so.1)",
                        hardware ? "install the driver's user libraries; containers: --gpus all" : ""});
    return;
  }
  auto init = reinterpret_cast<int (*)(unsigned)>(::dlsym(driver, "cuInit"));
  auto count = reinterpret_cast<int (*)(int*)>(::dlsym(driver, "cuDeviceGetCount"));
  auto name = reinterpret_cast<int (*)(char*, int, int)>(::dlsym(driver, "cuDeviceGetName"));
  int devices = 0;
  int error = init && count && name ? init(0) : -1;
  if (error == 0) error = count(&devices);
  if (error != 0) {
    findings.push_back({"devices", "CUDA", State::limited,
                        "libcuda.so.1 is there, but answers with error " + std::to_string(error),
                        "nvidia-smi says more; containers: --gpus all"});
    return;
  }
  if (devices == 0) findings.push_back({"devices", "CUDA", State::absent, "a driver, and no device", {}});
  for (int i = 0; i < devices; ++i) {
    char text[256] = {};
    name(text, sizeof(text) - 1, i);
    findings.push_back({"devices", "CUDA " + std::to_string(i), State::good, text, {}});
  }
}

void probe_hip(Findings& findings) {
  void* library = nullptr;
  for (const char* path : {"libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.5"}) {
    if (library == nullptr) library = ::dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  }
  if (library == nullptr || ::access("/dev/kfd", F_OK) != 0) {
    findings.push_back({"devices",
                        "HIP",
                        State::absent,
                        library ? "a library, and no device (/dev/kfd)" : "no library (libamdhip64.so)",
                        {}});
    return;
  }
  auto count = reinterpret_cast<int (*)(int*)>(::dlsym(library, "hipGetDeviceCount"));
  int devices = 0;
  int error = count ? count(&devices) : -1;
  if (error == 0) {
    findings.push_back(
        {"devices", "HIP", devices ? State::good : State::absent, std::to_string(devices) + " devices", {}});
  } else {
    findings.push_back({"devices", "HIP", State::limited, "libamdhip64 answers with error " + std::to_string(error),
                        "be a member of the groups video and render: usermod -aG video,render $USER"});
  }
}

void probe_rdma(Findings& findings) {
  const std::string root = "/sys/class/infiniband/";
  std::vector<std::string> devices = entries_of(root);
  if (devices.empty()) {
    findings.push_back({"devices", "RDMA", State::absent, "the kernel lists no device in " + root, {}});
    return;
  }
  for (const std::string& device : devices) {
    for (const std::string& port : entries_of(root + device + "/ports")) {
      std::string at = root + device + "/ports/" + port + "/";
      std::string state = first_line(at + "state");  // "4: ACTIVE"
      bool active = state.find("ACTIVE") != std::string::npos;
      findings.push_back({"devices", device + ":" + port, active ? State::good : State::limited,
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
    findings.push_back({"devices", "/dev/infiniband", State::limited,
                        none ? "there are devices, but no files to use them" : "may not be used: " + closed,
                        none ? "modprobe ib_uverbs; containers: --device /dev/infiniband"
                             : "chmod 666 /dev/infiniband/uverbs*, or udev rules of rdma-core"});
  }
}

}  // namespace

void probe_devices(Findings& findings) {
  probe_cuda(findings);
  probe_hip(findings);
  probe_rdma(findings);
}

}  // namespace periapt::doctor
