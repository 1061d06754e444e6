// See symbols.h.
#include "runtime/trace/symbols.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <iterator>
#include <string_view>

#include "runtime/converse/trace_names.h"
#include "runtime/registry/registry.h"
#include "runtime/scheduler/process.h"

namespace periapt::trace {
namespace {

std::string user() {
  const passwd* const found = ::getpwuid(::getuid());
  return found != nullptr ? found->pw_name : std::to_string(::getuid());
}
std::string host() {
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}
std::string now() {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%FT%TZ", &parts);
  return text;
}

// "work(int n)" of "void work(int n)", as Charm++ names entries.
std::string_view name_of(std::string_view entry) {
  const std::size_t blank = entry.substr(0, entry.find('(')).rfind(' ');
  return blank == std::string_view::npos || entry.find('(') == std::string_view::npos ? entry : entry.substr(blank + 1);
}

}  // namespace

std::string symbols(const Process& process, const std::string& command_line, bool events) {
  const Registry& all = registry();
  const auto names = events ? trace_event_names() : std::map<int, std::string>();
  const auto statistics = events ? trace_statistic_names() : std::map<int, std::string>();
  std::string text;
  const auto to = std::back_inserter(text);
  if (events) text += "PROJECTIONS_ID \nVERSION 11.0\nTOTAL_PHASES 1\n";
  fmt::format_to(to, "MACHINE \"{}\"\nPROCESSORS {}\n", "linux-x86_64", process.pes());
  if (process.count() > 1 || process.pes() > 1)
    fmt::format_to(to, "SMPMODE {} {}\n", process.own_pes(), process.count());
  fmt::format_to(to, "USERNAME \"{}\"\nHOSTNAME \"{}\"\nCOMMANDLINE \"{}\"\nTIMESTAMP {}\nCHARMVERSION {}\n", user(),
                 host(), command_line, now(), "v8.0.0-periapt");
  fmt::format_to(to, "TOTAL_CHARES {}\nTOTAL_EPS {}\nTOTAL_MSGS {}\nTOTAL_PSEUDOS 0\nTOTAL_EVENTS {}\n",
                 all.chares.size(), all.entries.size(), all.messages.size(), names.size());
  for (std::size_t i = 0; i < all.chares.size(); ++i) {
    const ChareInfo& chare = all.chares[i];
    const bool array = chare.type == TypeArray && chare.dimensions > 0;
    fmt::format_to(to, "CHARE {} \"{}\" {}\n", i, chare.name, array ? chare.dimensions : -1);
  }
  for (std::size_t i = 0; i < all.entries.size(); ++i) {
    const EntryInfo& entry = all.entries[i];
    fmt::format_to(to, "ENTRY CHARE {} \"{}\" {} {}\n", i, name_of(entry.name), entry.chare, entry.message);
  }
  for (std::size_t i = 0; i < all.messages.size(); ++i) fmt::format_to(to, "MESSAGE {} {}\n", i, all.messages[i].size);
  if (events) {
    fmt::format_to(to, "TOTAL_STATS {}\n", statistics.size());
    for (const auto& [number, name] : names) fmt::format_to(to, "EVENT {} {}\n", number, name);
    for (const auto& [number, name] : statistics) fmt::format_to(to, "STAT {} {}\n", number, name);
  }
  return text + "END\n";
}

}  // namespace periapt::trace
