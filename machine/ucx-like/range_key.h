// Keys of memory for devices that read and write it themselves: where it is, and the device's own key to it. And why a
// device could not register memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/ucx-like/transport.h"

namespace periapt::ucx {

/// A peer's memory, as RemoteKey::detail.
struct RangeKey {
  std::uint64_t address = 0, size = 0;
  std::uint64_t key = 0;  ///< the device's

  /// Is [remote, remote + bytes) all in it? What is not never reaches the device.
  bool holds(std::uint64_t remote, std::uint64_t bytes) const {
    const std::uint64_t offset = remote - address;
    return offset <= size && bytes <= size - offset;
  }
};

/// A key as it travels, with a check that catches what was cut or mangled on its way; the device checks the rest.
std::vector<std::byte> pack(const RangeKey& key);
/// `transport` is for the failure's sentence. RemoteKey::detail is then a RangeKey, until release().
Result<RemoteKey> unpack_range_key(const std::string& transport, std::span<const std::byte> packed);
void release(RemoteKey& key);

/// Why memory could not be registered, with the limit behind it and the command that lifts it.
std::string registration_fault(std::uint64_t bytes, int error);

}  // namespace periapt::ucx
