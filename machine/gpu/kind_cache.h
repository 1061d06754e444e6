// What was learned of addresses, by range: of memory that is sent again and again the driver is asked one question.
//
// That question is the allocation's number: memory that was freed, and an address that came back with other memory,
// have another one. Nothing hooks the functions that allocate.
#pragma once

#include <cstdint>
#include <map>

#include "machine/gpu/imports.h"
#include "machine/gpu/vendor.h"

namespace periapt::gpu {

/// Used by one thread at a time.
class KindCache {
 public:
  /// `imports`: says of addresses that they are another process's memory.
  explicit KindCache(Driver& driver, const Imports* imports = nullptr) : driver_(driver), imports_(imports) {}

  Result<Memory> look(const void* address);

  std::size_t size() const { return ranges_.size(); }
  std::uint64_t hits = 0, misses = 0;

 private:
  static constexpr std::size_t kMost = 4096;  ///< ranges; beyond, all are forgotten: they are soon learned again

  void remember(const Memory& memory);

  Driver& driver_;
  const Imports* const imports_;
  std::map<std::uintptr_t, Memory> ranges_;  ///< by their begins; disjoint
};

}  // namespace periapt::gpu
