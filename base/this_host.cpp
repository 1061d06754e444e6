#include "base/this_host.h"

#include <dirent.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>

namespace periapt {

std::string boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

// Asked for each mapping that a message names: the file is read once.
std::uint64_t boot_number() {
  static const std::uint64_t number = std::hash<std::string>{}(boot_id());
  return number;
}

std::uint64_t namespace_number(const char* kind) {
  struct stat status {};
  return ::stat((std::string("/proc/self/ns/") + kind).c_str(), &status) == 0 ? status.st_ino : 0;
}

bool kernel_lists_any(const char* folder) {
  DIR* entries = ::opendir(folder);
  if (entries == nullptr) return false;
  bool found = false;
  while (const dirent* entry = ::readdir(entries)) found = found || entry->d_name[0] != '.';
  ::closedir(entries);
  return found;
}

}  // namespace periapt
