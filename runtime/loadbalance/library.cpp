// See library.h.
#include "runtime/loadbalance/library.h"

#include <dlfcn.h>

namespace periapt::loadbalance {

namespace {
void* open_one(const std::vector<const char*>& files, int flags) {
  for (const char* file : files)
    if (void* handle = ::dlopen(file, flags)) return handle;
  return nullptr;
}
}  // namespace

Library::Library(const std::vector<const char*>& files, const std::vector<const char*>& first) {
  if (!first.empty()) open_one(first, RTLD_NOW | RTLD_GLOBAL);
  handle_ = open_one(files, RTLD_NOW | RTLD_LOCAL);
  if (!handle_) missing_ = std::string(files.front()) + " is not on this machine";
}

void* Library::symbol_if_there(const char* name) const { return handle_ ? ::dlsym(handle_, name) : nullptr; }
void* Library::symbol(const char* name) {
  void* found = symbol_if_there(name);
  if (!found && missing_.empty()) missing_ = std::string("the library has no ") + name;
  return found;
}

}  // namespace periapt::loadbalance
