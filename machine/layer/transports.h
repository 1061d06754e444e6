// The one file pair that names all transports. A new one: its folder, a line in transports.cpp, one in
// machine/CMakeLists.txt (docs/transports.md). plugins.cpp adds those that are loaded at run time.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "machine/ucx-like/transport.h"

namespace periapt::machine {

/// Those of this build, in the order in which a tie between them is decided.
const std::vector<const ucx::TransportFactory*>& transports();

/// Those of this build and then those of `path`: shared objects (machine/ucx-like/plugin.h) and folders of such, with a
/// ':' between them. Each is loaded once and stays. A failure says which file, what is wrong with it and what to do.
Result<std::vector<const ucx::TransportFactory*>> transports_with(const std::string& path);

}  // namespace periapt::machine
