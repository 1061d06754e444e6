// Conversion of foreign representations, item by item.
#include "runtime/pup/xlater.h"

#include <algorithm>
#include <string>
#include <type_traits>

namespace PUP {
namespace {

const unsigned char the_magic[4] = {0x10, 0xea, 0xbd, 0xf9};

bool little_endian() {
  const std::uint16_t one = 1;
  unsigned char first;
  std::memcpy(&first, &one, 1);
  return first == 1;
}

bool integer_size(unsigned n) { return n == 1 || n == 2 || n == 4 || n == 8 || n == 16; }

void reverse_each(unsigned char* items, std::size_t n, std::size_t size) {
  for (std::size_t i = 0; i < n; ++i) std::reverse(items + i * size, items + (i + 1) * size);
}

/// A native integer of `size` bytes, extended to the widest one.
uint128 widen(const unsigned char* item, std::size_t size, bool is_signed) {
  uint128 v = 0;
  for (std::size_t i = 0; i < size; ++i) v = v << 8 | item[little_endian() ? size - 1 - i : i];
  const std::size_t unused = 128 - 8 * size;
  if (is_signed && size) v = static_cast<uint128>(static_cast<int128>(v << unused) >> unused);
  return v;
}

/// Stores the low `size` bytes; false if that is another value.
bool narrow(uint128 v, unsigned char* item, std::size_t size, bool is_signed) {
  for (std::size_t i = 0; i < size; ++i) item[little_endian() ? i : size - 1 - i] = static_cast<unsigned char>(v >> 8 * i);
  return widen(item, size, is_signed) == v;
}

}  // namespace

bool machineInfo::valid() const { return std::memcmp(magic, the_magic, sizeof magic) == 0; }

bool machineInfo::needsConversion() const {
  const machineInfo& m = current();
  return intFormat != m.intFormat || floatFormat != m.floatFormat || std::memcmp(intBytes, m.intBytes, 4) != 0 ||
         floatBytes != m.floatBytes || doubleBytes != m.doubleBytes || boolBytes != m.boolBytes ||
         pointerBytes != m.pointerBytes;
}

const machineInfo& machineInfo::current() {
  static const machineInfo here = [] {
    machineInfo m;
    std::memcpy(m.magic, the_magic, sizeof m.magic);
    m.version = 1;
    m.intBytes[0] = sizeof(char);
    m.intBytes[1] = sizeof(short);
    m.intBytes[2] = sizeof(int);
    m.intBytes[3] = sizeof(long);
    m.intBytes[4] = sizeof(int128);
    m.intFormat = little_endian();
    m.floatBytes = sizeof(float);
    m.doubleBytes = sizeof(double);
    m.floatFormat = little_endian();
    m.boolBytes = sizeof(bool);
    m.pointerBytes = sizeof(void*);
    return m;
  }();
  return here;
}

/// Version 0 had four integer sizes and a byte of padding.
void machineInfo::pup(er& p) {
  myByte padding = 0;
  p(magic, 4);
  p(version);
  p(intBytes, version == 0 ? 4 : 5);
  p(intFormat);
  p(floatBytes);
  p(doubleBytes);
  p(floatFormat);
  p(boolBytes);
  p(pointerBytes);
  if (version == 0) {
    p(padding);
    if (p.isUnpacking()) intBytes[4] = sizeof(int128);
  }
}

xlater::xlater(const machineInfo& from, er& fromData) : wrap_er(fromData) {
  const machineInfo& here = machineInfo::current();
  if (!fromData.isUnpacking()) {
    detail::raise(error::kind::misuse, this, "PUP::xlater only unpacks: data is packed in the form of the machine that packs");
  }
  const bool sane = from.valid() && from.intFormat <= 1 && from.floatFormat <= 1 &&
                    std::all_of(from.intBytes, from.intBytes + 4, integer_size) && integer_size(from.boolBytes) &&
                    integer_size(from.pointerBytes) && integer_size(from.floatBytes) && integer_size(from.doubleBytes);
  if (!sane) {
    detail::raise(error::kind::foreign_machine, this,
                  "PUP::xlater: this machineInfo describes no machine that data can be converted from");
  }
  swap_integers_ = from.intFormat != here.intFormat;
  swap_reals_ = from.floatFormat != here.floatFormat;
  const auto set = [this](dataType t, form as, unsigned size) { source_[t] = {as, static_cast<unsigned char>(size)}; };
  const dataType with_sign[] = {Tchar, Tshort, Tint, Tlong, Tint128};
  const dataType without[] = {Tuchar, Tushort, Tuint, Tulong, Tuint128};
  for (int i = 0; i < 5; ++i) {
    const unsigned size = i == 4 ? 16 : from.intBytes[i];
    set(with_sign[i], form::integer, size);
    set(without[i], form::natural, size);
  }
  set(Tlonglong, form::integer, 8);
  set(Tulonglong, form::natural, 8);
  set(Tsync, form::natural, from.intBytes[2]);
  if (from.floatBytes == here.floatBytes) set(Tfloat, form::real, from.floatBytes);
  if (from.doubleBytes == here.doubleBytes) set(Tdouble, form::real, from.doubleBytes);
  if (!swap_reals_ && from.pointerBytes == here.pointerBytes) set(Tlongdouble, form::real, sizeof(long double));
  set(Tbool, form::boolean, from.boolBytes);
  set(Tbyte, form::bytes, 1);
  set(Tpointer, form::natural, from.pointerBytes);
}

std::size_t xlater::remaining() const {
  const std::size_t left = p.remaining();
  return left > unbounded / 16 ? left : left * 16;
}

void xlater::bytes(void* to, std::size_t n, std::size_t itemSize, dataType t) {
  const Source from = source_[t];
  if (from.as == form::none) {
    detail::raise(error::kind::foreign_machine, this,
                  "PUP::xlater: floating-point numbers of this type cannot be converted from the machine that wrote them");
  }
  unsigned char* out = static_cast<unsigned char*>(to);
  const bool swap = from.as == form::real ? swap_reals_ : from.as != form::bytes && swap_integers_;
  if (from.size == itemSize || from.as == form::bytes) {
    p.bytes(to, n, itemSize, t);
    if (swap) reverse_each(out, n, itemSize);
    if (t == Tbool) detail::normalize(static_cast<bool*>(to), n);
    return;
  }
  constexpr std::size_t chunk = 256;
  unsigned char items[chunk * 16];
  for (std::size_t done = 0; done < n;) {
    const std::size_t step = std::min(chunk, n - done);
    p.bytes(items, step, from.size, t);
    if (swap) reverse_each(items, step, from.size);
    for (std::size_t i = 0; i < step; ++i, out += itemSize) {
      const bool is_signed = from.as == form::integer;
      uint128 v = widen(items + i * from.size, from.size, is_signed);
      if (from.as == form::boolean) v = v != 0;
      if (!narrow(v, out, itemSize, is_signed)) {
        detail::raise(error::kind::bad_value, this,
                      "PUP::xlater: an integer of " + std::to_string(from.size) + " bytes does not fit in the " +
                          std::to_string(itemSize) + " that its type has here");
      }
    }
    done += step;
  }
}

}  // namespace PUP
