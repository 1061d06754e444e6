// libfabric, loaded when a run asks for it: a binary runs where it is and where it is not. Only its headers are needed
// to build. What is called on every message goes by the tables of the provider, not by these.
#pragma once
#include <rdma/fabric.h>

#include <cstdint>

#include "base/status.h"

namespace periapt::ofi {

struct Library {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_version) version = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
};

/// The version whose structures this was built with: an older library has smaller ones.
inline constexpr std::uint32_t kVersion = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);

/// Loaded once, which takes a tenth of a second. PERIAPT_LIBFABRIC in the environment names another file than
/// libfabric.so.1.
const Result<Library>& library();

/// Whether the kernel lists an adapter that libfabric may have a provider for: asked before the library is loaded,
/// since most hosts have none.
bool kernel_has_adapters();

}  // namespace periapt::ofi
