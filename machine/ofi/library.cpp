#include "machine/ofi/library.h"

#include <string>

#include "base/loaded_library.h"
#include "base/this_host.h"

namespace periapt::ofi {
namespace {

std::string in_words(std::uint32_t version) {
  return std::to_string(FI_MAJOR(version)) + "." + std::to_string(FI_MINOR(version));
}

Result<Library> load() {
  LoadedLibrary file({file_named_by("PERIAPT_LIBFABRIC", "libfabric.so.1")});
  if (!file.fault.empty()) return Status::failure(file.unusable());
  Library library;
  file.find(library.getinfo, "fi_getinfo");
  file.find(library.freeinfo, "fi_freeinfo");
  file.find(library.dupinfo, "fi_dupinfo");
  file.find(library.fabric, "fi_fabric");
  file.find(library.version, "fi_version");
  file.find(library.strerror, "fi_strerror");
  if (!file.missing.empty()) return Status::failure(file.path + " is no libfabric: it lacks" + file.missing);
  if (const std::uint32_t found = library.version(); FI_VERSION_LT(found, kVersion))
    return Status::failure(file.path + " is libfabric " + in_words(found) + ", and this program was built for " +
                           in_words(kVersion) + " or newer");
  return library;
}

}  // namespace

const Result<Library>& library() {
  static const Result<Library> loaded = load();
  return loaded;
}

// InfiniBand, RoCE, Omni-Path and EFA; Slingshot.
bool kernel_has_adapters() { return kernel_lists_any("/sys/class/infiniband") || kernel_lists_any("/sys/class/cxi"); }

}  // namespace periapt::ofi
