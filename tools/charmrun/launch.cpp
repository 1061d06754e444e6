#include "tools/charmrun/launch.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <string_view>

#include "base/secret.h"
#include "machine/bootstrap/watchdog.h"
#include "tools/charmrun/remote_shell.h"

namespace periapt::charmrun {
namespace {

constexpr std::size_t kFanOut = 8;  // of a tree of starts
constexpr std::size_t kSecretBytes = 32;

long number(const std::string& text, long fallback) { return text.empty() ? fallback : std::stol(text); }

std::string fixed(std::string path, const Host& host) {
  for (const auto& [from, to] : host.pathfixes) {
    if (path.rfind(from, 0) == 0) return to + path.substr(from.size());
  }
  return path;
}

bool is_this_host(const std::string& name) {
  char own[HOST_NAME_MAX + 1] = {};
  ::gethostname(own, sizeof(own) - 1);
  return name == "localhost" || name == "127.0.0.1" || name == "::1" || name == own;
}

// Heads of groups start the rest of their group.
std::vector<HostPlan> tree_of(std::vector<HostPlan> hosts) {
  if (hosts.size() <= kFanOut) return hosts;
  std::vector<HostPlan> heads;
  for (std::size_t group = 0; group < kFanOut; ++group) {
    std::size_t begin = hosts.size() * group / kFanOut, end = hosts.size() * (group + 1) / kFanOut;
    heads.push_back(hosts[begin]);
    heads.back().below =
        tree_of({hosts.begin() + static_cast<long>(begin) + 1, hosts.begin() + static_cast<long>(end)});
  }
  return heads;
}

struct Counts {
  long processes, pes_a_process;
};
Result<Counts> count_processes(const Run& run, long hosts) {
  long pes = number(run.pes, 0), each = number(run.pes_a_process, 0), processes = number(run.processes, 0);
  long per_host = number(run.hosts.per_host, 0);
  if (processes == 0 && per_host > 0) processes = per_host * hosts;
  if (processes == 0 && pes > 0 && each > 0 && pes % each == 0) processes = pes / each;
  if (processes == 0) processes = pes > 0 && each == 0 ? std::min(pes, hosts) : hosts;
  if (per_host > 0 && processes > per_host * hosts) {
    return Status::failure("++n " + std::to_string(processes) + " processes do not fit on " + std::to_string(hosts) +
                           " hosts with ++processPerHost " + std::to_string(per_host));
  }
  if (pes > 0 && each > 0 && processes * each != pes) {
    return Status::failure("+p" + std::to_string(pes) + " PEs are not " + std::to_string(processes) +
                           " processes of ++ppn " + std::to_string(each) + "\n      leave one of them out");
  }
  if (pes > 0 && pes % processes != 0) {
    return Status::failure("+p" + std::to_string(pes) + " PEs cannot be shared evenly by " + std::to_string(processes) +
                           " processes\n      use +p" + std::to_string((pes / processes + 1) * processes) +
                           ", or ++n or ++ppn with another number of processes");
  }
  return Counts{processes, each > 0 ? each : pes > 0 ? pes / processes : 1};
}

int seconds_from(const char* name, int fallback) {
  const char* text = std::getenv(name);
  long seconds = text ? std::strtol(text, nullptr, 10) : 0;
  return seconds > 0 && seconds < 1 << 24 ? static_cast<int>(seconds) : fallback;
}

std::string absolute(const std::string& path, const std::string& folder) {
  char resolved[PATH_MAX];
  if (::realpath(path.c_str(), resolved) != nullptr) return resolved;
  return path[0] == '/' ? path : folder + "/" + path;  // perhaps it is only over there
}

}  // namespace

std::string mapping_of(const std::vector<int>& ranks_of_hosts) {
  std::string text = "(vector";
  for (std::size_t i = 0; i < ranks_of_hosts.size();) {
    std::size_t end = i;  // equal blocks are one entry
    while (end < ranks_of_hosts.size() && ranks_of_hosts[end] == ranks_of_hosts[i]) ++end;
    text += ",(" + std::to_string(i) + "," + std::to_string(end - i) + "," + std::to_string(ranks_of_hosts[i]) + ")";
    i = end;
  }
  return text + ")";
}

std::vector<std::string> environment_to_take(char** environment) {
  constexpr std::string_view kStays[] = {"SSH_",
                                         "HOSTNAME=",
                                         "HOME=",
                                         "USER=",
                                         "LOGNAME=",
                                         "SHELL=",
                                         "PWD=",
                                         "OLDPWD=",
                                         "TMPDIR=",
                                         "XDG_",
                                         "DBUS_",
                                         "SHLVL=",
                                         "TERM=",
                                         "MAIL=",
                                         "PMI_",
                                         "PMIX_",
                                         "DISPLAY=",
                                         "WINDOWID=",
                                         "OMPI_",
                                         "PRTE_",
                                         "HYDI_",
                                         "MPI_LOCAL",
                                         "_=",
                                         "PERIAPT_WORLD_FD=",
                                         "PERIAPT_PLACE_TAKEN=",
                                         "SLURM_STEP",
                                         "SLURM_PROCID=",
                                         "SLURM_LOCALID="};
  std::vector<std::string> taken;
  for (char** at = environment; *at != nullptr; ++at) {
    std::string_view variable = *at;
    bool stays =
        std::any_of(std::begin(kStays), std::end(kStays), [&](auto name) { return variable.rfind(name, 0) == 0; });
    if (!stays) taken.emplace_back(variable);
  }
  return taken;
}

std::vector<std::string> local_command(const Run& run) {
  std::vector<std::string> words = run.argv;
  if (!run.runscript.empty()) words.insert(words.begin(), run.runscript);
  if (run.mpiexec) {
    std::vector<std::string> command = split_command(run.hosts.shell.empty() ? "mpiexec" : run.hosts.shell);
    long each = number(run.pes_a_process, 1);
    long processes = number(run.processes, std::max(number(run.pes, each) / each, 1L));
    if (!run.mpiexec_no_n) command.insert(command.end(), {"-n", std::to_string(processes)});
    words.insert(words.begin(), command.begin(), command.end());
  }
  if (!run.time_limit.empty()) words.insert(words.begin(), {"timeout", run.time_limit});
  return words;
}

Result<RunPlan> plan_run(Run& run, std::vector<Host> hosts, const std::string& own, const std::string& folder) {
  long most = number(run.hosts.hosts_at_most, static_cast<long>(hosts.size()));
  if (most > static_cast<long>(hosts.size())) {
    return Status::failure("++numHosts " + std::to_string(most) + ", but group " + run.hosts.group +
                           " of the nodelist has only " + std::to_string(hosts.size()));
  }
  hosts.resize(static_cast<std::size_t>(most));
  Result<Counts> counts = count_processes(run, most);
  if (!counts) return counts.status();
  add_layout(run, counts->processes * counts->pes_a_process, counts->pes_a_process);

  RunPlan plan;
  plan.size = static_cast<int>(counts->processes);
  plan.pes_a_process = static_cast<int>(counts->pes_a_process);
  plan.arguments.assign(run.argv.begin() + 1, run.argv.end());
  plan.runscript = run.runscript.empty() ? "" : absolute(run.runscript, folder);
  plan.job = "charmrun-" + std::to_string(::getpid()) + "-" + std::to_string(::time(nullptr));
  plan.secret = random_bytes(kSecretBytes);
  plan.timeout_seconds = static_cast<int>(number(run.hosts.timeout, 60));
  plan.shells_at_once = static_cast<int>(number(run.hosts.at_once, 64));
  plan.silence_seconds = seconds_from("PERIAPT_HOST_SILENCE", plan.silence_seconds);
  plan.watchdog_seconds = bootstrap::startup_watchdog_seconds();
  plan.verbose = run.verbose;
  plan.here.name = "this host";

  std::string shell = default_shell(run.hosts.shell);
  bool named_shell = !run.hosts.shell.empty() || std::getenv("CONV_RSH") != nullptr;
  std::string program = absolute(run.argv[0], folder);
  std::vector<int> shares = share_processes(hosts, plan.size), used;
  std::vector<HostPlan> plans;
  int first = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (shares[i] == 0) continue;
    const Host& host = hosts[i];
    HostPlan& there = plans.emplace_back();
    there.name = host.name;
    there.index = static_cast<int>(used.size());
    there.first_rank = first;
    there.ranks = shares[i];
    there.agent = fixed(own, host);
    there.program = fixed(program, host) + host.ext;
    there.folder = fixed(folder, host);
    there.setup = host.setup;
    bool direct =
        is_this_host(host.name) && !named_shell && host.shell.empty() && host.setup.empty() && host.login.empty();
    if (!direct) there.shell = shell_words(host, shell, plan.timeout_seconds);
    first += shares[i];
    used.push_back(shares[i]);
  }
  plan.mapping = mapping_of(used);
  plan.describe =
      "charmrun (job " + plan.job + ", " + std::to_string(used.size()) + (used.size() == 1 ? " host)" : " hosts)");
  plan.here.below = run.hosts.tree ? tree_of(std::move(plans)) : std::move(plans);
  return plan;
}

}  // namespace periapt::charmrun
