// Reading and writing Tipsy files.
#include "examples/nbody/tipsy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>

#include "examples/nbody/files.h"

namespace periapt::nbody {
namespace {

constexpr std::size_t header_size = 28, padded_header_size = 32;

/// Floats of one particle, and where in them things are; mass and position and velocity come first in all kinds.
struct Layout {
  Kind kind;
  const char* name;
  int floats, softening, potential;
};
constexpr Layout layouts[] = {
    {Kind::gas, "gas", 12, 9, 11}, {Kind::dark, "dark", 9, 7, 8}, {Kind::star, "star", 11, 9, 10}};

template <class T>
T swapped(T value) {
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  std::ranges::reverse(bytes);
  return std::bit_cast<T>(bytes);
}

template <class T>
T get(const std::byte* at, std::endian endian) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return endian == std::endian::native ? value : swapped(value);
}

template <class T>
void put(std::vector<std::byte>& to, T value, std::endian endian) {
  if (endian != std::endian::native) value = swapped(value);
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

std::vector<std::byte> readWhole(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  // What is no file may have no end. (A pipe is what a shell hands over as a file.)
  if (std::filesystem::is_other(status) && !std::filesystem::is_fifo(status))
    throw std::runtime_error(fmt::format("{}: it is a device or a socket, not a file", path));
  File file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  std::vector<std::byte> bytes;
  std::array<std::byte, 1 << 16> part;
  while (const std::size_t n = std::fread(part.data(), 1, part.size(), file.get())) {
    bytes.insert(bytes.end(), part.begin(), part.begin() + n);
  }
  if (std::ferror(file.get()))
    throw std::runtime_error(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  return bytes;
}

Particle particleAt(const std::byte* at, const Layout& layout, std::endian endian) {
  const auto value = [&](int index) { return get<float>(at + 4 * index, endian); };
  Particle p;
  p.kind = layout.kind;
  p.mass = value(0);
  for (int axis = 0; axis < 3; ++axis) p.position[axis] = value(1 + axis), p.velocity[axis] = value(4 + axis);
  p.softening = value(layout.softening);
  p.potential = value(layout.potential);
  return p;
}

/// Squares are formed in single precision, which ends at 3.4e38. (False for what is not a number, too.)
bool isUsable(double value) { return std::abs(value) <= 1e18; }

bool isSane(const Particle& p) {
  for (const Vec3& v : {p.position, p.velocity}) {
    if (!isUsable(v.x) || !isUsable(v.y) || !isUsable(v.z)) return false;
  }
  return isUsable(p.mass) && p.mass >= 0 && isUsable(p.softening) && p.softening >= 0;
}

}  // namespace

Snapshot readTipsy(const std::string& path) {
  const std::vector<std::byte> bytes = readWhole(path);
  const auto fail = [&](const std::string& what) { throw std::runtime_error(fmt::format("{}: {}", path, what)); };
  if (bytes.size() < header_size) {
    fail(fmt::format("not a Tipsy file: the header takes {} bytes, the file has {}", header_size, bytes.size()));
  }
  std::endian endian = std::endian::big;
  if (get<std::int32_t>(&bytes[12], endian) != 3) endian = std::endian::little;
  if (get<std::int32_t>(&bytes[12], endian) != 3) {
    fail(fmt::format(
        "not a Tipsy file: the number of dimensions, at byte 12, is 3 in neither byte order (it is {:#010x})",
        get<std::uint32_t>(&bytes[12], std::endian::big)));
  }
  std::int64_t counts[3], total = 0, size = 0;
  for (int kind = 0; kind < 3; ++kind) {
    counts[kind] = get<std::int32_t>(&bytes[16 + 4 * kind], endian);
    if (counts[kind] < 0) {
      fail(fmt::format("the header, at byte {}, tells {} {} particles", 16 + 4 * kind, counts[kind],
                       layouts[kind].name));
    }
    total += counts[kind];
    size += counts[kind] * layouts[kind].floats * 4;
  }
  const std::int64_t told = get<std::int32_t>(&bytes[8], endian);
  if (told != total) {
    fail(fmt::format("the header tells {} particles, but {} gas + {} dark + {} star make {}", told, counts[0],
                     counts[1], counts[2], total));
  }
  const std::int64_t found = std::int64_t(bytes.size());
  if (found != size + std::int64_t(padded_header_size) && found != size + std::int64_t(header_size)) {
    fail(fmt::format("{}: {} gas, {} dark and {} star particles take {} bytes with the header, the file has {}",
                     found < size + std::int64_t(header_size) ? "truncated" : "malformed", counts[0], counts[1],
                     counts[2], size + padded_header_size, found));
  }

  Snapshot snapshot;
  snapshot.time = get<double>(&bytes[0], endian);
  if (!std::isfinite(snapshot.time)) fail("the time in the header, at byte 0, is not a number");
  snapshot.particles.reserve(total);
  const std::byte* at = bytes.data() + (found - size);
  for (int kind = 0; kind < 3; ++kind) {
    for (std::int64_t i = 0; i < counts[kind]; ++i, at += 4 * layouts[kind].floats) {
      Particle p = particleAt(at, layouts[kind], endian);
      if (!isSane(p)) {
        fail(fmt::format(
            "{} particle {}, at byte {}, has a mass, place, velocity or softening that is no usable number: none, "
            "negative, or larger than 1e18",
            layouts[kind].name, i, at - bytes.data()));
      }
      p.order = std::uint32_t(snapshot.particles.size());
      snapshot.particles.push_back(p);
    }
  }
  return snapshot;
}

void writeTipsy(const std::string& path, const Snapshot& snapshot, std::endian endian) {
  std::vector<const Particle*> sorted;
  for (const Particle& p : snapshot.particles) sorted.push_back(&p);
  std::ranges::sort(sorted, {}, [](const Particle* p) { return p->order; });

  std::vector<std::byte> bytes;
  bytes.reserve(padded_header_size + 48 * sorted.size());
  put(bytes, snapshot.time, endian);
  put(bytes, std::int32_t(sorted.size()), endian);
  put(bytes, std::int32_t(3), endian);
  for (const Layout& layout : layouts) {
    put(bytes, std::int32_t(std::ranges::count(sorted, layout.kind, [](const Particle* p) { return p->kind; })),
        endian);
  }
  put(bytes, std::int32_t(0), endian);
  for (const Layout& layout : layouts) {
    for (const Particle* p : sorted) {
      if (p->kind != layout.kind) continue;
      std::array<float, 12> values{};
      values[0] = p->mass;
      for (int axis = 0; axis < 3; ++axis) {
        values[1 + axis] = float(p->position[axis]), values[4 + axis] = float(p->velocity[axis]);
      }
      values[layout.softening] = p->softening;
      values[layout.potential] = float(p->potential);
      for (int i = 0; i < layout.floats; ++i) put(bytes, values[i], endian);
    }
  }

  writeWhole(path, bytes);
}

}  // namespace periapt::nbody
