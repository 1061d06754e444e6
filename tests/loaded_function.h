// A function of a library that stands in for a real one in a test: what the test sets and sees of it. A name that is
// not there ends the test.
#pragma once

#include <dlfcn.h>

#include <string>

#include "base/fatal.h"

namespace periapt {

/// `what`: the library, in words.
template <class Function>
Function* loaded_function(const char* file, const char* name, const char* what) {
  void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);  // each time the same
  void* found = library == nullptr ? nullptr : ::dlsym(library, name);
  if (found == nullptr) fatal(std::string("the ") + what + " has no " + name, "a test");
  return reinterpret_cast<Function*>(found);
}

}  // namespace periapt
