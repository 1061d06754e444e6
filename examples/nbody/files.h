// Writing files whole.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace periapt::nbody {

/// Throws std::runtime_error that says what is wrong. What could not be written to its end is removed: a file with half
/// a picture or snapshot looks like one.
void writeWhole(const std::string& path, std::span<const std::byte> bytes);

}  // namespace periapt::nbody
