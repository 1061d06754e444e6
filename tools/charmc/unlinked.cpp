#include "tools/charmc/unlinked.h"

#include <filesystem>
#include <set>
#include <sstream>
#include <system_error>

#include "tools/charmc/process.h"

namespace periapt::charmc {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t looked_at_most = 500;  // files

bool isObject(const fs::path& file) { return file.extension() == ".o" || file.extension() == ".a"; }

std::string wholeName(const fs::path& file) {
  std::error_code error;
  return fs::weakly_canonical(file, error).string();
}

/// Those of the folders that are not on the line.
std::vector<std::string> objectsBeside(const std::vector<std::string>& line) {
  std::set<fs::path> folders = {"."};
  std::set<std::string> linked;
  std::error_code error;
  for (const std::string& word : line) {
    if (!isObject(word) || !fs::is_regular_file(word, error)) continue;
    linked.insert(wholeName(word));
    const fs::path folder = fs::path(word).parent_path();
    if (!folder.empty() && folder.is_relative()) folders.insert(folder.lexically_normal());
  }
  std::vector<std::string> out;
  for (const fs::path& folder : folders)
    for (fs::directory_iterator file(folder, error), end; !error && file != end; file.increment(error))
      if (isObject(file->path()) && out.size() < looked_at_most && linked.count(wholeName(file->path())) == 0)
        out.push_back(file->path().lexically_normal().string());
  return out;
}

}  // namespace

/// A line of nm is `part.o:0000000000000010 T _registerpart()`; of an archive the member stands behind its name.
void UnlinkedObjects::look() {
  looked_ = true;
  const std::vector<std::string> objects = objectsBeside(line_);
  if (objects.empty()) return;
  std::vector<std::string> command = {"nm", "-A", "-C", "-g", "--defined-only"};
  command.insert(command.end(), objects.begin(), objects.end());
  std::string printed;
  runProcessQuietly(command, printed);  // what nm cannot read it says so of, and goes on
  std::istringstream in(printed);
  for (std::string line; std::getline(in, line);) {
    for (const std::string& file : objects) {
      if (line.compare(0, file.size() + 1, file + ":") != 0) continue;
      const std::size_t type = line.find(' ', file.size());
      if (type == std::string::npos || type + 3 >= line.size()) break;
      const auto [known, isNew] = files_.emplace(line.substr(type + 3), file);
      if (!isNew && known->second != file) known->second.clear();
      break;
    }
  }
}

std::string UnlinkedObjects::defining(const std::string& symbol) {
  if (!looked_) look();
  const auto found = files_.find(symbol);
  return found == files_.end() ? std::string() : found->second;
}

}  // namespace periapt::charmc
