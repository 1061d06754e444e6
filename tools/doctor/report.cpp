// Findings as text for people and as JSON for programs.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/doctor/finding.h"

namespace periapt::doctor {

const char* name_of(Availability state) {
  switch (state) {
    case Availability::good:
      return "good";
    case Availability::absent:
      return "absent";
    case Availability::limited:
      return "limited";
    case Availability::broken:
      return "broken";
  }
  return "?";
}

// Further lines of a text stand under its first one.
static std::string indented(const std::string& text) {
  std::string lines;
  for (char c : text) {
    lines += c;
    if (c == '\n') lines.append(30, ' ');
  }
  return lines;
}

std::string as_text(const Findings& findings, bool all) {
  std::string text, area;
  int limited = 0, broken = 0;
  for (const Finding& finding : findings) {
    limited += finding.state == Availability::limited;
    broken += finding.state == Availability::broken;
    if (finding.area != area) {
      area = finding.area;
      text += fmt::format("\n{}\n", area);
    }
    text += fmt::format("  {:<8} {:<18} {}\n", finding.state == Availability::good ? "" : name_of(finding.state),
                        finding.name, indented(finding.text));
    bool show = !finding.remedy.empty() && (all || finding.state != Availability::absent);
    if (show) text += fmt::format("  {:<8} {:<18} -> {}\n", "", "", finding.remedy);
  }
  return text + fmt::format("\n{} broken, {} limited, of {} findings\n", broken, limited, findings.size());
}

std::string as_json(const Findings& findings) {
  nlohmann::json list = nlohmann::json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"area", finding.area},
                    {"name", finding.name},
                    {"state", name_of(finding.state)},
                    {"text", finding.text},
                    {"remedy", finding.remedy}});
  }
  nlohmann::json whole = {{"periapt-doctor", 1}, {"findings", list}};
  return whole.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string bytes_in_words(unsigned long long bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 5; ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, units[unit]);
}

}  // namespace periapt::doctor
