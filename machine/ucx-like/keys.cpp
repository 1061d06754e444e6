#include "machine/ucx-like/keys.h"

#include <utility>

#include "machine/ucx-like/bytes.h"

namespace periapt::ucx {
namespace {

constexpr std::uint8_t kKeyVersion = 1;

void write(Writer& writer, const std::vector<DeviceKey>& entries) {
  writer.number(static_cast<std::uint8_t>(entries.size()));
  for (const DeviceKey& entry : entries) {
    writer.number(entry.port);
    writer.text(entry.transport);
    writer.text(entry.key);
  }
}

std::vector<DeviceKey> read(Reader& reader) {
  std::vector<DeviceKey> entries(reader.number<std::uint8_t>());
  for (DeviceKey& entry : entries) {
    entry.port = reader.number<std::uint8_t>();
    entry.transport = reader.text();
    entry.key = reader.bytes();
  }
  return entries;
}

}  // namespace

void write_keys(std::vector<std::byte>& to, const std::vector<DeviceKey>& entries) {
  Writer writer(std::move(to));
  write(writer, entries);
  to = writer.take();
}

std::optional<std::vector<DeviceKey>> read_keys(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  std::vector<DeviceKey> entries = read(reader);
  if (!reader.good() || !reader.at_end()) return {};
  return entries;
}

std::vector<std::byte> device_memory_among(const std::vector<DeviceKey>& entries) {
  for (const DeviceKey& entry : entries) {
    if (entry.transport == kDeviceMemoryKey) return entry.key;
  }
  return {};
}

std::vector<std::byte> write_packed_key(const PackedKey& key) {
  Writer writer;
  writer.number(kKeyVersion);
  writer.number(key.memory);
  writer.number(key.base);
  writer.number(key.size);
  write(writer, key.keys);
  return writer.take();
}

std::optional<PackedKey> read_packed_key(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  if (reader.number<std::uint8_t>() != kKeyVersion) return {};
  PackedKey key;
  key.memory = reader.number<std::uint64_t>();
  key.base = reader.number<std::uint64_t>();
  key.size = reader.number<std::uint64_t>();
  key.keys = read(reader);
  if (!reader.good() || !reader.at_end() || key.base + key.size < key.base) return {};
  return key;
}

}  // namespace periapt::ucx
