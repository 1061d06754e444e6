// The one file pair that names all transports. A new one: its folder, a line in transports.cpp, one in
// machine/CMakeLists.txt (docs/transports.md).
#pragma once

#include <vector>

#include "machine/ucx-like/transport.h"

namespace periapt::machine {

/// Those of this build, in the order in which a tie between them is decided.
const std::vector<const ucx::TransportFactory*>& transports();

}  // namespace periapt::machine
