// Transports that are loaded at run time.
#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "base/loaded_library.h"
#include "machine/layer/transports.h"
#include "machine/ucx-like/plugin.h"

namespace periapt::machine {
namespace {

namespace fs = std::filesystem;
using Factories = std::vector<const ucx::TransportFactory*>;

Status failure(const std::string& file, const std::string& what) {
  return Status::failure("+transport-path: " + file + " " + what);
}

// A file as it is, a folder as the shared objects in it.
Result<std::vector<std::string>> files_of(const std::string& part) {
  std::error_code error;
  const fs::file_status status = fs::status(part, error);
  if (!fs::exists(status)) {
    return failure(
        part, "does not exist (" + error.message() + "). Give the path of a shared object, or of a folder of them");
  }
  if (!fs::is_directory(status)) return std::vector<std::string>{part};
  std::vector<std::string> files;
  fs::directory_iterator entries(part, error);
  if (error) return failure(part, "cannot be read: " + error.message());
  for (const fs::directory_entry& entry : entries) {
    if (entry.path().extension() == ".so") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) return failure(part, "holds no file whose name ends in .so");
  return files;
}

Result<const ucx::TransportFactory*> load(const std::string& file) {
  // Without a '/' the loader would look in its own folders.
  const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
  const LoadedLibrary library({path});
  if (!library.fault.empty()) {
    return failure(file, "cannot be loaded: " + library.fault +
                             ". A transport is linked with -shared, with all that it uses (docs/transports.md)");
  }
  const auto* plugin = library.find_if_there<const ucx::TransportPlugin>(ucx::kPluginSymbol);
  if (plugin == nullptr || plugin->magic != ucx::TransportPlugin::kMagic) {
    return failure(file, "is no transport: it has no symbol " + std::string(ucx::kPluginSymbol) +
                             ". Put PERIAPT_TRANSPORT_PLUGIN(factory) into its source");
  }
  if (plugin->contract != ucx::kContractVersion) {
    return failure(file, "was built for version " + std::to_string(plugin->contract) +
                             " of the contract of transports, and this program has version " +
                             std::to_string(ucx::kContractVersion) + ". Build it again with this program's Periapt");
  }
  if (plugin->sizes != ucx::TransportPlugin().sizes) {
    return failure(file, std::string("was built in another way than this program: with the compiler ") +
                             plugin->compiler + ", and this one with " + __VERSION__ +
                             ". Build both with the same compiler and the same options for its library");
  }
  return plugin->factory;
}

}  // namespace

Result<Factories> transports_with(const std::string& path) {
  Factories all = transports();
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, ':');) {
    if (part.empty()) continue;
    Result<std::vector<std::string>> files = files_of(part);
    if (!files) return files.status();
    for (const std::string& file : *files) {
      Result<const ucx::TransportFactory*> factory = load(file);
      if (!factory) return factory.status();
      const auto same_name = [&](const ucx::TransportFactory* other) {
        return std::string(other->name) == (*factory)->name && other != *factory;
      };
      if (std::any_of(all.begin(), all.end(), same_name)) {
        return failure(file, "is a transport with the name " + std::string((*factory)->name) +
                                 ", and there is one of that name already. Give it another one");
      }
      if (std::find(all.begin(), all.end(), *factory) == all.end()) all.push_back(*factory);
    }
  }
  return all;
}

}  // namespace periapt::machine
