// Reductions of an array of two dimensions of which each element contributes a rectangle
// (-module CkSparseContiguousReducer). C++17: programs include it.
//
//   CkSparseContiguousReducer<double> part;
//   part.add(x0, y0, x1, y1, numbers);   // both ends belong to it, from 0 on; numbers: row by row, x runs along a row
//   part.contribute(this, sparse_sum_double, CkCallback(CkIndex_Main::done(nullptr), mainProxy));
//
//   CkDataSegHeader whole;
//   double* all = decompressMsg(message, whole, 0.0);   // in done(): from (0, 0) to (whole.ex, whole.ey)
//
// Rectangles that are the same become one by the operation; the others may not overlap. `numbers` is read when the
// element contributes. An element without a rectangle (add() is not called, or an end lies before its start)
// contributes nothing. The result's bytes are a list of rectangles, by y0 and then x0: numDataSegs() of them,
// getDataSegHeader() for the bounds of each, and behind getDataPtr() their numbers, one rectangle after the other.
#pragma once
#include "CkSparseContiguousReducer.decl.h"

extern CkReduction::reducerType sparse_sum_int, sparse_sum_float, sparse_sum_double;
extern CkReduction::reducerType sparse_sum_TwoFloats, sparse_sum_TwoDoubles;
extern CkReduction::reducerType sparse_product_int, sparse_product_float, sparse_product_double;
extern CkReduction::reducerType sparse_max_int, sparse_max_float, sparse_max_double;
extern CkReduction::reducerType sparse_min_int, sparse_min_float, sparse_min_double;

// Two numbers that are added each for itself.
class CkTwoDoubles {
 public:
  double d1, d2;
  CkTwoDoubles(double d1 = 0, double d2 = 0) : d1(d1), d2(d2) {}
  void operator+=(CkTwoDoubles o) { *this = {d1 + o.d1, d2 + o.d2}; }
};
class CkTwoFloats {
 public:
  float f1, f2;
  CkTwoFloats(float f1 = 0, float f2 = 0) : f1(f1), f2(f2) {}
  void operator+=(CkTwoFloats o) { *this = {f1 + o.f1, f2 + o.f2}; }
};

// The bounds of a rectangle: s from, e to.
class CkDataSegHeader {
 public:
  int sx, sy, ex, ey;
  CkDataSegHeader() = default;
  CkDataSegHeader(int sx, int sy, int ex, int ey) : sx(sx), sy(sy), ex(ex), ey(ey) {}
  bool operator==(const CkDataSegHeader& o) const { return sx == o.sx && sy == o.sy && ex == o.ex && ey == o.ey; }
  // By place, and where it is the same by size.
  bool operator<(const CkDataSegHeader& o) const {
    return sy != o.sy ? sy < o.sy : sx != o.sx ? sx < o.sx : ey != o.ey ? ey < o.ey : ex < o.ex;
  }
  int getNumElements() const { return (ex - sx + 1) * (ey - sy + 1); }
};

namespace periapt {
namespace sparse {
// Contributes `bounds` and, row by row, so many numbers of `bytes`; null: none. An invalid callback: the array's.
void contribute_rectangle(ArrayElement* element, CkReduction::reducerType type, const CkCallback& to,
                          const CkDataSegHeader& bounds, const void* numbers, int bytes);
// Ends the run with a sentence where there is no rectangle that may be added.
void check_rectangle(const CkDataSegHeader& bounds, bool is_second);
}  // namespace sparse
}  // namespace periapt

template <class T>
class CkSparseContiguousReducer {
 public:
  // Once.
  void add(int sx, int sy, int ex, int ey, T* numbers) {
    const CkDataSegHeader bounds(sx, sy, ex, ey);
    periapt::sparse::check_rectangle(bounds, numbers_ != nullptr);
    bounds_ = bounds;
    numbers_ = numbers;
  }
  void contribute(ArrayElement* element, CkReduction::reducerType type, const CkCallback& to) {
    periapt::sparse::contribute_rectangle(element, type, to, bounds_, numbers_, static_cast<int>(sizeof(T)));
  }
  // To the array's reduction client.
  void contribute(ArrayElement* element, CkReduction::reducerType type) { contribute(element, type, CkCallback()); }

 private:
  CkDataSegHeader bounds_ = {0, 0, -1, -1};
  const T* numbers_ = nullptr;
};

// Of the bytes of a result, CkReductionMsg::getData().
int numDataSegs(const unsigned char* data);
CkDataSegHeader getDataSegHeader(int index, const unsigned char* data);
CkDataSegHeader* getDataSegHeaderPtr(const unsigned char* data);  // all of them
unsigned char* getDataPtr(unsigned char* data);

// The array from (0, 0) to the largest x and y of the result, row by row: a new[] array that the caller deletes.
// `whole`: its bounds. `nothing` stands where there is no rectangle, and its type says what the numbers are. The
// message stays the caller's. Rectangles that overlap end the run with a sentence.
int* decompressMsg(CkReductionMsg* message, CkDataSegHeader& whole, int nothing);
float* decompressMsg(CkReductionMsg* message, CkDataSegHeader& whole, float nothing);
double* decompressMsg(CkReductionMsg* message, CkDataSegHeader& whole, double nothing);
CkTwoDoubles* decompressMsg(CkReductionMsg* message, CkDataSegHeader& whole, CkTwoDoubles nothing);
CkTwoFloats* decompressMsg(CkReductionMsg* message, CkDataSegHeader& whole, CkTwoFloats nothing);
