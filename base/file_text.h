// The text of a file that a person has named. The name may lead to anything: what has no end is not read to its end.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace periapt {

/// "it is a device, not a file": fails when there is something under that name that does not read like a file. Nothing
/// there is fine. What a shell hands over as a file may be a pipe: `pipes` says whether one is taken.
Status check_is_file(const std::string& path, bool pipes);

/// All of it. Fails, with the reason, when it cannot be read, or is longer than `most` bytes.
Result<std::string> read_file(const std::string& path, std::size_t most);

}  // namespace periapt
