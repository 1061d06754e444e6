#include "machine/bootstrap/resized_start.h"

#include <cstdlib>
#include <sstream>

namespace periapt::bootstrap {

// The folder comes last: its name may have anything in it.
std::string ResizedStart::text() const {
  std::ostringstream out;
  out << pes << ' ' << pes_a_process << ' ' << server_port << ' ' << (server_token.empty() ? "-" : server_token) << ' '
      << folder;
  return out.str();
}

std::optional<ResizedStart> ResizedStart::parse(const std::string& text) {
  ResizedStart start;
  std::istringstream in(text);
  in >> start.pes >> start.pes_a_process >> start.server_port >> start.server_token;
  if (!in || start.pes < 1 || start.pes_a_process < 0) return std::nullopt;
  in.get();
  std::getline(in, start.folder, '\0');
  if (start.server_token == "-") start.server_token.clear();
  return start;
}

const ResizedStart* ResizedStart::current() {
  static const std::optional<ResizedStart> start = []() -> std::optional<ResizedStart> {
    const char* text = std::getenv(kVariable);
    if (text == nullptr) return std::nullopt;
    std::optional<ResizedStart> found = parse(text);
    ::unsetenv(kVariable);
    return found;
  }();
  return start ? &*start : nullptr;
}

}  // namespace periapt::bootstrap
