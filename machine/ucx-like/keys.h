// Keys on the wire: which devices of a worker give access to a piece of its memory, and with which bytes.
//
// A list of entries: the device's number at its owner, its transport's name, the transport's own key. Read with all
// bounds checked; what does not fit a rail of ours is passed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace periapt::ucx {

struct DeviceKey {
  std::uint8_t port = 0;
  std::string transport;
  std::vector<std::byte> key;
};

/// The name under which the description of memory that is not the host's travels among the keys.
inline constexpr const char* kDeviceMemoryKey = "device-memory";

void write_keys(std::vector<std::byte>& to, const std::vector<DeviceKey>& entries);
/// Nothing when the bytes are no such list.
std::optional<std::vector<DeviceKey>> read_keys(std::span<const std::byte> bytes);
/// What is among them under kDeviceMemoryKey; empty: nothing.
std::vector<std::byte> device_memory_among(const std::vector<DeviceKey>& entries);

/// What Worker::pack_key() gives out: a name of the memory for emulated operations, its bounds, and the keys.
struct PackedKey {
  std::uint64_t memory = 0;
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  std::vector<DeviceKey> keys;
};
std::vector<std::byte> write_packed_key(const PackedKey& key);
std::optional<PackedKey> read_packed_key(std::span<const std::byte> bytes);

}  // namespace periapt::ucx
