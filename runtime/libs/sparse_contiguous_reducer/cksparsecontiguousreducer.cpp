// See cksparsecontiguousreducer.h. A contribution is laid out as the result is: the number of rectangles (8 bytes),
// their bounds, their numbers.
#include "cksparsecontiguousreducer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

CkReduction::reducerType sparse_sum_int, sparse_sum_float, sparse_sum_double;
CkReduction::reducerType sparse_sum_TwoFloats, sparse_sum_TwoDoubles;
CkReduction::reducerType sparse_product_int, sparse_product_float, sparse_product_double;
CkReduction::reducerType sparse_max_int, sparse_max_float, sparse_max_double;
CkReduction::reducerType sparse_min_int, sparse_min_float, sparse_min_double;

namespace {

constexpr std::size_t count_bytes = 8;

struct Sum {
  template <class T>
  static void work(T& into, const T& from) {
    into += from;
  }
};
struct Product {
  template <class T>
  static void work(T& into, const T& from) {
    into *= from;
  }
};
struct Max {
  template <class T>
  static void work(T& into, const T& from) {
    into = std::max(into, from);
  }
};
struct Min {
  template <class T>
  static void work(T& into, const T& from) {
    into = std::min(into, from);
  }
};

std::size_t cells_of(const CkDataSegHeader& bounds) {
  return (static_cast<std::size_t>(bounds.ex) - bounds.sx + 1) * (static_cast<std::size_t>(bounds.ey) - bounds.sy + 1);
}

std::size_t offset_of_numbers(int count) {
  return count_bytes + static_cast<std::size_t>(count) * sizeof(CkDataSegHeader);
}

// Calls use(bounds, numbers) for each rectangle of a message whose numbers have `bytes` each.
template <class Use>
void for_each(CkReductionMsg* message, std::size_t bytes, Use use) {
  auto* data = static_cast<unsigned char*>(message->getData());
  const int count = numDataSegs(data);
  const CkDataSegHeader* bounds = getDataSegHeaderPtr(data);
  std::size_t size = offset_of_numbers(count);
  for (int i = 0; i < count; ++i) size += cells_of(bounds[i]) * bytes;
  if (size != static_cast<std::size_t>(message->getSize()))
    CkAbort(
        "CkSparseContiguousReducer: %d rectangles have %d bytes, and %zu with numbers of %zu bytes: the type has to be "
        "the one that all elements contributed",
        count, message->getSize(), size, bytes);
  const unsigned char* numbers = getDataPtr(data);
  for (int i = 0; i < count; ++i) {
    use(bounds[i], numbers);
    numbers += cells_of(bounds[i]) * bytes;
  }
}

template <class T, class Operation>
CkReductionMsg* reduce(int count, CkReductionMsg** messages) {
  if (count == 1) return messages[0];
  std::map<CkDataSegHeader, std::vector<T>> rectangles;
  std::size_t cells = 0;
  for (int i = 0; i < count; ++i)
    for_each(messages[i], sizeof(T), [&](const CkDataSegHeader& bounds, const unsigned char* bytes) {
      std::vector<T>& into = rectangles[bounds];
      if (into.empty()) {
        cells += cells_of(bounds);
        into.resize(cells_of(bounds));
        std::memcpy(static_cast<void*>(into.data()), bytes, into.size() * sizeof(T));
        return;
      }
      for (T& number : into) {
        T from;
        std::memcpy(static_cast<void*>(&from), bytes, sizeof from);
        Operation::work(number, from);
        bytes += sizeof from;
      }
    });
  const std::int64_t number = static_cast<std::int64_t>(rectangles.size());
  const std::size_t begin = offset_of_numbers(static_cast<int>(number));
  CkReductionMsg* result = CkReductionMsg::buildNew(static_cast<int>(begin + cells * sizeof(T)), nullptr);
  auto* data = static_cast<unsigned char*>(result->getData());
  std::memcpy(data, &number, sizeof number);
  unsigned char *at = data + count_bytes, *numbers = data + begin;
  for (const auto& rectangle : rectangles) {
    std::memcpy(at, &rectangle.first, sizeof rectangle.first);
    at += sizeof rectangle.first;
    std::memcpy(numbers, rectangle.second.data(), rectangle.second.size() * sizeof(T));
    numbers += rectangle.second.size() * sizeof(T);
  }
  return result;
}

// Bytes of a number, of the types of this file.
std::map<int, int>& number_bytes() {
  static std::map<int, int> bytes;
  return bytes;
}

template <class T, class Operation>
CkReduction::reducerType enter(const char* name) {
  const CkReduction::reducerType type = CkReduction::addReducer(reduce<T, Operation>, false, name);
  number_bytes()[type] = static_cast<int>(sizeof(T));
  return type;
}

template <class T>
T* decompress(CkReductionMsg* message, CkDataSegHeader& whole, T nothing) {
  whole = CkDataSegHeader(0, 0, -1, -1);
  for_each(message, sizeof(T), [&](const CkDataSegHeader& bounds, const unsigned char*) {
    whole.ex = std::max(whole.ex, bounds.ex);
    whole.ey = std::max(whole.ey, bounds.ey);
  });
  const std::size_t width = static_cast<std::size_t>(whole.ex) + 1, cells = width * (whole.ey + 1);
  T* all = new T[cells];
  std::fill_n(all, cells, nothing);
  std::vector<bool> is_set(cells);
  for_each(message, sizeof(T), [&](const CkDataSegHeader& bounds, const unsigned char* numbers) {
    for (int y = bounds.sy; y <= bounds.ey; ++y)
      for (int x = bounds.sx; x <= bounds.ex; ++x, numbers += sizeof(T)) {
        const std::size_t cell = static_cast<std::size_t>(y) * width + x;
        if (is_set[cell])
          CkAbort(
              "CkSparseContiguousReducer: the rectangle from (%d, %d) to (%d, %d) overlaps another one, at (%d, %d), "
              "and is not the same",
              bounds.sx, bounds.sy, bounds.ex, bounds.ey, x, y);
        is_set[cell] = true;
        std::memcpy(static_cast<void*>(&all[cell]), numbers, sizeof(T));
      }
  });
  return all;
}

}  // namespace

void periapt::sparse::check_rectangle(const CkDataSegHeader& bounds, bool is_second) {
  if (is_second)
    CkAbort("CkSparseContiguousReducer::add() is called a second time: an element contributes one rectangle");
  if (bounds.sx < 0 || bounds.sy < 0)
    CkAbort("CkSparseContiguousReducer::add() with a rectangle from (%d, %d): arrays begin at (0, 0)", bounds.sx,
            bounds.sy);
}

void periapt::sparse::contribute_rectangle(ArrayElement* element, CkReduction::reducerType type, const CkCallback& to,
                                           const CkDataSegHeader& bounds, const void* numbers, int bytes) {
  const auto known = number_bytes().find(type);
  if (known != number_bytes().end() && known->second != bytes)
    CkAbort("CkSparseContiguousReducer::contribute() of numbers of %d bytes with a reducer for numbers of %d bytes",
            bytes, known->second);
  const std::int64_t count = numbers != nullptr && bounds.ex >= bounds.sx && bounds.ey >= bounds.sy ? 1 : 0;
  std::vector<unsigned char> data(offset_of_numbers(static_cast<int>(count)));
  std::memcpy(data.data(), &count, sizeof count);
  if (count == 1) {
    std::memcpy(data.data() + count_bytes, &bounds, sizeof bounds);
    const auto* first = static_cast<const unsigned char*>(numbers);
    data.insert(data.end(), first, first + cells_of(bounds) * static_cast<std::size_t>(bytes));
  }
  if (to.isInvalid())
    element->contribute(static_cast<int>(data.size()), data.data(), type);
  else
    element->contribute(static_cast<int>(data.size()), data.data(), type, to);
}

int numDataSegs(const unsigned char* data) {
  std::int64_t count;
  std::memcpy(&count, data, sizeof count);
  return static_cast<int>(count);
}
CkDataSegHeader getDataSegHeader(int index, const unsigned char* data) {
  if (index < 0 || index >= numDataSegs(data))
    CkAbort("getDataSegHeader() of rectangle %d: there are %d", index, numDataSegs(data));
  return getDataSegHeaderPtr(data)[index];
}
CkDataSegHeader* getDataSegHeaderPtr(const unsigned char* data) {
  return reinterpret_cast<CkDataSegHeader*>(const_cast<unsigned char*>(data) + count_bytes);
}
unsigned char* getDataPtr(unsigned char* data) { return data + offset_of_numbers(numDataSegs(data)); }

int* decompressMsg(CkReductionMsg* message, CkDataSegHeader& whole, int nothing) {
  return decompress(message, whole, nothing);
}
float* decompressMsg(CkReductionMsg* message, CkDataSegHeader& whole, float nothing) {
  return decompress(message, whole, nothing);
}
double* decompressMsg(CkReductionMsg* message, CkDataSegHeader& whole, double nothing) {
  return decompress(message, whole, nothing);
}
CkTwoDoubles* decompressMsg(CkReductionMsg* message, CkDataSegHeader& whole, CkTwoDoubles nothing) {
  return decompress(message, whole, nothing);
}
CkTwoFloats* decompressMsg(CkReductionMsg* message, CkDataSegHeader& whole, CkTwoFloats nothing) {
  return decompress(message, whole, nothing);
}

void registerSparseContiguousReducers() {
  sparse_sum_int = enter<int, Sum>("sparse_sum_int");
  sparse_sum_float = enter<float, Sum>("sparse_sum_float");
  sparse_sum_double = enter<double, Sum>("sparse_sum_double");
  sparse_sum_TwoFloats = enter<CkTwoFloats, Sum>("sparse_sum_TwoFloats");
  sparse_sum_TwoDoubles = enter<CkTwoDoubles, Sum>("sparse_sum_TwoDoubles");
  sparse_product_int = enter<int, Product>("sparse_product_int");
  sparse_product_float = enter<float, Product>("sparse_product_float");
  sparse_product_double = enter<double, Product>("sparse_product_double");
  sparse_max_int = enter<int, Max>("sparse_max_int");
  sparse_max_float = enter<float, Max>("sparse_max_float");
  sparse_max_double = enter<double, Max>("sparse_max_double");
  sparse_min_int = enter<int, Min>("sparse_min_int");
  sparse_min_float = enter<float, Min>("sparse_min_float");
  sparse_min_double = enter<double, Min>("sparse_min_double");
}

#include "CkSparseContiguousReducer.def.h"
