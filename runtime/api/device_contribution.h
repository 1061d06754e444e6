// A contribution to a reduction that lies in the memory of a GPU. C++17: reached from charm++.h.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/api/reducers.h"

class CkDeviceBuffer;

namespace periapt {

// What the reduction carries in its place (runtime/zero_copy/device_reduction.cpp): the number of the sum, on a PE, in
// whose memory the bytes are or will be.
struct DeviceContribution {
  DeviceContribution() = default;
  DeviceContribution(std::size_t bytes, const CkDeviceBuffer& buffer, CkReduction::reducerType type);
  // What combines such names; of what they name it is `type`.
  static CkReduction::reducerType reducer();

  std::uint64_t sum = 0;
  std::uint64_t bytes = 0;
  CkReduction::reducerType type = CkReduction::invalid;
  std::int32_t pe = -1;
  std::uint64_t on_gpu = 0;
};

}  // namespace periapt
