// Network byte order, an item at a time.
#include "runtime/pup/network.h"

#include <string>

namespace PUP {
namespace detail {
namespace {

bool is_signed(dataType t) { return t <= Tlonglong || t == Tint128; }
bool is_real(dataType t) { return t == Tfloat || t == Tdouble || t == Tlongdouble; }

template <class T>
T load(const unsigned char* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
void store(unsigned char* p, T v) {
  std::memcpy(p, &v, sizeof v);
}

uint128 load_integer(const unsigned char* p, std::size_t size, bool with_sign) {
  switch (size) {
    case 1: return with_sign ? static_cast<uint128>(load<std::int8_t>(p)) : load<std::uint8_t>(p);
    case 2: return with_sign ? static_cast<uint128>(load<std::int16_t>(p)) : load<std::uint16_t>(p);
    case 4: return with_sign ? static_cast<uint128>(load<std::int32_t>(p)) : load<std::uint32_t>(p);
    case 8: return with_sign ? static_cast<uint128>(load<std::int64_t>(p)) : load<std::uint64_t>(p);
    default: return load<uint128>(p);
  }
}
void store_integer(unsigned char* p, std::size_t size, uint128 v) {
  switch (size) {
    case 1: return store(p, static_cast<std::uint8_t>(v));
    case 2: return store(p, static_cast<std::uint16_t>(v));
    case 4: return store(p, static_cast<std::uint32_t>(v));
    case 8: return store(p, static_cast<std::uint64_t>(v));
    default: return store(p, v);
  }
}

/// Whether the low `size` bytes of v say all of it.
bool fits(uint128 v, std::size_t size, bool with_sign) {
  if (size >= 16) return true;
  const int unused = 128 - 8 * static_cast<int>(size);
  const uint128 back = with_sign ? static_cast<uint128>(static_cast<int128>(v << unused) >> unused) : v << unused >> unused;
  return back == v;
}

uint128 real_bits(const unsigned char* p, dataType t, std::size_t wire) {
  const double v = t == Tfloat ? load<float>(p) : t == Tdouble ? load<double>(p) : static_cast<double>(load<long double>(p));
  unsigned char raw[8];
  if (wire == 4) {
    store(raw, static_cast<float>(v));
    return load<std::uint32_t>(raw);
  }
  store(raw, v);
  return load<std::uint64_t>(raw);
}
void store_real(unsigned char* p, dataType t, std::size_t wire, uint128 bits) {
  unsigned char raw[8];
  double v;
  if (wire == 4) {
    store(raw, static_cast<std::uint32_t>(bits));
    v = load<float>(raw);
  } else {
    store(raw, static_cast<std::uint64_t>(bits));
    v = load<double>(raw);
  }
  if (t == Tfloat) {
    store(p, static_cast<float>(v));
  } else if (t == Tdouble) {
    store(p, v);
  } else {
    store(p, static_cast<long double>(v));
  }
}

}  // namespace

std::size_t network_er::remaining() const {
  if (length_ == unbounded) return unbounded;
  const std::size_t left = length_ - size();
  return left > unbounded / 4 ? unbounded - 1 : left * 4;  // a long double may be in 4 bytes
}

std::size_t network_er::wire_size(dataType t) const {
  switch (t) {
    case Tchar:
    case Tuchar:
    case Tbyte: return 1;
    case Tlong:
    case Tulong:
    case Tlonglong:
    case Tulonglong:
    case Tdouble:
    case Tlongdouble: return four_ ? 4 : 8;
    case Tint128:
    case Tuint128: return four_ ? 4 : 16;
    case Tpointer: return sizeof(void*);
    case Tsync: return 0;
    default: return 4;
  }
}

void network_er::item(unsigned char* native, std::size_t size, dataType t, std::size_t wire) {
  const bool with_sign = is_signed(t);
  if (isPacking()) {
    const uint128 v = is_real(t) ? real_bits(native, t, wire) : load_integer(native, size, with_sign);
    if (!is_real(t) && !fits(v, wire, with_sign)) {
      raise(error::kind::bad_value, this,
            "PUP: an integer does not fit in the " + std::to_string(wire) + " bytes that its type has on this network");
    }
    for (std::size_t i = 0; i < wire; ++i) *at_++ = static_cast<unsigned char>(v >> 8 * (wire - 1 - i));
    return;
  }
  uint128 v = 0;
  for (std::size_t i = 0; i < wire; ++i) v = v << 8 | *at_++;
  if (is_real(t)) return store_real(native, t, wire, v);
  if (t == Tbool) return store_integer(native, size, v != 0);
  const int unused = 128 - 8 * static_cast<int>(wire);
  if (with_sign) v = static_cast<uint128>(static_cast<int128>(v << unused) >> unused);
  if (!fits(v, size, with_sign)) {
    raise(error::kind::bad_value, this, "PUP: an integer from the network does not fit in its type here");
  }
  store_integer(native, size, v);
}

void network_er::bytes(void* p, std::size_t n, std::size_t itemSize, dataType t) {
  const std::size_t wire = wire_size(t);
  if (wire == 1) {  // text and bytes travel as they are, whatever the size of one
    n *= itemSize;
    itemSize = 1;
  }
  if (isSizing()) {
    counted_ += n * wire;
    return;
  }
  if (length_ != unbounded && wire && n > (length_ - size()) / wire) raise_overrun(*this, n, wire);
  if (!n || !wire) return;
  if (wire == 1) {
    std::memcpy(isPacking() ? static_cast<void*>(at_) : p, isPacking() ? p : static_cast<void*>(at_), n);
    at_ += n;
    return;
  }
  for (std::size_t i = 0; i < n; ++i) item(static_cast<unsigned char*>(p) + i * itemSize, itemSize, t, wire);
}

}  // namespace detail
}  // namespace PUP
