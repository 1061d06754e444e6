// charmrun: reads the command line (command_line.cpp) and starts the run. On one host it becomes the program, which
// starts its own processes; over several it stays as the hub above the agents of the hosts (hub.h).
#include <unistd.h>

#include <algorithm>
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
#include "tools/charmrun/recovery.h"
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

// The same run with other PEs or hosts: charmrun starts itself again, with the words that it was started with.
int start_again(const std::string& resized, const Recovery& recovery, char** argv) {
  if (!resized.empty()) ::setenv(ResizedStart::kVariable, resized.c_str(), 1);
  ::setenv(Recovery::kVariable, recovery.text().c_str(), 1);
  ::execv("/proc/self/exe", argv);
  return fail("charmrun could not start itself again: " + std::string(std::strerror(errno)));
}

// Slurm has ended the allocation, and the run has a whole checkpoint. True: it has been said.
bool slurm_has_ended_it(const Run& run, const std::string& folder) {
  if (!run.hosts.slurm || manifest_in(folder).empty()) return false;
  const std::string end = end_of_allocation();
  if (end.empty()) return false;
  std::fprintf(stderr,
               "charmrun: the run cannot go on (++recover): Slurm has ended the allocation (%s); one that a node is "
               "lost of stays if it was made with --no-kill\n      in another allocation +restart '%s' goes on from "
               "the checkpoint\n",
               end.c_str(), folder.c_str());
  return true;
}

// A run that has lost a host or a process: how it goes on.
int go_on_or_end(const Run& run, const RunPlan& plan, const RunEnd& end, const Recovery& before, int spare_hosts,
                 char** argv) {
  const std::string manifest = manifest_in(before.folder_after(end));
  const periapt::Result<Recovery> next = before.next(plan, end, manifest, spare_hosts);
  if (!run.hosts.recovers) {
    if (next)
      std::fprintf(
          stderr,
          "charmrun: the checkpoint in '%s' is whole: +restart '%s' goes on from it (with ++recover charmrun does "
          "that by itself)\n",
          next->folder.c_str(), next->folder.c_str());
    return end.status;
  }
  // First: it ends all hosts at once.
  if (slurm_has_ended_it(run, before.folder_after(end))) return end.status;
  if (!next) {
    const bool has_partitions = std::any_of(run.argv.begin(), run.argv.end(), [](const std::string& word) {
      return word.rfind("+partitions", 0) == 0 || word.rfind("+replicas", 0) == 0;
    });
    std::fprintf(
        stderr, "charmrun: the run cannot go on (++recover): %s%s\n", next.message().c_str(),
        has_partitions ? "; of partitions each has a checkpoint of its own, and only +restart goes on from them" : "");
    return end.status;
  }
  std::string lost;
  for (const std::string& name : next->lost) lost += (lost.empty() ? " without " : ", ") + name;
  std::fprintf(stderr, "charmrun: the run goes on from the checkpoint in '%s'%s, with %d PEs\n", next->folder.c_str(),
               lost.c_str(), next->pes);
  return start_again("", *next, argv);
}

int run_over_hosts(Run& run, char** argv) {
  const ResizedStart* const resized = ResizedStart::current();
  periapt::Result<Recovery> known = Recovery::current();
  if (!known) return fail(known.message());
  Recovery& recovery = *known;
  if (recovery.pes > 0) {
    run.pes = std::to_string(recovery.pes);
    run.pes_a_process = std::to_string(recovery.pes_a_process);
    run.processes = run.hosts.per_host = "";
    run.quiet = true;
    restart_from(run.argv, recovery.folder);
  } else if (recovery.folder.empty()) {
    recovery.folder = restarts_from(run.argv);
  }
  if (resized != nullptr) {
    run.pes = std::to_string(resized->pes);
    run.pes_a_process = std::to_string(resized->pes_a_process);
    run.processes = run.hosts.per_host = "";
    run.quiet = true;
  }
  periapt::Result<std::vector<Host>> hosts =
      run.hosts.slurm ? hosts_of_allocation() : read_nodelist(run.hosts.nodelist, run.hosts.group);
  if (!hosts) return fail(hosts.message());
  *hosts = without(std::move(*hosts), recovery.lost);
  const int hosts_left = static_cast<int>(hosts->size());
  if (!recovery.lost.empty() && !run.hosts.hosts_at_most.empty())
    run.hosts.hosts_at_most = std::to_string(std::min(std::stoi(run.hosts.hosts_at_most), hosts_left));
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
  if (!end.next_start.empty()) {
    Recovery resized = recovery;  // it has a number of PEs of its own, and a checkpoint that does not stay
    resized.pes = 0;
    resized.folder = recovery.folder_after(end);
    return start_again(end.next_start, resized, argv);
  }
  // Slurm may have needed longer to miss the node than charmrun to start again.
  if (end.status != 0 && recovery.pes > 0 && slurm_has_ended_it(run, recovery.folder_after(end))) return end.status;
  if (!end.broken) return end.status;
  return go_on_or_end(run, *plan, end, recovery, hosts_left - plan->here.all_hosts() + 1, argv);
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
  if (run.hosts.recovers)
    std::fprintf(stderr, "charmrun: ++recover is for runs over hosts (++nodelist, ++slurm) and does nothing here\n");
  std::vector<std::string> words = local_command(run);
  if (!run.quiet) announce(words);
  return become(std::move(words));
}
