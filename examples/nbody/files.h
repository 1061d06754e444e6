// Writing files whole.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tools/png/png.h"

namespace periapt::nbody {

/// Throws std::runtime_error that says what is wrong. What could not be written to its end is removed: a file with half
/// a picture or snapshot looks like one.
void writeWhole(const std::string& path, std::span<const std::byte> bytes);
/// Throws as writeWhole() does.
void writePng(const std::string& path, const Image& image);

}  // namespace periapt::nbody
