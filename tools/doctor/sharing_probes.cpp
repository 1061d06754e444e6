// What processes of this host may do with each other's memory, and what the kernel offers: found by doing it once, in
// children that end at once, since rules (Yama, seccomp, containers, name spaces) are many and their effects few.
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "tools/doctor/finding.h"

namespace periapt::doctor {
namespace {

// Two children; the second reads a word of the first one's memory. 0 or an errno value.
int read_sibling(bool first_allows_it) {
  volatile std::uint64_t word = 0x7065726961707431;  // the same address in all three
  int told[2];
  if (::pipe(told) != 0) return errno;
  pid_t first = ::fork();
  if (first == 0) {
    if (first_allows_it) ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    word = word + 1;
    static_cast<void>(!::write(told[1], "x", 1));
    for (;;) ::pause();
  }
  char x;
  bool ready = first > 0 && ::read(told[0], &x, 1) == 1;
  int error = EAGAIN;
  pid_t second = ready ? ::fork() : -1;
  if (second == 0) {
    std::uint64_t got = 0;
    iovec local{&got, sizeof(got)}, remote{const_cast<std::uint64_t*>(&word), sizeof(got)};
    ssize_t n = ::process_vm_readv(first, &local, 1, &remote, 1, 0);
    ::_exit(n == static_cast<ssize_t>(sizeof(got)) ? (got == word + 1 ? 0 : EIO) : errno);
  }
  int status = 0;
  if (second > 0 && ::waitpid(second, &status, 0) == second && WIFEXITED(status)) error = WEXITSTATUS(status);
  if (first > 0) {
    ::kill(first, SIGKILL);
    ::waitpid(first, &status, 0);
  }
  ::close(told[0]);
  ::close(told[1]);
  return error;
}

void probe_cma(Findings& findings) {
  std::string scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
  std::string rule = scope.empty() ? "Yama is not there" : "kernel.yama.ptrace_scope=" + scope;
  int error = read_sibling(false);
  if (error == 0) {
    findings.push_back({"sharing",
                        "CMA",
                        Availability::good,
                        "a process can read its sibling's memory (process_vm_readv; " + rule + ")",
                        {}});
    return;
  }
  if (read_sibling(true) == 0) {
    findings.push_back(
        {"sharing",
         "CMA",
         Availability::good,
         "a process can read its sibling's memory when that one allows it (PR_SET_PTRACER; " + rule + ")",
         {}});
    return;
  }
  std::string remedy = error == ENOSYS || error == EPERM
                           ? "sysctl kernel.yama.ptrace_scope=0; containers: --cap-add SYS_PTRACE (or a seccomp "
                             "profile that allows process_vm_readv)"
                           : "look at the kernel's log: dmesg | tail";
  findings.push_back({"sharing", "CMA", Availability::limited,
                      std::string("process_vm_readv: ") + std::strerror(error) + " (" + rule +
                          "): buffers outside message memory are copied through it instead",
                      remedy});
}

// A page that one process writes and another one reads, and a large range of addresses.
void probe_memfd(Findings& findings) {
  int fd = static_cast<int>(::syscall(SYS_memfd_create, "periapt-doctor", MFD_CLOEXEC));
  int error = errno;
  void* page = MAP_FAILED;
  if (fd >= 0 && ::ftruncate(fd, 4096) == 0) page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  bool shared = false;
  if (page != MAP_FAILED) {
    pid_t child = ::fork();
    if (child == 0) {
      *static_cast<volatile int*>(page) = 42;
      ::_exit(0);
    }
    int status = 0;
    if (child > 0) ::waitpid(child, &status, 0);
    shared = *static_cast<volatile int*>(page) == 42;
    ::munmap(page, 4096);
  } else if (fd >= 0) {
    error = errno;
  }
  if (fd >= 0) ::close(fd);
  if (shared) {
    findings.push_back(
        {"sharing", "shared memory", Availability::good, "memfd works: processes of a host share message memory", {}});
  } else {
    findings.push_back({"sharing", "shared memory", Availability::broken,
                        std::string("memfd_create: ") + std::strerror(error),
                        "containers: use a seccomp profile that allows memfd_create"});
  }
  constexpr std::size_t kReserved = std::size_t{16} << 40;
  void* range = ::mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range != MAP_FAILED) {
    ::munmap(range, kReserved);
    findings.push_back(
        {"sharing", "addresses", Availability::good, bytes_in_words(kReserved) + " of addresses can be reserved", {}});
  } else {
    findings.push_back({"sharing", "addresses", Availability::broken,
                        bytes_in_words(kReserved) + " of addresses cannot be reserved: " + std::strerror(errno),
                        "ulimit -v unlimited; sysctl vm.overcommit_memory=0"});
  }
}

void probe_huge_pages(Findings& findings) {
  std::string total = first_line("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
  std::string free = first_line("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  if (total.empty() || total == "0") {
    findings.push_back(
        {"sharing", "huge pages", Availability::absent, "none are set aside", "sysctl vm.nr_hugepages=512 (1 GiB)"});
  } else {
    findings.push_back(
        {"sharing", "huge pages", Availability::good, free + " of " + total + " pages of 2 MiB are free", {}});
  }
  std::string transparent = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string shmem = first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  bool never = shmem.find("[never]") != std::string::npos || shmem.find("[deny]") != std::string::npos;
  if (transparent.empty()) {
    findings.push_back(
        {"sharing", "transparent", Availability::absent, "this kernel has no transparent huge pages", {}});
  } else {
    findings.push_back(
        {"sharing", "transparent", Availability::good, "memory: " + transparent + ", shared memory: " + shmem,
         never ? "for shared memory: echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled" : ""});
  }
}

void probe_io_uring(Findings& findings) {
  io_uring_params parameters{};
  int fd = static_cast<int>(::syscall(SYS_io_uring_setup, 4, &parameters));
  if (fd >= 0) {
    ::close(fd);
    findings.push_back({"sharing", "io_uring", Availability::good, "can be used", {}});
    return;
  }
  int error = errno;
  std::string setting = first_line("/proc/sys/kernel/io_uring_disabled");
  findings.push_back(
      {"sharing", "io_uring", Availability::absent,
       std::string(std::strerror(error)) + (setting.empty() ? "" : " (kernel.io_uring_disabled=" + setting + ")"),
       error == ENOSYS
           ? ""
           : "sysctl kernel.io_uring_disabled=0; containers: a seccomp profile that allows io_uring_setup"});
}

}  // namespace

void probe_sharing(Findings& findings) {
  probe_memfd(findings);
  probe_cma(findings);
  probe_huge_pages(findings);
  probe_io_uring(findings);
}

}  // namespace periapt::doctor
