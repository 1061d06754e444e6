// charmrun: reads the command line (command_line.cpp) and starts the run. On one host it becomes the program, which
// starts its own processes; over several it stays as the hub above the agents of the hosts (hub.h).
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/child_processes.h"
#include "base/output.h"
#include "machine/bootstrap/resized_start.h"
#include "tools/charmrun/command_line.h"
#include "tools/charmrun/hub.h"
#include "tools/charmrun/launch.h"
#include "tools/charmrun/slurm.h"

extern char** environ;

namespace {

using namespace periapt::charmrun;
using periapt::bootstrap::ResizedStart;

int fail(const std::string& what) {
  std::fprintf(stderr, "charmrun: error: %s\n", what.c_str());
  return 1;
}

void announce(const std::vector<std::string>& words) {
  std::printf("\nRunning command:");
  for (const std::string& word : words) std::printf(" %s", word.c_str());
  std::printf("\n\n");
  std::fflush(stdout);
}

// The same run with another number of PEs: charmrun starts itself again, with the words that it was started with.
int start_again(const std::string& start, char** argv) {
  ::setenv(ResizedStart::kVariable, start.c_str(), 1);
  ::execv("/proc/self/exe", argv);
  return fail("charmrun could not start itself again: " + std::string(std::strerror(errno)));
}

int run_over_hosts(Run& run, char** argv) {
  const ResizedStart* const resized = ResizedStart::current();
  if (resized != nullptr) {
    run.pes = std::to_string(resized->pes);
    run.pes_a_process = std::to_string(resized->pes_a_process);
    run.processes = run.hosts.per_host = "";
    run.quiet = true;
  }
  periapt::Result<std::vector<Host>> hosts =
      run.hosts.slurm ? hosts_of_allocation() : read_nodelist(run.hosts.nodelist, run.hosts.group);
  if (!hosts) return fail(hosts.message());
  char folder[PATH_MAX];
  if (::getcwd(folder, sizeof(folder)) == nullptr) return fail("there is no current folder");
  periapt::Result<RunPlan> plan = plan_run(run, std::move(*hosts), own_path(), folder);
  if (!plan) return fail(plan.message());
  plan->environment = environment_to_take(environ);
  if (resized != nullptr) plan->environment.push_back(std::string(ResizedStart::kVariable) + "=" + resized->text());
  if (!run.quiet) announce(run.argv);
  if (run.verbose)
    std::fprintf(stderr, "charmrun: %s, hosts as in %s\n", plan->describe.c_str(), plan->mapping.c_str());
  const RunEnd end = run_root(*plan, run.time_limit.empty() ? 0 : std::stoi(run.time_limit));
  return end.next_start.empty() ? end.status : start_again(end.next_start, argv);
}

int become(std::vector<std::string> words) {
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  ::execvp(raw[0], raw.data());
  int error = errno;
  std::fprintf(stderr, "charmrun: error: cannot start %s: %s\n", raw[0], std::strerror(error));
  if (error == ENOENT) std::fprintf(stderr, "      is it built, and are you in its folder?\n");
  return error == ENOENT ? 127 : 126;
}

}  // namespace

int main(int argc, char** argv) {
  periapt::output::keep_standard_files();
  periapt::keep_ended_children();
  if (argc == 2 && std::strcmp(argv[1], "++agent") == 0) return run_agent();
  Run run = parseCommandLine({argv + 1, argv + argc});
  if (!run.error.empty()) return fail(run.error);
  if (run.help) return std::fputs(helpText().c_str(), stdout), 0;
  if (run.version) return std::puts("charmrun (Periapt)"), 0;
  for (const std::string& note : run.notes) std::fprintf(stderr, "charmrun: %s\n", note.c_str());
  if (run.verbose) {
    for (const std::string& remark : run.remarks) std::fprintf(stderr, "charmrun: %s\n", remark.c_str());
  }
  if (run.hosts.wanted) return run_over_hosts(run, argv);
  if (const std::string idle = nodes_left_idle(); !idle.empty() && !run.hosts.one && !run.mpiexec)
    std::fprintf(stderr, "charmrun: %s\n", idle.c_str());
  std::vector<std::string> words = local_command(run);
  if (!run.quiet) announce(words);
  return become(std::move(words));
}
