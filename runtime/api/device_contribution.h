// A contribution to a reduction that lies in the memory of a GPU. C++17: reached from charm++.h.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/api/array_index.h"
#include "runtime/api/reducers.h"

class CkDeviceBuffer;

namespace periapt {

// The member that contributes: an allgather puts the parts into the order of their arrays and indices, and a sum adds
// those of a PE in it.
struct DeviceContributor {
  CkArrayIndexBase index = {};   // of a group's member its PE, of a node group's its process
  std::int32_t collection = 0;   // the array or group
  std::uint32_t in_section = 0;  // it contributes as a member of a section
  // The object whose entry runs, for contributions to a section, which name no member.
  static DeviceContributor running();
};

// What the reduction carries in its place (runtime/zero_copy/device_reduction.cpp): the number of the sum, on a PE, in
// whose memory the bytes are or will be.
struct DeviceContribution {
  DeviceContribution() = default;
  DeviceContribution(std::size_t bytes, const CkDeviceBuffer& buffer, CkReduction::reducerType type,
                     const DeviceContributor& by);
  // What combines such names; of what they name it is `type`.
  static CkReduction::reducerType reducer();

  std::uint64_t sum = 0;
  std::uint64_t bytes = 0;
  CkReduction::reducerType type = CkReduction::invalid;
  std::int32_t pe = -1;
  std::uint64_t on_gpu = 0;
  DeviceContributor by;
};

}  // namespace periapt
