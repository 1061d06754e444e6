// The index of an array element, as Charm++ programs write it, and what the runtime makes of it.
//
//   CkArrayIndex, CkArrayIndex1D .. 6D   the index: up to 3 ints or 6 shorts in 16 bytes, plain bytes in messages
//   compact_id(), index_of()             an index as a 64-bit element id and back, for indices small enough
//   IndexRange                           the indices start, start + step, ... below end, in every dimension
//
// A class of one's own (`array [Custom]`) derives from CkArrayIndex, builds its value in `index` (12 bytes) and sets
// `nInts`; nothing past the base is ever sent. Two indices are the same element when their first nInts ints are.
// C++17: programs include this header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iosfwd>
#include <iterator>
#include <string>
#include <type_traits>

#include "runtime/pup/operators.h"

#ifndef CK_ARRAYINDEX_MAXLEN
#define CK_ARRAYINDEX_MAXLEN 3
#endif
static_assert(CK_ARRAYINDEX_MAXLEN == 3, "an array index is three ints: envelopes and element ids are laid out for it");

typedef unsigned int CkHashCode;

class CkArrayIndex;

// All data of an index. An aggregate without constructors, so that it can be a member of a union.
struct CkArrayIndexBase {
  unsigned short nInts;      // length in ints: 1 to 3, 0 for "no index"
  unsigned short dimension;  // 1 to 6, 0 for an index class of the program's own
  union {
    int index[CK_ARRAYINDEX_MAXLEN];              // dimensions 1 to 3, and custom indices
    short indexShorts[2 * CK_ARRAYINDEX_MAXLEN];  // dimensions 4 to 6
  };

  CkArrayIndex& asChild() const;

  // Bytes, whatever the archive is. A template, so that this header needs no PUP.
  template <class Archive>
  void pup(Archive& p) {
    p(reinterpret_cast<char*>(this), sizeof(CkArrayIndexBase));
  }
};
static_assert(sizeof(CkArrayIndexBase) == 16 && std::is_trivially_copyable<CkArrayIndexBase>::value,
              "an index travels as 16 plain bytes");

namespace periapt {
namespace chare {
[[noreturn]] void unsupported_dimensions(int dimensions);

// A 64-bit finaliser (Stafford's variant 13 of the one in MurmurHash3): every input bit reaches every output bit.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
}  // namespace chare
}  // namespace periapt

class CkArrayIndex : public CkArrayIndexBase {
 public:
  CkArrayIndex() { set(0, 0, 0, 0, 0); }
  explicit CkArrayIndex(int i) { init(1, 1, i); }
  CkArrayIndex(int dimensions, int values[]) { init_nd(dimensions, values); }
  // the same value in every dimension
  CkArrayIndex(int dimensions, int value) {
    int values[6] = {value, value, value, value, value, value};
    init_nd(dimensions, values);
  }

  int* data() { return index; }
  const int* data() const { return index; }
  short* shortData() { return indexShorts; }
  const short* shortData() const { return indexShorts; }
  short getDimension() const { return static_cast<short>(dimension); }

  // The value in dimension d, wherever it is kept.
  int coordinate(int d) const { return dimension > 3 ? indexShorts[d] : index[d]; }
  void setCoordinate(int d, int value) {
    if (dimension > 3)
      indexShorts[d] = static_cast<short>(value);
    else
      index[d] = value;
  }

  // Elements of a dense array whose bounds this index is. 0 for a custom index.
  int getCombinedCount() const { return static_cast<int>(count64()); }
  std::int64_t count64() const {
    if (dimension == 0) return 0;
    std::int64_t count = 1;
    for (int d = 0; d < dimension; ++d) count *= coordinate(d);
    return count;
  }

  bool operator==(const CkArrayIndex& other) const {
    if (nInts != other.nInts) return false;
    switch (nInts) {
      case 0:
        return true;
      case 1:
        return index[0] == other.index[0];
      case 2:
        return index[0] == other.index[0] && index[1] == other.index[1];
      default:
        return index[0] == other.index[0] && index[1] == other.index[1] && index[2] == other.index[2];
    }
  }
  bool operator!=(const CkArrayIndex& other) const { return !(*this == other); }

  // Lexicographic; a shorter index comes before the longer one that it begins.
  friend bool operator<(const CkArrayIndex& a, const CkArrayIndex& b) {
    const int common = a.nInts < b.nInts ? a.nInts : b.nInts;
    for (int i = 0; i < common; ++i)
      if (a.index[i] != b.index[i]) return a.index[i] < b.index[i];
    return a.nInts < b.nInts;
  }

  // Depends on the same ints as ==.
  std::uint64_t hash64() const {
    const std::uint64_t low = nInts > 0 ? static_cast<std::uint32_t>(index[0]) : 0u;
    const std::uint64_t high = nInts > 1 ? static_cast<std::uint32_t>(index[1]) : 0u;
    std::uint64_t h = periapt::chare::mix64((low | high << 32) + 0x9e3779b97f4a7c15ull);
    if (nInts > 2) h = periapt::chare::mix64(h ^ static_cast<std::uint32_t>(index[2]));
    return h;
  }
  CkHashCode hash() const { return static_cast<CkHashCode>(hash64()); }
  static CkHashCode staticHash(const void* a, std::size_t) { return static_cast<const CkArrayIndex*>(a)->hash(); }
  int compare(const CkArrayIndex& other) const { return *this == other; }
  static int staticCompare(const void* a, const void* b, std::size_t) {
    return static_cast<const CkArrayIndex*>(a)->compare(*static_cast<const CkArrayIndex*>(b));
  }

  // "[1,2]"; a custom index as the ints it is kept in: "<17,4>"
  std::string toString() const;
  void print() const { std::printf("%s\n", toString().c_str()); }
  friend std::ostream& operator<<(std::ostream& out, const CkArrayIndex& i);

 protected:
  void init(short ints, short dimensions, int x, int y = 0, int z = 0) { set(ints, dimensions, x, y, z); }
  void init(short ints, short dimensions, short u, short v, short w, short x, short y = 0, short z = 0) {
    nInts = static_cast<unsigned short>(ints);
    dimension = static_cast<unsigned short>(dimensions);
    const short values[6] = {u, v, w, x, y, z};
    std::memcpy(indexShorts, values, sizeof(values));
  }
  void init_nd(int dimensions, const int values[]) {
    if (dimensions < 1 || dimensions > 6) periapt::chare::unsupported_dimensions(dimensions);
    const int ints = dimensions <= 3 ? dimensions : (dimensions + 1) / 2;
    set(static_cast<unsigned short>(ints), static_cast<unsigned short>(dimensions), 0, 0, 0);
    for (int d = 0; d < dimensions; ++d) setCoordinate(d, values[d]);
  }

 private:
  void set(unsigned short ints, unsigned short dimensions, int x, int y, int z) {
    nInts = ints;
    dimension = dimensions;
    index[0] = x;
    index[1] = y;
    index[2] = z;
  }
};
static_assert(sizeof(CkArrayIndex) == 16 && std::is_trivially_copyable<CkArrayIndex>::value,
              "an index travels as 16 plain bytes");

inline CkArrayIndex& CkArrayIndexBase::asChild() const {
  return *const_cast<CkArrayIndex*>(static_cast<const CkArrayIndex*>(this));
}

// The name of older programs.
typedef CkArrayIndex CkArrayIndexMax;

typedef int CkIndex1D;
struct CkIndex2D {
  int x, y;
};
struct CkIndex3D {
  int x, y, z;
};
struct CkIndex4D {
  short int w, x, y, z;
};
struct CkIndex5D {
  short int v, w, x, y, z;
};
struct CkIndex6D {
  short int x1, y1, z1, x2, y2, z2;
};
struct CkIndexMax {
  int data[CK_ARRAYINDEX_MAXLEN];
};
// What an element's thisIndex is may be sent.
PUPbytes(CkIndex2D);
PUPbytes(CkIndex3D);
PUPbytes(CkIndex4D);
PUPbytes(CkIndex5D);
PUPbytes(CkIndex6D);
PUPbytes(CkIndexMax);

class CkArrayIndex1D : public CkArrayIndex {
 public:
  CkArrayIndex1D() {}
  CkArrayIndex1D(int i0) { init(1, 1, i0); }
};
class CkArrayIndex2D : public CkArrayIndex {
 public:
  CkArrayIndex2D() {}
  CkArrayIndex2D(int i0, int i1) { init(2, 2, i0, i1); }
  CkArrayIndex2D(CkIndex2D i) { init(2, 2, i.x, i.y); }
};
class CkArrayIndex3D : public CkArrayIndex {
 public:
  CkArrayIndex3D() {}
  CkArrayIndex3D(int i0, int i1, int i2) { init(3, 3, i0, i1, i2); }
  CkArrayIndex3D(CkIndex3D i) { init(3, 3, i.x, i.y, i.z); }
};
class CkArrayIndex4D : public CkArrayIndex {
 public:
  CkArrayIndex4D() {}
  CkArrayIndex4D(short i0, short i1, short i2, short i3) { init(2, 4, i0, i1, i2, i3); }
  CkArrayIndex4D(CkIndex4D i) { init(2, 4, i.w, i.x, i.y, i.z); }
};
class CkArrayIndex5D : public CkArrayIndex {
 public:
  CkArrayIndex5D() {}
  CkArrayIndex5D(short i0, short i1, short i2, short i3, short i4) { init(3, 5, i0, i1, i2, i3, i4); }
  CkArrayIndex5D(CkIndex5D i) { init(3, 5, i.v, i.w, i.x, i.y, i.z); }
};
class CkArrayIndex6D : public CkArrayIndex {
 public:
  CkArrayIndex6D() {}
  CkArrayIndex6D(short i0, short i1, short i2, short i3, short i4, short i5) { init(3, 6, i0, i1, i2, i3, i4, i5); }
  CkArrayIndex6D(CkIndex6D i) { init(3, 6, i.x1, i.y1, i.z1, i.x2, i.y2, i.z2); }
};

// An index that is any small plain type.
template <class Key>
class CkArrayIndexT : public CkArrayIndex {
 public:
  static_assert(sizeof(Key) <= sizeof(int) * CK_ARRAYINDEX_MAXLEN && std::is_trivially_copyable<Key>::value,
                "an index type is at most 12 plain bytes: use a smaller key, or number your elements");
  Key obj;
  CkArrayIndexT(const Key& key) : obj(key) {
    std::memcpy(index, &key, sizeof(key));
    nInts = static_cast<unsigned short>((sizeof(key) + sizeof(int) - 1) / sizeof(int));
    dimension = 0;
  }
};

namespace std {
template <>
struct hash<CkArrayIndex> {
  size_t operator()(const CkArrayIndex& i) const noexcept { return static_cast<size_t>(i.hash64()); }
};
}  // namespace std
struct IndexHasher : std::hash<CkArrayIndex> {};  // Charm++'s name, for programs' std::unordered_map

namespace periapt {
namespace chare {

// Element ids
// -----------
// An id names one element of an array for its whole life. When the index is small enough, the id *is* the index: no
// table is asked to turn one into the other. Bit 63 clear says so; ids with bit 63 set are given out by the element's
// home to indices that don't fit. 0 is no id. The code above the payload, in the bits from 62 down:
//
//   1          2D, 2 x 31 bits signed
//   0 11       3D, 3 x 20 bits signed
//   0 10       6D, 6 x 10 bits signed
//   0 01       4D, 4 x 15 bits signed
//   0 00 1     5D, 5 x 11 bits signed
//   0 00 01    1D, any int
//   0 00 001   custom, 1 int
//   0 00 0001  custom, 2 ints of 27 bits signed
constexpr std::uint64_t assigned_id_bit = 1ull << 63;

namespace detail {
struct IdCode {
  std::uint64_t tag;  // the bits above the payload
  int coordinates;
  int bits;  // of one coordinate
};
// by dimension; 0 is a custom index of one int, 7 one of two ints
constexpr IdCode id_codes[8] = {
    {1ull << 57, 1, 32}, {1ull << 58, 1, 32}, {1ull << 62, 2, 31}, {3ull << 60, 3, 20},
    {1ull << 60, 4, 15}, {1ull << 59, 5, 11}, {2ull << 60, 6, 10}, {1ull << 56, 2, 27},
};

constexpr std::int64_t sign_extend(std::uint64_t value, int bits) {
  return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
}

inline std::uint64_t pack_id(const IdCode& code, const CkArrayIndex& index) {
  const std::uint64_t mask = (1ull << code.bits) - 1;
  std::uint64_t id = 0;
  bool fits = true;
  for (int d = 0; d < code.coordinates; ++d) {
    const std::int64_t value = index.coordinate(d);
    const std::uint64_t field = static_cast<std::uint64_t>(value) & mask;
    fits = fits && sign_extend(field, code.bits) == value;
    id = id << code.bits | field;
  }
  return fits ? id | code.tag : 0;
}
}  // namespace detail

// The index as an id, or 0 when it is too large and the home has to number it.
inline std::uint64_t compact_id(const CkArrayIndex& index) {
  if (index.dimension == 1 && index.nInts == 1)
    return detail::id_codes[1].tag | static_cast<std::uint32_t>(index.index[0]);
  const int dimension = index.dimension;
  if (dimension == 0) {
    if (index.nInts == 1) return detail::pack_id(detail::id_codes[0], index);
    if (index.nInts == 2) return detail::pack_id(detail::id_codes[7], index);
    return 0;
  }
  if (dimension > 6 || index.nInts != (dimension <= 3 ? dimension : (dimension + 1) / 2)) return 0;
  if (dimension == 5 && index.indexShorts[5] != 0) return 0;  // a hand-made index: == looks at it
  return detail::pack_id(detail::id_codes[dimension], index);
}

constexpr bool is_compact_id(std::uint64_t id) { return id != 0 && (id & assigned_id_bit) == 0; }

// The index that compact_id() made `id` of. Requires is_compact_id(id).
inline CkArrayIndex index_of(std::uint64_t id) {
  if ((id & ~std::uint64_t{0xFFFFFFFF}) == detail::id_codes[1].tag) return CkArrayIndex1D(static_cast<int>(id));
  int code = 7;
  if (id >> 62 & 1)
    code = 2;
  else if (id >> 60 & 3)
    code = (id >> 60 & 3) == 3 ? 3 : (id >> 60 & 3) == 2 ? 6 : 4;
  else if (id >> 59 & 1)
    code = 5;
  else if (id >> 58 & 1)
    code = 1;
  else if (id >> 57 & 1)
    code = 0;
  const detail::IdCode& how = detail::id_codes[code];
  int values[6] = {};
  for (int d = how.coordinates - 1; d >= 0; --d, id >>= how.bits)
    values[d] = static_cast<int>(detail::sign_extend(id, how.bits));
  if (code >= 1 && code <= 6) return CkArrayIndex(code, values);
  CkArrayIndex custom;
  custom.nInts = static_cast<unsigned short>(how.coordinates);
  custom.index[0] = values[0];
  custom.index[1] = values[1];
  return custom;
}

// The indices start, start + step, ... while below end, in each dimension: what CkArrayOptions describes. The last
// dimension runs fastest. `position` numbers them 0 .. size() - 1 in that order.
class IndexRange {
 public:
  IndexRange() = default;
  // Three indices of one dimension, every step > 0 (else fatal, with a sentence).
  IndexRange(const CkArrayIndex& start, const CkArrayIndex& end, const CkArrayIndex& step);
  // 0 .. end - 1
  explicit IndexRange(const CkArrayIndex& end)
      : IndexRange(CkArrayIndex(end.dimension, 0), end, CkArrayIndex(end.dimension, 1)) {}

  int dimension() const { return start_.dimension; }
  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // How many indices along dimension d.
  int extent(int d) const { return extent_[d]; }
  const CkArrayIndex& start() const { return start_; }
  const CkArrayIndex& step() const { return step_; }

  CkArrayIndex operator[](std::int64_t position) const {
    CkArrayIndex index = start_;
    for (int d = dimension() - 1; d >= 0; --d) {
      index.setCoordinate(d, start_.coordinate(d) + static_cast<int>(position % extent_[d]) * step_.coordinate(d));
      position /= extent_[d];
    }
    return index;
  }

  // The position of an index, or -1 when it is not in the range.
  std::int64_t position_of(const CkArrayIndex& index) const {
    if (index.dimension != start_.dimension || empty()) return -1;
    std::int64_t position = 0;
    for (int d = 0; d < dimension(); ++d) {
      const std::int64_t offset = std::int64_t{index.coordinate(d)} - start_.coordinate(d);
      const int step = step_.coordinate(d);
      const std::int64_t i = step == 1 ? offset : offset / step;
      if (offset < 0 || i >= extent_[d] || i * step != offset) return -1;
      position = position * extent_[d] + i;
    }
    return position;
  }
  bool contains(const CkArrayIndex& index) const { return position_of(index) >= 0; }

  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = CkArrayIndex;
    using difference_type = std::int64_t;
    using pointer = const CkArrayIndex*;
    using reference = const CkArrayIndex&;

    reference operator*() const { return index_; }
    pointer operator->() const { return &index_; }
    std::int64_t position() const { return position_; }
    // Like an odometer: the last dimension that is not at its end goes on, those behind it start over.
    iterator& operator++() {
      ++position_;
      for (int d = range_->dimension() - 1; d >= 0; --d) {
        if (++along_[d] < range_->extent_[d]) {
          index_.setCoordinate(d, index_.coordinate(d) + range_->step_.coordinate(d));
          break;
        }
        along_[d] = 0;
        index_.setCoordinate(d, range_->start_.coordinate(d));
      }
      return *this;
    }
    iterator operator++(int) {
      iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const iterator& other) const { return position_ == other.position_; }
    bool operator!=(const iterator& other) const { return position_ != other.position_; }

   private:
    friend class IndexRange;
    iterator(const IndexRange* range, std::int64_t position)
        : range_(range), position_(position), index_(range->start_) {}

    const IndexRange* range_;
    std::int64_t position_;
    CkArrayIndex index_;
    int along_[6] = {};
  };
  iterator begin() const { return iterator(this, 0); }
  iterator end() const { return iterator(this, size_); }

 private:
  CkArrayIndex start_, step_;
  int extent_[6] = {};
  std::int64_t size_ = 0;
};

}  // namespace chare
}  // namespace periapt
