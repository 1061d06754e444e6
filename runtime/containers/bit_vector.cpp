#include "runtime/containers/bit_vector.h"

#include <algorithm>

#include "base/fatal.h"

CkBitVector::CkBitVector(prio_t value, prio_t choices) : CkBitVector(ilog2(choices)) {
  if (value >= choices) {
    periapt::fatal(
        "CkBitVector(" + std::to_string(value) + ", " + std::to_string(choices) + "): there is no such choice",
        "CkBitVector", "choices are counted from 0", "pass a value below the number of choices");
  }
  if (usedBits) data[0] = value << (32 - usedBits);
}

CkBitVector& CkBitVector::Zero() {
  std::fill(data.begin(), data.end(), 0);
  return *this;
}

CkBitVector& CkBitVector::Invert() {
  for (prio_t& word : data) word = ~word;
  if (usedBits % 32) data.back() &= ~prio_t{0} << (32 - usedBits % 32);
  return *this;
}

CkBitVector& CkBitVector::Clear(prio_t bit) {
  if (bit >= usedBits) return Resize(bit + 1);
  data[place(bit) / 32] &= ~(prio_t{1} << (31 - place(bit) % 32));
  return *this;
}

CkBitVector& CkBitVector::Set(prio_t bit) {
  if (bit >= usedBits) Resize(bit + 1);
  data[place(bit) / 32] |= prio_t{1} << (31 - place(bit) % 32);
  return *this;
}

bool CkBitVector::Test(prio_t bit) const {
  return bit < usedBits && (data[place(bit) / 32] >> (31 - place(bit) % 32) & 1);
}

CkBitVector& CkBitVector::ShiftUp(prio_t bits) {
  const std::size_t whole = bits / 32, rest = bits % 32;
  auto word = [&](std::size_t i) { return i < data.size() ? data[i] : prio_t{0}; };
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = rest ? word(i + whole) << rest | word(i + whole + 1) >> (32 - rest) : word(i + whole);
  return *this;
}

CkBitVector& CkBitVector::ShiftDown(prio_t bits) {
  const std::size_t whole = bits / 32, rest = bits % 32;
  auto word = [&](std::size_t i, std::size_t back) { return i >= back ? data[i - back] : prio_t{0}; };
  for (std::size_t i = data.size(); i-- > 0;)
    data[i] = rest ? word(i, whole) >> rest | word(i, whole + 1) << (32 - rest) : word(i, whole);
  if (usedBits % 32) data.back() &= ~prio_t{0} << (32 - usedBits % 32);
  return *this;
}

CkBitVector& CkBitVector::Resize(prio_t bits) {
  if (bits > usedBits) {
    const prio_t more = bits - usedBits;
    data.resize(words(bits));
    usedBits = bits;
    return ShiftDown(more);
  }
  ShiftUp(usedBits - bits);
  data.resize(words(bits));
  usedBits = bits;
  return *this;
}

void CkBitVector::must_be_as_long(const CkBitVector& other, const char* operation) const {
  if (usedBits == other.usedBits) return;
  periapt::fatal("two bit vectors of different lengths: " + std::to_string(usedBits) + " and " +
                     std::to_string(other.usedBits) + " bits",
                 std::string("CkBitVector::") + operation, "", "Resize() one of them first");
}
CkBitVector& CkBitVector::Union(const CkBitVector& other) {
  must_be_as_long(other, "Union");
  for (std::size_t i = 0; i < data.size(); ++i) data[i] |= other.data[i];
  return *this;
}
CkBitVector& CkBitVector::Intersection(const CkBitVector& other) {
  must_be_as_long(other, "Intersection");
  for (std::size_t i = 0; i < data.size(); ++i) data[i] &= other.data[i];
  return *this;
}
CkBitVector& CkBitVector::Difference(const CkBitVector& other) {
  must_be_as_long(other, "Difference");
  for (std::size_t i = 0; i < data.size(); ++i) data[i] &= ~other.data[i];
  return *this;
}

CkBitVector& CkBitVector::Concat(const CkBitVector& other) {
  CkBitVector tail(other);
  const prio_t added = other.usedBits;  // `other` may be this one
  tail.Resize(usedBits + added);
  Resize(usedBits + added);
  ShiftUp(added);
  return Union(tail);
}

int CkBitVector::Compare(const CkBitVector& other) const {
  const std::size_t common = std::min(data.size(), other.data.size());
  for (std::size_t i = 0; i < common; ++i)
    if (data[i] != other.data[i]) return data[i] < other.data[i] ? -1 : 1;
  return usedBits == other.usedBits ? 0 : usedBits < other.usedBits ? -1 : 1;
}

std::string CkBitVector::toString() const {
  std::string text;
  for (prio_t bit = usedBits; bit-- > 0;) text += Test(bit) ? '1' : '0';
  return text;
}
