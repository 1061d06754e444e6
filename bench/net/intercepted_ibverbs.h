// What a library is made of that is loaded before the system's libibverbs and replaces operations of its devices: it
// defines ibv_open_device(), which opens by this, and puts its own in the context's table.
#pragma once

#include <dlfcn.h>
#include <infiniband/verbs.h>

#undef ibv_open_device

namespace periapt::bench {

/// As the library does that comes next; null: it cannot, or there is none.
inline ibv_context* open_by_next(ibv_device* device) {
  static const auto open = reinterpret_cast<ibv_context* (*)(ibv_device*)>(::dlsym(RTLD_NEXT, "ibv_open_device"));
  return open == nullptr ? nullptr : open(device);
}

}  // namespace periapt::bench
