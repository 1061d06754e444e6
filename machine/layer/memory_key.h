// MemoryKey: what others need in order to reach a piece of registered memory (one_sided.h). Plain bytes, which may
// travel in a message. C++17.
#pragma once

#include <cstddef>
#include <cstdint>

namespace periapt::machine {

struct MemoryKey {
  static constexpr std::size_t kNetBytes = 128;
  std::uint64_t id;  ///< 0: of no memory
  std::uint64_t address;
  std::uint64_t size;
  std::int32_t process;          ///< whose memory it is
  std::uint16_t net_bytes;       ///< 0: other hosts can't use it
  std::uint16_t kind;            ///< of the memory, a ucx::MemoryKind; 0: host memory
  unsigned char net[kNetBytes];  ///< the engine's part
  explicit operator bool() const { return id != 0; }
};

}  // namespace periapt::machine
