// A shared library that is loaded when a run asks for it, so that a binary runs where it is and where it is not.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <type_traits>

namespace periapt {

class LoadedLibrary {
 public:
  /// `variable` in the environment names another file than `name`. It stays loaded.
  LoadedLibrary(const char* variable, const char* name) {
    const char* named = std::getenv(variable);
    path = named != nullptr && *named != '\0' ? named : name;
    handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) fault = std::string("its library can't be loaded: ") + ::dlerror();
  }

  template <class Function>
  void find(Function*& function, const char* name) {
    function = handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(handle_, name));
    if (handle_ != nullptr && function == nullptr) missing += std::string(" ") + name;
  }

  std::string path;
  std::string fault;    ///< empty: it is loaded
  std::string missing;  ///< the names that it lacks, a blank before each

 private:
  void* handle_ = nullptr;
};

}  // namespace periapt
