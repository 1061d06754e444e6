#include "tools/charmc/layout.h"

#include <unistd.h>

#include <sstream>
#include <system_error>

#include "include/charm-version.h"
#include "tools/charmc/files.h"

namespace periapt::charmc {
namespace fs = std::filesystem;
namespace {

/// The compiler this was built with, or the system's when that is no longer there.
std::string compiler(const char* built, const char* otherwise) {
  return ::access(built, X_OK) == 0 ? built : otherwise;
}

void readConfiguration(const fs::path& file, Layout& layout) {
  std::string text;
  if (!readFile(file, text)) return;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (line.empty() || line[0] == '#' || equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals);
    const std::string value = line.substr(equals + 1);
    if (value.empty()) continue;
    if (key == "cxx") layout.cxx = value;
    if (key == "cc") layout.cc = value;
    if (key == "include") layout.includes.push_back(value);
    if (key == "lib") layout.libraries.push_back(value);
    if (key == "link")
      for (std::string& flag : splitCommandLine(value)) layout.linkFlags.push_back(std::move(flag));
  }
}

}  // namespace

Layout findLayout() {
  Layout layout;
  std::error_code error;
  layout.bin = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path prefix = layout.bin.parent_path();
  layout.includes = {(prefix / "include").string(), (prefix / "include/periapt").string()};
  layout.libraries = {(prefix / "lib").string()};
  layout.cxx = compiler(PERIAPT_CXX, "c++");
  layout.cc = compiler(PERIAPT_CC, "cc");
  const std::string known = layout.cxx;
  readConfiguration(layout.bin / "charmc.conf", layout);
  if (layout.cxx == known && known == PERIAPT_CXX) layout.cxxIsGnu = PERIAPT_CXX_IS_GNU ? Gnu::yes : Gnu::no;
  return layout;
}

std::string charmVersionText() {
  return "Charm++ Version " + std::to_string(CHARM_VERSION) + " (Periapt " PERIAPT_VERSION ")";
}

std::string versionText() { return "charmc (Periapt) " PERIAPT_VERSION; }

}  // namespace periapt::charmc
