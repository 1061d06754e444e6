// The one file pair that names transports. A new one: its folder, a line in transports.cpp, one in
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

/// Do these names, as of +transports, name the transport whose place shared message memory takes on a host?
bool name_shared_memory(const std::string& names);

/// Do the options leave it to a try whether processes of one host may copy from each other by the kernel? Holds for
/// that transport, and for one-sided access between processes that share message memory.
bool wants_kernel_copies(const ucx::OptionText& option);

}  // namespace periapt::machine
