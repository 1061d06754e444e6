// Reductions of a large array of numbers of which each element contributes a few (-module CkSparseReducer). C++17:
// programs include it.
//
//   CkSparseReducer2D<double> part(3);   // room for three numbers
//   part.add(x, y, 1.5);                 // one after the other, at any places
//   part.contributeSum(this, CkCallback(CkIndex_Main::done(nullptr), mainProxy));
//
// The numbers are int, float or double; places are any values of int. The callback gets a CkReductionMsg whose data are
// getSize() / sizeof(sparseRec2D<double>) records, one for each place at which there was a number: in the order of x,
// of y and then x, or of z, y and then x. Numbers for the same place, of one element or of several, become one by the
// operation; the order in which doubles are added varies. All elements of an array contribute with the same dimensions,
// type and operation; one without numbers contributes nothing, with room for 0.
#pragma once
#include <vector>

#include "CkSparseReducer.decl.h"

template <class T>
struct sparseRec1D {
  int x;
  T data;
  sparseRec1D() = default;
  sparseRec1D(int x, T data) : x(x), data(data) {}
};
template <class T>
struct sparseRec2D {
  int x, y;
  T data;
  sparseRec2D() = default;
  sparseRec2D(int x, int y, T data) : x(x), y(y), data(data) {}
};
template <class T>
struct sparseRec3D {
  int x, y, z;
  T data;
  sparseRec3D() = default;
  sparseRec3D(int x, int y, int z, T data) : x(x), y(y), z(z), data(data) {}
};

// For contribute() without these classes: an array of the records, in the order above and each place once.
extern CkReduction::reducerType sparse1D_sum_int, sparse1D_sum_float, sparse1D_sum_double;
extern CkReduction::reducerType sparse1D_product_int, sparse1D_product_float, sparse1D_product_double;
extern CkReduction::reducerType sparse1D_max_int, sparse1D_max_float, sparse1D_max_double;
extern CkReduction::reducerType sparse1D_min_int, sparse1D_min_float, sparse1D_min_double;
extern CkReduction::reducerType sparse2D_sum_int, sparse2D_sum_float, sparse2D_sum_double;
extern CkReduction::reducerType sparse2D_product_int, sparse2D_product_float, sparse2D_product_double;
extern CkReduction::reducerType sparse2D_max_int, sparse2D_max_float, sparse2D_max_double;
extern CkReduction::reducerType sparse2D_min_int, sparse2D_min_float, sparse2D_min_double;
extern CkReduction::reducerType sparse3D_sum_int, sparse3D_sum_float, sparse3D_sum_double;
extern CkReduction::reducerType sparse3D_product_int, sparse3D_product_float, sparse3D_product_double;
extern CkReduction::reducerType sparse3D_max_int, sparse3D_max_float, sparse3D_max_double;
extern CkReduction::reducerType sparse3D_min_int, sparse3D_min_float, sparse3D_min_double;

namespace periapt {
namespace sparse {

enum class Operation { sum, product, max, min };

// What the three classes have in common. For the records of int, float and double; there is no code for others.
template <class Record>
class Contributor {
 public:
  explicit Contributor(int room);
  void contributeSum(ArrayElement* element, const CkCallback& to) { contribute(element, Operation::sum, to); }
  void contributeProduct(ArrayElement* element, const CkCallback& to) { contribute(element, Operation::product, to); }
  void contributeMax(ArrayElement* element, const CkCallback& to) { contribute(element, Operation::max, to); }
  void contributeMin(ArrayElement* element, const CkCallback& to) { contribute(element, Operation::min, to); }

 protected:
  void append(const Record& record);

 private:
  void contribute(ArrayElement* element, Operation operation, const CkCallback& to);
  int room_;
  std::vector<Record> records_;
};

}  // namespace sparse
}  // namespace periapt

// Made with the number of numbers that are to be added; adding more ends the run with a sentence, fewer are all right.
template <class T>
class CkSparseReducer1D : public periapt::sparse::Contributor<sparseRec1D<T>> {
 public:
  explicit CkSparseReducer1D(int room) : periapt::sparse::Contributor<sparseRec1D<T>>(room) {}
  void add(int x, T data) { this->append({x, data}); }
};
template <class T>
class CkSparseReducer2D : public periapt::sparse::Contributor<sparseRec2D<T>> {
 public:
  explicit CkSparseReducer2D(int room) : periapt::sparse::Contributor<sparseRec2D<T>>(room) {}
  void add(int x, int y, T data) { this->append({x, y, data}); }
};
template <class T>
class CkSparseReducer3D : public periapt::sparse::Contributor<sparseRec3D<T>> {
 public:
  explicit CkSparseReducer3D(int room) : periapt::sparse::Contributor<sparseRec3D<T>>(room) {}
  void add(int x, int y, int z, T data) { this->append({x, y, z, data}); }
};
