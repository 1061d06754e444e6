// Runs a job of several processes from a test: what it printed on stderr, its status, and whether it left anything.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/fatal.h"
#include "machine/layer/machine_layer.h"

namespace periapt::test {

/// A layout with a thread for each PE, whatever the machine has, bound to nothing.
inline bootstrap::HostLayout layout(int pes, int processes) {
  bootstrap::LayoutRequest request;
  request.pes = pes;
  request.processes = processes;
  bootstrap::UsableCpus usable;
  for (int cpu = 0; cpu < pes; ++cpu) usable.cpus.push_back(cpu);
  auto layout = bootstrap::resolve_layout(request, usable);
  if (!layout) fatal(layout.message(), "a test");
  for (bootstrap::Carrier& carrier : layout->carriers) carrier.cpu = -1;
  return *layout;
}

/// Runs body(pe) on a thread for each PE of this process.
inline void run_pes(machine::MachineLayer& layer, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int pe = layer.first_pe(); pe < layer.first_pe() + layer.own_pes(); ++pe) threads.emplace_back(body, pe);
  for (std::thread& thread : threads) thread.join();
}

struct JobResult {
  int status = -1;  ///< exit status; 1000 + signal if it was killed
  std::string errors;
  double seconds = 0;
  bool left_behind = false;  ///< a process of the job was still there afterwards
};

using Body = std::function<int(machine::MachineLayer&)>;
/// Called in the test while the job runs, with the pid of the job's parent.
using Meanwhile = std::function<void(pid_t parent)>;

/// The job: its starting process is forked from the test, in a process group of its own; there main() runs, in each
/// process that it starts, and says with which status that one leaves.
inline JobResult run_job(const std::function<int()>& main, const Meanwhile& meanwhile = {}) {
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) return {};
  std::uint64_t begin = clock::now_ns();
  std::fflush(nullptr);
  pid_t job = ::fork();
  if (job == 0) {
    ::setpgid(0, 0);
    ::dup2(pipe_ends[1], STDERR_FILENO);
    const int code = main();
    std::fflush(stdout);
    std::_Exit(code);
  }
  ::setpgid(job, job);
  ::close(pipe_ends[1]);
  JobResult result;
  if (meanwhile) meanwhile(job);
  char text[4096];
  for (ssize_t n; (n = ::read(pipe_ends[0], text, sizeof(text))) > 0;)
    result.errors.append(text, static_cast<std::size_t>(n));
  ::close(pipe_ends[0]);
  int status = 0;
  ::waitpid(job, &status, 0);
  result.seconds = static_cast<double>(clock::now_ns() - begin) * 1e-9;
  result.status = WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
  // The pipe is closed only when the last process of the job is gone, so none can be left but a zombie of another
  // parent, which init collects in its own time.
  for (int i = 0; i < 200 && ::kill(-job, 0) == 0; ++i) ::usleep(10'000);
  result.left_behind = ::kill(-job, 0) == 0;
  return result;
}

/// Of a layout: each process runs body, and announces the end if that returns 0.
inline JobResult run_job(const bootstrap::HostLayout& layout, const Body& body, const Meanwhile& meanwhile = {}) {
  return run_job(
      [&] {
        auto layer = machine::MachineLayer::start(layout);
        if (!layer) fatal(layer.message(), "a test");
        const int code = body(**layer);
        // All have done their work before the first one leaves.
        if (code == 0) (*layer)->announce_exit(0);
        return code;
      },
      meanwhile);
}

/// As a command line says; the processes leave together.
inline JobResult run_job(std::vector<std::string> arguments, const Body& body) {
  return run_job([&] {
    std::vector<char*> argv{const_cast<char*>("test")};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    int argc = static_cast<int>(argv.size());
    argv.push_back(nullptr);
    auto layer = machine::MachineLayer::start(argc, argv.data());
    const int code = body(*layer);
    if (code == 0) {
      layer->announce_end();
      layer->leave(layer->first_pe());
    }
    return code;
  });
}

}  // namespace periapt::test
