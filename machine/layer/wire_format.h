// What the runtime tells Net of what it sends to other hosts, so that Net can look at what comes from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace periapt::machine {

struct WireFormat {
  std::size_t block_min = 0;  ///< bytes that each block has, so that there is something for block_bytes to look at
  /// How long a block says that it is, counted from where it begins.
  std::size_t (*block_bytes)(const void* block) = nullptr;

  // What is wrong with what has come; nullptr: nothing. Not given: all is right.
  const char* (*wrong_block)(std::uint64_t meta, const void* block) = nullptr;  ///< its length is what it says
  const char* (*wrong_line)(std::uint64_t meta, std::span<const std::byte> body) = nullptr;
};

}  // namespace periapt::machine
