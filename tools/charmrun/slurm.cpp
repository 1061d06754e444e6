#include "tools/charmrun/slurm.h"

#include <sys/wait.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>

#include "base/error_text.h"

namespace periapt::charmrun {
namespace {

constexpr int kMostNodes = 1 << 20;

Result<std::string> output_of(const std::string& command) {
  std::FILE* const out = ::popen(command.c_str(), "r");
  if (out == nullptr) return Status::failure("`" + command + "` cannot be started: " + error_text());
  std::string text;
  char bytes[4096];
  for (std::size_t n; (n = std::fread(bytes, 1, sizeof bytes, out)) > 0;) text.append(bytes, n);
  const int status = ::pclose(out);
  if (status != 0) return Status::failure("`" + command + "` left with status " + std::to_string(WEXITSTATUS(status)));
  return text;
}

// The names that a text like n[0-3,7] stands for. Slurm's own command knows all forms.
Result<std::vector<std::string>> expand(const std::string& list) {
  for (const char c : list)
    if (c == '\'' || c == '\\') return Status::failure("SLURM_JOB_NODELIST is no list of nodes: " + list);
  const Result<std::string> said = output_of("scontrol show hostnames '" + list + "'");
  if (!said) return Status::failure(said.message() + ", and charmrun learns the nodes of the allocation from it");
  std::vector<std::string> names;
  std::istringstream lines(*said);
  for (std::string name; lines >> name;) names.push_back(name);
  return names;
}

}  // namespace

std::vector<int> cpus_of_nodes(const std::string& text) {
  std::vector<int> cpus;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](int* to) {
    const auto [behind, error] = std::from_chars(at, end, *to);
    at = behind;
    return error == std::errc() && *to > 0 && *to <= kMostNodes;
  };
  while (at < end) {
    int each = 0, times = 1;
    if (!number(&each)) return {};
    if (at + 2 < end && at[0] == '(' && at[1] == 'x') {
      at += 2;
      if (!number(&times) || at == end || *at++ != ')') return {};
    }
    cpus.insert(cpus.end(), static_cast<std::size_t>(times), each);
    if (at < end && *at++ != ',') return {};
  }
  return cpus;
}

std::string nodes_left_idle() {
  const char* const nodes = std::getenv("SLURM_JOB_NUM_NODES");
  if (nodes == nullptr || std::atoi(nodes) < 2) return "";
  return "the allocation has " + std::string(nodes) +
         " nodes, and the run uses this one; ++slurm uses all, ++local says that one is meant";
}

Result<std::vector<Host>> hosts_of_allocation() {
  const char* const list = std::getenv("SLURM_JOB_NODELIST");
  if (list == nullptr || *list == '\0')
    return Status::failure(
        "++slurm: there is no allocation of Slurm's here (SLURM_JOB_NODELIST is not set)\n      run charmrun in salloc "
        "or in a script of sbatch, or name the hosts with ++nodelist");
  Result<std::vector<std::string>> names = expand(list);
  if (!names) return Status::failure("++slurm: " + names.message());
  const char* const text = std::getenv("SLURM_JOB_CPUS_PER_NODE");
  const std::vector<int> cpus = cpus_of_nodes(text != nullptr ? text : "");
  std::vector<Host> hosts;
  for (const std::string& name : *names) {
    Host& host = hosts.emplace_back();
    host.name = name;
    host.shell = "srun";
    if (cpus.size() == names->size()) host.cpus = cpus[hosts.size() - 1];
  }
  if (hosts.empty()) return Status::failure("++slurm: the allocation has no nodes");
  return hosts;
}

// What cannot be asked has not ended, as far as is known; nor has one in a state that it leaves again (RESIZING,
// SIGNALING).
std::string end_of_allocation() {
  const char* const job = std::getenv("SLURM_JOB_ID");
  if (job == nullptr || *job == '\0' || std::strspn(job, "0123456789") != std::strlen(job)) return "";
  const Result<std::string> said = output_of("squeue -h -t all -o %T -j " + std::string(job) + " 2>/dev/null");
  if (!said) return "";
  const std::string state = said->substr(0, said->find('\n'));
  for (const char* end : {"COMPLETING", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED",
                          "DEADLINE", "OUT_OF_MEMORY", "BOOT_FAIL", "REVOKED"})
    if (state == end) return state;
  return "";
}

}  // namespace periapt::charmrun
