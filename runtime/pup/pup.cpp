// The parts of PUP::er, seekBlock and the memory streams that are not on a fast path.
#include <cstdlib>
#include <string>

#include "runtime/pup/er.h"
#include "runtime/pup/memory.h"
#include "runtime/pup/operators.h"

namespace PUP {

void er::comment(const char*) {}
void er::synchronize(unsigned int) {}
void er::impl_startSeek(seekBlock&) {}
std::size_t er::impl_tell(seekBlock&) { return 0; }
void er::impl_seek(seekBlock&, std::size_t) {}
void er::impl_endSeek(seekBlock&) {}

const char* er::typeString() const {
  return isSizing() ? "sizing" : isPacking() ? "packing" : isUnpacking() ? "unpacking" : "unknown";
}

void er::pup_buffer(void*& p, std::size_t n, std::size_t itemSize, dataType t) {
  pup_buffer(p, n, itemSize, t, std::malloc, std::free);
}

void er::pup_buffer(void*& p, std::size_t n, std::size_t itemSize, dataType t,
                    std::function<void*(std::size_t)> allocate, std::function<void(void*)> deallocate) {
  if (isUnpacking()) {
    if (n > remaining() / itemSize) detail::raise_length(*this, n, itemSize);
    p = allocate(n * itemSize);
    if (!p && n)
      detail::raise(error::kind::bad_length, this,
                    std::string("PUP: out of memory for ") + std::to_string(n * itemSize) + " bytes");
  }
  bytes(p, n, itemSize, t);
  if (isPacking() && isDeleting()) {
    deallocate(p);
    p = nullptr;
  }
}

namespace detail {
namespace {

void check_room(er& p, std::size_t room, std::size_t n, std::size_t itemSize) {
  if (itemSize && n > room / itemSize) raise_overrun(p, n, itemSize);
}

char anchor;  // an address that moves with this library's code and data

}  // namespace

void pup_function(er& p, void* pointer_to_function_pointer) {
  const std::uintptr_t base = reinterpret_cast<std::uintptr_t>(&anchor);
  std::uintptr_t address = 0;  // 0: null. A function cannot lie at the anchor.
  static_assert(sizeof address == sizeof(void (*)()), "function pointers are addresses");
  std::memcpy(&address, pointer_to_function_pointer, sizeof address);
  std::uintptr_t distance = address ? address - base : 0;
  p | distance;
  if (!p.isUnpacking()) return;
  address = distance ? distance + base : 0;
  std::memcpy(pointer_to_function_pointer, &address, sizeof address);
}

}  // namespace detail

void mem::put(const void* p, std::size_t n, std::size_t itemSize) {
  detail::check_room(*this, left(), n, itemSize);
  if (n) std::memcpy(get_current_pointer(), p, n * itemSize);
  go_to(position() + n * itemSize);
}
void mem::get(void* p, std::size_t n, std::size_t itemSize) {
  detail::check_room(*this, left(), n, itemSize);
  if (n) std::memcpy(p, get_current_pointer(), n * itemSize);
  go_to(position() + n * itemSize);
}
void toMem::bytes(void* p, std::size_t n, std::size_t itemSize, dataType) { put(p, n, itemSize); }
void fromMem::bytes(void* p, std::size_t n, std::size_t itemSize, dataType) { get(p, n, itemSize); }
void detail::writer::bytes(void* p, std::size_t n, std::size_t itemSize, dataType) { put(p, n, itemSize); }
void detail::reader::bytes(void* p, std::size_t n, std::size_t itemSize, dataType) { get(p, n, itemSize); }

void mem::impl_startSeek(seekBlock& s) { s.data.off = position(); }
std::size_t mem::impl_tell(seekBlock& s) { return position() - s.data.off; }
void mem::impl_seek(seekBlock& s, std::size_t off) {
  if (s.data.off > last() || off > last() - s.data.off) {
    go_to(s.data.off);
    detail::raise_overrun(*this, off, 1);
  }
  go_to(s.data.off + off);
}

seekBlock::seekBlock(er& p, int nSections) : nSec(nSections), p(p) {
  if (nSections < 1 || nSections > maxSections) {
    detail::raise(error::kind::misuse, &p,
                  std::string("PUP::seekBlock has 1 to 3 sections, not ") + std::to_string(nSections));
  }
  p.impl_startSeek(*this);
  secTabOff = p.impl_tell(*this);
  for (int i = 0; i <= nSec; ++i) secTab[i] = secTabOff + (nSec + 1) * sizeof(std::size_t);
  p(secTab, nSec + 1);
}

seekBlock::~seekBlock() {
  if (!hasEnded && !std::uncaught_exceptions()) endBlock();
}

void seekBlock::seek(int toSection) {
  if (toSection < 0 || toSection >= nSec) {
    detail::raise(error::kind::misuse, &p,
                  std::string("PUP::seekBlock::seek: there is no section ") + std::to_string(toSection) + " of " +
                      std::to_string(nSec));
  }
  if (p.isPacking()) {
    secTab[toSection] = p.impl_tell(*this);
  } else if (p.isUnpacking()) {
    p.impl_seek(*this, secTab[toSection]);
  }
}

void seekBlock::endBlock() {
  if (hasEnded) return;
  hasEnded = true;
  if (p.isPacking()) {
    secTab[nSec] = p.impl_tell(*this);
    p.impl_seek(*this, secTabOff);
    p(secTab, nSec + 1);
  }
  if (!p.isSizing()) p.impl_seek(*this, secTab[nSec]);
  p.impl_endSeek(*this);
}

}  // namespace PUP
