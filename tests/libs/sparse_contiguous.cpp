// Elements contribute rectangles of an array, several of them the same one and some none, with every type and
// operation. The result is compared with a whole array that one loop has made, and by its list of rectangles.
#include <algorithm>
#include <string>
#include <vector>

#include "cksparsecontiguousreducer.h"
#include "sparse_contiguous_steps.decl.h"

CProxy_Main mainProxy;

namespace {
constexpr int givers = 30, parts = 14, rectangles = 10, width = 37, height = 23;
constexpr int nothing = -77;

// Ten rectangles that don't overlap; three elements each. Those of the last have none: it is given as empty, or not.
int rectangle_of(int giver) { return giver % rectangles; }
CkDataSegHeader bounds_of(int rectangle) {
  const int x = rectangle % 5 * 7 + 2, y = rectangle / 5 * 11 + rectangle % 3;
  return {x, y, x + rectangle % 4, y + rectangle % 6};
}
// Exact in all types, also as a product.
int value_of(int giver, int x, int y) { return (giver * 5 + x * 3 + y) % 17 - 8; }

CkReduction::reducerType type_of(int part) {
  const CkReduction::reducerType types[parts] = {
      sparse_sum_int,       sparse_product_int, sparse_max_int,       sparse_min_int,       sparse_sum_float,
      sparse_product_float, sparse_max_float,   sparse_min_float,     sparse_sum_double,    sparse_product_double,
      sparse_max_double,    sparse_min_double,  sparse_sum_TwoFloats, sparse_sum_TwoDoubles};
  return types[part];
}
int operation_of(int part) { return part < 12 ? part % 4 : 0; }

std::vector<int> expected_of(int part) {
  std::vector<int> all(width * height, nothing);
  for (int giver = 0; giver < givers; ++giver) {
    const CkDataSegHeader bounds = bounds_of(rectangle_of(giver));
    if (rectangle_of(giver) == rectangles - 1) continue;
    for (int y = bounds.sy; y <= bounds.ey; ++y)
      for (int x = bounds.sx; x <= bounds.ex; ++x) {
        int& into = all[y * width + x];
        const int value = value_of(giver, x, y);
        if (giver < rectangles)
          into = value;
        else if (operation_of(part) == 0)
          into += value;
        else if (operation_of(part) == 1)
          into *= value;
        else
          into = operation_of(part) == 2 ? std::max(into, value) : std::min(into, value);
      }
  }
  return all;
}

template <class T>
T number(int value) {
  return static_cast<T>(value);
}
template <>
CkTwoFloats number(int value) {
  return {static_cast<float>(value), static_cast<float>(2 * value)};
}
template <>
CkTwoDoubles number(int value) {
  return {static_cast<double>(value), 2.0 * value};
}
template <class T>
bool same(T a, T b) {
  return a == b;
}
bool same(CkTwoFloats a, CkTwoFloats b) { return a.f1 == b.f1 && a.f2 == b.f2; }
bool same(CkTwoDoubles a, CkTwoDoubles b) { return a.d1 == b.d1 && a.d2 == b.d2; }

template <class T>
bool is_right(int part, CkReductionMsg* result) {
  CkDataSegHeader whole;
  T* all = decompressMsg(result, whole, number<T>(nothing));
  const std::vector<int> expected = expected_of(part);
  int wrong = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const bool is_inside = x <= whole.ex && y <= whole.ey;
      const T found = is_inside ? all[y * (whole.ex + 1) + x] : number<T>(nothing);
      wrong += !same(found, number<T>(expected[y * width + x]));
    }
  delete[] all;
  // By hand, as the list that it is.
  auto* data = static_cast<unsigned char*>(result->getData());
  auto* numbers = reinterpret_cast<T*>(getDataPtr(data));
  wrong += numDataSegs(data) != rectangles - 1 || whole.sx != 0 || whole.sy != 0;
  for (int i = 0; i < numDataSegs(data); ++i) {
    const CkDataSegHeader bounds = getDataSegHeader(i, data);
    wrong += !(bounds == getDataSegHeaderPtr(data)[i]) || (i > 0 && !(getDataSegHeader(i - 1, data) < bounds));
    wrong += !same(numbers[0], number<T>(expected[bounds.sy * width + bounds.sx]));
    numbers += bounds.getNumElements();
  }
  return wrong == 0 && reinterpret_cast<unsigned char*>(numbers) == data + result->getSize();
}

template <class T>
void give_of(int giver, int part, ArrayElement* element) {
  const CkDataSegHeader bounds = bounds_of(rectangle_of(giver));
  std::vector<T> numbers;
  for (int y = bounds.sy; y <= bounds.ey; ++y)
    for (int x = bounds.sx; x <= bounds.ex; ++x) numbers.push_back(number<T>(value_of(giver, x, y)));
  CkSparseContiguousReducer<T> reducer;
  if (rectangle_of(giver) < rectangles - 1)
    reducer.add(bounds.sx, bounds.sy, bounds.ex, bounds.ey, numbers.data());
  else if (giver > rectangles)
    reducer.add(3, 3, 2, 5, numbers.data());
  const CkCallback to(CkIndex_Main::reduced(nullptr), mainProxy);
  if (part % 3 == 0)
    reducer.contribute(element, type_of(part));
  else
    reducer.contribute(element, type_of(part), to);
}
}  // namespace

class Main : public CBase_Main {
  CProxy_Giver givers_;
  int part_ = 0;
  bool is_mistake_ = false;

 public:
  explicit Main(CkArgMsg* m) {
    mainProxy = thisProxy;
    givers_ = CProxy_Giver::ckNew(givers);
    givers_.ckSetReductionClient(new CkCallback(CkIndex_Main::reduced(nullptr), thisProxy));
    is_mistake_ = m->argc > 1;
    if (is_mistake_)
      givers_.mistake(m->argv[1]);
    else
      givers_.give(0);
    delete m;
  }
  void reduced(CkReductionMsg* result) {
    const bool right = part_ < 4     ? is_right<int>(part_, result)
                       : part_ < 8   ? is_right<float>(part_, result)
                       : part_ < 12  ? is_right<double>(part_, result)
                       : part_ == 12 ? is_right<CkTwoFloats>(part_, result)
                                     : is_right<CkTwoDoubles>(part_, result);
    delete result;
    if (is_mistake_) CkExit(0);
    if (!right) {
      CkPrintf("failed: part %d\n", part_);
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
    if (part < 4)
      give_of<int>(thisIndex, part, this);
    else if (part < 8)
      give_of<float>(thisIndex, part, this);
    else if (part < 12)
      give_of<double>(thisIndex, part, this);
    else if (part == 12)
      give_of<CkTwoFloats>(thisIndex, part, this);
    else
      give_of<CkTwoDoubles>(thisIndex, part, this);
    if ((thisIndex + part) % 7 == 0) migrateMe((CkMyPe() + 1) % CkNumPes());
  }
  void mistake(std::string name) {
    std::vector<int> numbers(100);
    CkSparseContiguousReducer<int> reducer;
    if (name == "negative") reducer.add(-1, 0, 2, 2, numbers.data());
    const int x = name == "overlap" ? thisIndex : thisIndex * 5;
    reducer.add(x, 0, x + 4, 2, numbers.data());
    if (name == "twice") reducer.add(x, 5, x, 5, numbers.data());
    reducer.contribute(this, name == "type" ? sparse_sum_double : sparse_sum_int);
  }
};

#include "sparse_contiguous_steps.def.h"
