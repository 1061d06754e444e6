// CkBitVector: a priority of any length. C++17: reached from charm++.h.
//
// Its words are compared from the first on, each from its highest bit: the order of the scheduler's queue. Bit 0 is the
// *last* one; the highest bit of the first word is bit Length() - 1. Bits of the last word beyond the length are zero.
#pragma once
#include <string>
#include <vector>

#include "runtime/pup/stl.h"

typedef unsigned int prio_t;  // a word of a priority

class CkBitVector {
 public:
  CkBitVector() = default;
  explicit CkBitVector(prio_t bits) : usedBits(bits), data(words(bits)) {}
  // `value` out of `choices`, in as few bits as tell them apart.
  CkBitVector(prio_t value, prio_t choices);

  int Length() const { return static_cast<int>(usedBits); }
  static prio_t ilog2(prio_t choices) {
    prio_t bits = 0;
    while (bits < 32 && choices > (prio_t{1} << bits)) ++bits;
    return bits;
  }

  CkBitVector& Zero();
  CkBitVector& Invert();
  // Grow the vector when the bit is beyond it. Bits that are new come in front (growing keeps the numbers of bits).
  CkBitVector& Clear(prio_t bit);
  CkBitVector& Set(prio_t bit);
  bool Test(prio_t bit) const;
  // Towards the front (to higher numbers), and back; what leaves is lost.
  CkBitVector& ShiftUp(prio_t bits);
  CkBitVector& ShiftDown(prio_t bits);
  // Adds bits, or takes them away, at the front.
  CkBitVector& Resize(prio_t bits);
  // Of two vectors of the same length.
  CkBitVector& Union(const CkBitVector& other);
  CkBitVector& Intersection(const CkBitVector& other);
  CkBitVector& Difference(const CkBitVector& other);
  // The other one behind this one: a less important part of the priority.
  CkBitVector& Concat(const CkBitVector& other);

  // -1, 0 or 1: by the common words, then by length.
  int Compare(const CkBitVector& other) const;
  bool operator==(const CkBitVector& o) const { return Compare(o) == 0; }
  bool operator!=(const CkBitVector& o) const { return Compare(o) != 0; }
  bool operator<(const CkBitVector& o) const { return Compare(o) < 0; }
  bool operator<=(const CkBitVector& o) const { return Compare(o) <= 0; }
  bool operator>(const CkBitVector& o) const { return Compare(o) > 0; }
  bool operator>=(const CkBitVector& o) const { return Compare(o) >= 0; }

  // "0110", the first bit first.
  std::string toString() const;
  void pup(PUP::er& p) {
    p | usedBits;
    p | data;
  }

  prio_t* getData() { return data.data(); }
  const prio_t* getData() const { return data.data(); }
  unsigned getDataLength() const { return words(usedBits); }

  prio_t usedBits = 0;
  std::vector<prio_t> data;

 private:
  static prio_t words(prio_t bits) { return (bits + 31) / 32; }
  // A bit by its number, as a place from the front.
  prio_t place(prio_t bit) const { return usedBits - 1 - bit; }
  void must_be_as_long(const CkBitVector& other, const char* operation) const;
};
