// The handle (thishandle) of a member of a group or node group. In Charm++ it names the object itself, and programs
// give it to CkStartQD() and callbacks as that of a chare. Its number is the group's, with bit 62, which no chare has:
// in bits 40 to 61 stands a chare's maker (PeObjects::maker_of()).
#pragma once

#include "runtime/registry/ids.h"

namespace periapt {

constexpr std::uint64_t member_bit = std::uint64_t{1} << 62;

inline CkChareID member_handle(int pe, CkGroupID group) {
  CkChareID handle;
  handle.onPE = pe;
  handle.serial = member_bit | static_cast<std::uint32_t>(group.idx);
  return handle;
}
inline bool names_member(const CkChareID& handle) { return handle.serial & member_bit; }
inline CkGroupID group_of_member(const CkChareID& handle) {
  return CkGroupID{static_cast<int>(static_cast<std::uint32_t>(handle.serial))};
}

}  // namespace periapt
