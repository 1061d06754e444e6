#include "tools/charmrun/recovery.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

namespace periapt::charmrun {
namespace {

void collect(const HostPlan& host, std::vector<const HostPlan*>& hosts) {
  for (const HostPlan& below : host.below) {
    hosts.push_back(&below);
    collect(below, hosts);
  }
}

}  // namespace

// The folder comes last: its name may have anything in it.
std::string Recovery::text() const {
  std::ostringstream out;
  out << pes << ' ' << pes_a_process << ' ' << starts << ' ' << (manifest.empty() ? "-" : manifest) << ' '
      << lost.size() << '\n';
  for (const std::string& name : lost) out << name << '\n';
  out << folder;
  return out.str();
}

std::optional<Recovery> Recovery::parse(const std::string& text) {
  Recovery read;
  std::istringstream in(text);
  std::size_t count = 0;
  in >> read.pes >> read.pes_a_process >> read.starts >> read.manifest >> count;
  if (!in || in.get() != '\n' || read.pes < 0 || read.pes_a_process < 0) return std::nullopt;
  if (read.manifest == "-") read.manifest.clear();
  for (std::string name; read.lost.size() < count; read.lost.push_back(name)) {
    if (!std::getline(in, name) || in.eof()) return std::nullopt;
  }
  std::getline(in, read.folder, '\0');
  return read;
}

Result<Recovery> Recovery::current() {
  const char* const text = std::getenv(kVariable);
  if (text == nullptr) return Recovery();
  std::optional<Recovery> found = parse(text);
  ::unsetenv(kVariable);
  if (!found)
    return Status::failure(std::string(kVariable) +
                           " in the environment is not what charmrun has written there: unset it");
  return *found;
}

Result<Recovery> Recovery::next(const RunPlan& plan, const RunEnd& end, const std::string& manifest,
                                int spare_hosts) const {
  if (folder_after(end).empty() || manifest.empty())
    return Status::failure("it has written no whole checkpoint to a disk (CkStartCheckpoint())");
  Recovery next = *this;
  next.folder = folder_after(end);
  next.manifest = manifest;
  next.starts = manifest == this->manifest ? starts + 1 : 1;
  next.pes_a_process = plan.pes_a_process;
  if (next.starts > kStartsMost)
    return Status::failure("it has begun " + std::to_string(kStartsMost) + " times from the same checkpoint");
  std::vector<const HostPlan*> hosts;
  collect(plan.here, hosts);
  int processes = 0;
  for (const HostPlan* host : hosts) {
    const bool is_lost = std::count(end.lost_hosts.begin(), end.lost_hosts.end(), host->index) != 0;
    if (is_lost) next.lost.push_back(host->name);
    if (!is_lost || spare_hosts-- > 0) processes += host->ranks;
  }
  if (processes == 0) return Status::failure("no host is left");
  next.pes = processes * plan.pes_a_process;
  return next;
}

// Its manifest is written last, and names the checkpoint by a number of its own.
std::string manifest_in(const std::string& folder) {
  std::ifstream file(folder + "/manifest", std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str().empty() ? "" : std::to_string(std::hash<std::string>()(bytes.str()));
}

std::vector<Host> without(std::vector<Host> hosts, const std::vector<std::string>& lost) {
  const auto is_lost = [&](const Host& host) { return std::count(lost.begin(), lost.end(), host.name) != 0; };
  hosts.erase(std::remove_if(hosts.begin(), hosts.end(), is_lost), hosts.end());
  return hosts;
}

std::string restarts_from(const std::vector<std::string>& words) {
  const auto found = std::find(words.begin(), words.end(), "+restart");
  return words.end() - found > 1 ? found[1] : "";
}

void restart_from(std::vector<std::string>& words, const std::string& folder) {
  const auto old = std::find(words.begin(), words.end(), "+restart");
  if (old != words.end()) words.erase(old, words.end() - old > 1 ? old + 2 : words.end());
  words.insert(words.begin() + 1, {"+restart", folder});
}

}  // namespace periapt::charmrun
