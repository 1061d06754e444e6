// Messages of Converse packed into one block, each of which a receiver may free by itself. C++17: reached from
// pup_cmialloc.h.
//
//   PUP_cmiAllocSizer size; size.pupCmiAllocBuf(&message);
//   PUP_toCmiAllocMem to(block); to.pupCmiAllocBuf(&message);      // message: from CmiAlloc, or with its size
//   PUP_fromCmiAllocMem from(block); from.pupCmiAllocBuf(&other);  // CmiFree(other), by and by
//
// In Charm++ what comes out lies in the block, which lives until all of it is freed; here it is a block of its own.
#pragma once
#include <cstdint>

#include "runtime/converse/cmi.h"
#include "runtime/pup/pup.h"

#define ALIGN8_LONG(x) (intptr_t)((~7) & ((x) + 7))

namespace periapt {
// A message stands behind its size; both begin at multiples of 8.
inline void pup_message(PUP::er& p, void* bytes, std::size_t size) {
  char nothing[8] = {};
  p(nothing, ALIGN8(p.size()) - p.size());
  p(static_cast<char*>(bytes), size);
}
inline void pup_sized_message(PUP::er& p, void* bytes, std::size_t size) {
  pup_message(p, &size, sizeof size);
  pup_message(p, bytes, size);
}
}  // namespace periapt

class PUP_cmiAllocSizer : public PUP::sizer {
 public:
  void pupCmiAllocBuf(void** msg) { pupCmiAllocBuf(msg, static_cast<size_t>(CmiSize(*msg))); }
  void pupCmiAllocBuf(void** msg, size_t msg_size) { periapt::pup_sized_message(*this, *msg, msg_size); }
};

class PUP_toCmiAllocMem : public PUP::toMem {
 public:
  explicit PUP_toCmiAllocMem(size_t size) : PUP::toMem(CmiAlloc(static_cast<int>(size)), size) {}
  explicit PUP_toCmiAllocMem(void* buf) : PUP::toMem(buf) {}
  void pupCmiAllocBuf(void** msg) { pupCmiAllocBuf(msg, static_cast<size_t>(CmiSize(*msg))); }
  void pupCmiAllocBuf(void** msg, size_t msg_size) { periapt::pup_sized_message(*this, *msg, msg_size); }
};

class PUP_fromCmiAllocMem : public PUP::fromMem {
 public:
  explicit PUP_fromCmiAllocMem(const void* buf) : PUP::fromMem(buf) {}
  void pupCmiAllocBuf(void** msg) {
    std::size_t size = 0;
    periapt::pup_message(*this, &size, sizeof size);
    *msg = CmiAlloc(static_cast<int>(size));
    periapt::pup_message(*this, *msg, size);
  }
  void pupCmiAllocBuf(void** msg, size_t) { pupCmiAllocBuf(msg); }
};
