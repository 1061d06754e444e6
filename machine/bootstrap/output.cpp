// Until what this process has printed is with its reader.
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

#include "machine/bootstrap/wire.h"

namespace periapt::bootstrap {
namespace {

bool is_read(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return true;
  int left = 0;
  if (S_ISFIFO(info.st_mode)) return ::ioctl(fd, FIONREAD, &left) != 0 || left == 0;
  if (S_ISSOCK(info.st_mode)) return ::ioctl(fd, SIOCOUTQ, &left) != 0 || left == 0;
  return true;  // a file, a terminal: no launcher has to pass it on
}

// Once read by the launcher, it has to be passed on, which can't be seen from here. hydra and Open MPI pass it on by
// the connection by which they are told to abort, in order; Slurm doesn't.
constexpr timespec kMoment{0, 20'000'000};
constexpr timespec kSlurmsMoment{0, 400'000'000};

}  // namespace

bool started_by_slurm() { return std::getenv("SLURM_STEP_ID") != nullptr && std::getenv("PRTE_LAUNCHED") == nullptr; }

void let_output_through() {
  constexpr timespec kPause{0, 1'000'000};
  constexpr int kLooks = 2000;
  for (int look = 0; look < kLooks && !(is_read(STDOUT_FILENO) && is_read(STDERR_FILENO)); ++look)
    ::nanosleep(&kPause, nullptr);
  ::nanosleep(started_by_slurm() ? &kSlurmsMoment : &kMoment, nullptr);
}

}  // namespace periapt::bootstrap
