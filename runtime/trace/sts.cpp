#include "runtime/trace/sts.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <iterator>

#include "base/error_text.h"
#include "runtime/converse/tracer.h"
#include "runtime/registry/registry.h"

namespace periapt::trace {
namespace {

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::string user_name() {
  const passwd* user = ::getpwuid(::getuid());
  return user != nullptr ? user->pw_name : "";
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32] = {};
  std::strftime(text, sizeof text, "%FT%TZ", &parts);
  return text;
}

// "work(int n)" of "void work(int n)", as Charm++ has it.
std::string without_result(const std::string& entry) {
  const std::size_t space = entry.rfind(' ', entry.find('('));
  return space == std::string::npos || entry.find('(') == std::string::npos ? entry : entry.substr(space + 1);
}

}  // namespace

std::string sts_text(const Run& run) {
  std::string text;
  const auto out = std::back_inserter(text);
  const auto events = user_event_names(), stats = user_stat_names();
  const Registry& all = registry();
  fmt::format_to(out, "PROJECTIONS_ID \nVERSION 11.0\nTOTAL_PHASES 1\nMACHINE \"periapt\"\n");
  fmt::format_to(out, "PROCESSORS {}\nSMPMODE {} {}\n", run.pes, run.pes_a_process, run.processes);
  fmt::format_to(out, "USERNAME \"{}\"\nHOSTNAME \"{}\"\nCOMMANDLINE \"{}\"\nTIMESTAMP {}\nCHARMVERSION 80000\n",
                 user_name(), host_name(), run.command, now_text());
  fmt::format_to(out, "TOTAL_CHARES {}\nTOTAL_EPS {}\nTOTAL_MSGS {}\nTOTAL_PSEUDOS 0\nTOTAL_EVENTS {}\n",
                 all.chares.size(), all.entries.size(), all.messages.size(), events.size());
  for (std::size_t i = 0; i < all.chares.size(); ++i) {
    const ChareInfo& chare = all.chares[i];
    const int dimensions = chare.type == TypeArray ? std::max(1, chare.dimensions) : -1;
    fmt::format_to(out, "CHARE {} \"{}\" {}\n", i, chare.name, dimensions);
  }
  for (std::size_t i = 0; i < all.entries.size(); ++i) {
    const EntryInfo& entry = all.entries[i];
    fmt::format_to(out, "ENTRY CHARE {} \"{}\" {} {}\n", i, without_result(entry.name), entry.chare, entry.message);
  }
  for (std::size_t i = 0; i < all.messages.size(); ++i) fmt::format_to(out, "MESSAGE {} {}\n", i, all.messages[i].size);
  fmt::format_to(out, "TOTAL_STATS {}\n", stats.size());
  for (const auto& [number, name] : events) fmt::format_to(out, "EVENT {} {}\n", number, name);
  for (const auto& [number, name] : stats) fmt::format_to(out, "STAT {} {}\n", number, name);
  return text + "END\n";
}

Status write_sts(const std::string& path, const Run& run) {
  const std::string text = sts_text(run);
  std::FILE* const file = std::fopen(path.c_str(), "w");
  bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) written = std::fclose(file) == 0 && written;
  return written ? Status() : Status::failure("cannot write " + path + ": " + error_text());
}

}  // namespace periapt::trace
