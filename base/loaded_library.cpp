#include "base/loaded_library.h"

#include <dlfcn.h>

#include <cstdlib>

namespace periapt {

LoadedLibrary::LoadedLibrary(const std::vector<std::string>& files, Names names) {
  for (const std::string& file : files) {
    if (file.empty()) continue;
    handle_ = ::dlopen(file.c_str(), RTLD_NOW | (names == Names::own ? RTLD_LOCAL : RTLD_GLOBAL));
    if (handle_ != nullptr) {
      path = file;
      fault.clear();
      return;
    }
    fault += (fault.empty() ? "" : "; ") + std::string(::dlerror());
  }
}

std::string LoadedLibrary::unusable() const {
  if (handle_ == nullptr) return "its library can't be loaded: " + fault;
  return missing.empty() ? "" : path + " lacks" + missing;
}

void* LoadedLibrary::symbol(const char* name) const { return handle_ == nullptr ? nullptr : ::dlsym(handle_, name); }

std::string file_named_by(const char* variable, const char* file) {
  const char* named = std::getenv(variable);
  return named != nullptr && *named != '\0' ? named : file;
}

}  // namespace periapt
