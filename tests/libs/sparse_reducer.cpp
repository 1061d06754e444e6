// Elements contribute numbers at places of which some are common, some twice an element's own and some negative, while
// they move: every number of dimensions, type and operation. The result is compared with what one map makes of all.
#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "cksparsereducer.h"
#include "sparse_reducer_steps.decl.h"

CProxy_Main mainProxy;

namespace {
constexpr int givers = 23, parts = 3 * 3 * 4, numbers_max = 6;

// A part is dimensions, type and operation. Element 0 has no numbers.
int dimensions_of(int part) { return part / 12 + 1; }
int type_of(int part) { return part / 4 % 3; }
int operation_of(int part) { return part % 4; }
int numbers_of(int giver) { return giver % (numbers_max + 1); }

// z, y, x: the order of the result.
using Place = std::array<int, 3>;
Place place_of(int giver, int number, int dimensions) {
  const int x = number == 5 ? 7 : giver * 3 % 11 - number * 4;
  return {dimensions < 3 ? 0 : (giver - number) % 3, dimensions < 2 ? 0 : number * 2 - giver % 4, x};
}
// Exact in all types, also as a product of all.
int value_of(int giver, int number, int operation) {
  return operation == 1 ? ((giver + number) % 5 == 0 ? -2 : 1) : giver * 7 % 13 - number * 3;
}

template <class T>
void add(CkSparseReducer1D<T>& part, const Place& at, T value) {
  part.add(at[2], value);
}
template <class T>
void add(CkSparseReducer2D<T>& part, const Place& at, T value) {
  part.add(at[2], at[1], value);
}
template <class T>
void add(CkSparseReducer3D<T>& part, const Place& at, T value) {
  part.add(at[2], at[1], at[0], value);
}
template <class T>
Place place_in(const sparseRec1D<T>& record) {
  return {0, 0, record.x};
}
template <class T>
Place place_in(const sparseRec2D<T>& record) {
  return {0, record.y, record.x};
}
template <class T>
Place place_in(const sparseRec3D<T>& record) {
  return {record.z, record.y, record.x};
}

template <class Reducer, class T>
void give(int giver, int part, ArrayElement* element) {
  Reducer reducer(numbers_max);
  for (int i = 0; i < numbers_of(giver); ++i)
    add(reducer, place_of(giver, i, dimensions_of(part)), static_cast<T>(value_of(giver, i, operation_of(part))));
  const CkCallback to(CkIndex_Main::reduced(nullptr), mainProxy);
  if (operation_of(part) == 0) reducer.contributeSum(element, to);
  if (operation_of(part) == 1) reducer.contributeProduct(element, to);
  if (operation_of(part) == 2) reducer.contributeMax(element, to);
  if (operation_of(part) == 3) reducer.contributeMin(element, to);
}

std::map<Place, double> expected_of(int part) {
  std::map<Place, double> all;
  for (int giver = 0; giver < givers; ++giver)
    for (int i = 0; i < numbers_of(giver); ++i) {
      const double value = value_of(giver, i, operation_of(part));
      const auto entry = all.emplace(place_of(giver, i, dimensions_of(part)), value);
      double& into = entry.first->second;
      if (entry.second) continue;
      if (operation_of(part) == 0) into += value;
      if (operation_of(part) == 1) into *= value;
      if (operation_of(part) == 2) into = std::max(into, value);
      if (operation_of(part) == 3) into = std::min(into, value);
    }
  return all;
}

template <class Record>
bool is_right(int part, const CkReductionMsg* result) {
  const std::map<Place, double> expected = expected_of(part);
  const auto* records = static_cast<const Record*>(result->getData());
  if (result->getSize() != static_cast<int>(expected.size() * sizeof(Record))) return false;
  return std::equal(expected.begin(), expected.end(), records,
                    [](const std::pair<const Place, double>& wanted, const Record& record) {
                      return wanted.first == place_in(record) && wanted.second == static_cast<double>(record.data);
                    });
}
template <class T>
bool is_right_of(int part, const CkReductionMsg* result) {
  if (dimensions_of(part) == 1) return is_right<sparseRec1D<T>>(part, result);
  if (dimensions_of(part) == 2) return is_right<sparseRec2D<T>>(part, result);
  return is_right<sparseRec3D<T>>(part, result);
}
template <class T>
void give_of(int giver, int part, ArrayElement* element) {
  if (dimensions_of(part) == 1) give<CkSparseReducer1D<T>, T>(giver, part, element);
  if (dimensions_of(part) == 2) give<CkSparseReducer2D<T>, T>(giver, part, element);
  if (dimensions_of(part) == 3) give<CkSparseReducer3D<T>, T>(giver, part, element);
}
}  // namespace

class Main : public CBase_Main {
  CProxy_Giver givers_;
  int part_ = 0;

 public:
  explicit Main(CkArgMsg* m) {
    mainProxy = thisProxy;
    givers_ = CProxy_Giver::ckNew(givers);
    if (m->argc > 1)
      givers_.mistake(m->argv[1]);
    else
      givers_.give(0);
    delete m;
  }
  void reduced(CkReductionMsg* result) {
    const bool right = type_of(part_) == 0   ? is_right_of<int>(part_, result)
                       : type_of(part_) == 1 ? is_right_of<float>(part_, result)
                                             : is_right_of<double>(part_, result);
    delete result;
    if (!right) {
      CkPrintf("failed: %d dimensions, type %d, operation %d\n", dimensions_of(part_), type_of(part_),
               operation_of(part_));
      CkExit(1);
    } else if (++part_ < parts) {
      givers_.give(part_);
    } else {
      CkExit(0);
    }
  }
};

class Giver : public CBase_Giver {
 public:
  Giver() = default;
  explicit Giver(CkMigrateMessage*) {}
  void give(int part) {
    if (type_of(part) == 0) give_of<int>(thisIndex, part, this);
    if (type_of(part) == 1) give_of<float>(thisIndex, part, this);
    if (type_of(part) == 2) give_of<double>(thisIndex, part, this);
    if ((thisIndex + part) % 5 == 0) migrateMe((CkMyPe() + 1) % CkNumPes());
  }
  void mistake(std::string name) {
    CkSparseReducer1D<int> reducer(name == "room" ? -1 : 2);
    CkSparseReducer2D<double> other(1);
    const CkCallback to(CkIndex_Main::reduced(nullptr), mainProxy);
    for (int i = 0; i < (name == "more" ? 3 : 1); ++i) reducer.add(thisIndex, 1);
    other.add(1, 1, 1.5);
    const std::vector<char> bytes(7);
    if (thisIndex % 2 == 0) return reducer.contributeSum(this, to);
    contribute(static_cast<int>(bytes.size()), bytes.data(), sparse1D_sum_int, to);
  }
};

#include "sparse_reducer_steps.def.h"
