#include "tools/charmrun/recovery.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace periapt::charmrun {
namespace {

using nlohmann::json;

void collect(const HostPlan& host, std::vector<const HostPlan*>& hosts) {
  for (const HostPlan& below : host.below) {
    hosts.push_back(&below);
    collect(below, hosts);
  }
}

}  // namespace

std::string Recovery::text() const {
  return json{{"folder", folder}, {"starts", starts}, {"pes", pes}, {"pes_a_process", pes_a_process}, {"lost", lost}}
      .dump(-1, ' ', true, json::error_handler_t::replace);
}

std::optional<Recovery> Recovery::parse(const std::string& text) {
  try {
    const json read = json::parse(text);
    return Recovery{read.at("folder"), read.at("starts"), read.at("pes"), read.at("pes_a_process"), read.at("lost")};
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

Recovery Recovery::current() {
  const char* const text = std::getenv(kVariable);
  std::optional<Recovery> found = text != nullptr ? parse(text) : std::nullopt;
  ::unsetenv(kVariable);
  return found.value_or(Recovery());
}

Result<Recovery> Recovery::next(const RunPlan& plan, const RunEnd& end, int spare_hosts) const {
  const std::string& checkpoint = end.checkpoint.empty() ? folder : end.checkpoint;
  if (checkpoint.empty()) return Status::failure("it has written no checkpoint to a disk (CkStartCheckpoint())");
  Recovery next = *this;
  next.folder = checkpoint;
  next.starts = end.checkpoint.empty() ? starts + 1 : 1;
  next.pes_a_process = plan.pes_a_process;
  if (next.starts > kStartsMost)
    return Status::failure("it has begun " + std::to_string(kStartsMost) + " times from the same checkpoint");
  std::vector<const HostPlan*> hosts;
  collect(plan.here, hosts);
  int processes = 0, lost_now = 0;
  for (const HostPlan* host : hosts) {
    if (std::count(end.lost_hosts.begin(), end.lost_hosts.end(), host->index) == 0) {
      processes += host->ranks;
    } else {
      next.lost.push_back(host->name);
      ++lost_now;
    }
  }
  if (spare_hosts >= lost_now) processes = plan.size;
  if (processes == 0) return Status::failure("no host is left");
  next.pes = processes * plan.pes_a_process;
  return next;
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
  if (old != words.end()) words.erase(old, std::min(old + 2, words.end()));
  words.insert(words.begin() + 1, {"+restart", folder});
}

}  // namespace periapt::charmrun
