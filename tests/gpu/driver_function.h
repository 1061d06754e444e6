// A function of CUDA's driver by its name, for what a program does that the runtime has no call for.
#pragma once
#include <charm++.h>
#include <dlfcn.h>

#include <cstdlib>

/// Of the driver that the runtime uses: the fake one's where PERIAPT_LIBCUDA names that.
template <class Function>
Function* driver_function(const char* name) {
  const char* file = std::getenv("PERIAPT_LIBCUDA");
  void* const library = dlopen(file ? file : "libcuda.so.1", RTLD_NOW);
  void* const found = library ? dlsym(library, name) : nullptr;
  if (!found) CkAbort("no %s", name);
  return reinterpret_cast<Function*>(found);
}
