#include "tools/charmrun/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

extern char** environ;

namespace periapt::charmrun {
namespace {

std::vector<char*> raw(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

struct Pipe {
  int end[2] = {-1, -1};
  bool make() { return ::pipe2(end, O_CLOEXEC) == 0; }
  void drop(int which) {
    if (end[which] >= 0) ::close(end[which]);
    end[which] = -1;
  }
  ~Pipe() { drop(0), drop(1); }
  int take(int which) {
    int fd = end[which];
    end[which] = -1;
    return fd;
  }
};

enum Stage : int { kFolder, kExec };

[[noreturn]] void become(const SpawnRequest& request, int in, int out, int err, int report, pid_t parent) {
  ::setsid();
  if (request.dies_with_us) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
  }
  int nothing = in >= 0 ? in : ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  if (err >= 0) ::dup2(err, STDERR_FILENO);
  for (int fd : request.keep_open) ::fcntl(fd, F_SETFD, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  int told[2] = {kFolder, 0};
  if (request.folder.empty() || ::chdir(request.folder.c_str()) == 0) {
    told[0] = kExec;
    std::vector<char*> words = raw(request.command), variables = raw(request.environment);
    if (!request.environment.empty()) environ = variables.data();
    ::execvp(words[0], words.data());
  }
  told[1] = errno;
  static_cast<void>(!::write(report, told, sizeof(told)));
  ::_exit(127);
}

}  // namespace

Result<Spawned> spawn(const SpawnRequest& request) {
  Pipe in, out, err, report;
  bool made =
      (!request.with_input || in.make()) && out.make() && (!request.errors_apart || err.make()) && report.make();
  if (!made) return Status::failure(std::string("no pipe for a process: ") + std::strerror(errno) + " (see ulimit -n)");
  pid_t parent = ::getpid();
  pid_t pid = ::fork();
  if (pid < 0)
    return Status::failure(std::string("no process could be made: ") + std::strerror(errno) + " (see ulimit -u)");
  if (pid == 0) become(request, in.end[0], out.end[1], err.end[1], report.end[1], parent);
  report.drop(1);
  int told[2];
  ssize_t n;
  do {
    n = ::read(report.end[0], told, sizeof(told));
  } while (n < 0 && errno == EINTR);
  if (n == sizeof(told)) {
    if (told[0] == kFolder) return Status::failure("no folder " + request.folder + ": " + std::strerror(told[1]));
    return Status::failure("cannot start " + request.command[0] + ": " + std::strerror(told[1]));
  }
  return Spawned{pid, in.take(1), out.take(0), err.take(0)};
}

}  // namespace periapt::charmrun
