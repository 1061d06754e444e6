// See cksparsereducer.h. A reducer puts the records of all contributions behind each other, sorts them and works those
// of a place into one: once on each PE with what has come from it and from below, so not in the order of arrival.
#include "cksparsereducer.h"

#include <algorithm>
#include <tuple>

namespace {
using periapt::sparse::Operation;

template <class T>
bool before(const sparseRec1D<T>& a, const sparseRec1D<T>& b) {
  return a.x < b.x;
}
template <class T>
bool before(const sparseRec2D<T>& a, const sparseRec2D<T>& b) {
  return std::tie(a.y, a.x) < std::tie(b.y, b.x);
}
template <class T>
bool before(const sparseRec3D<T>& a, const sparseRec3D<T>& b) {
  return std::tie(a.z, a.y, a.x) < std::tie(b.z, b.y, b.x);
}

template <class T>
T apply(Operation operation, T a, T b) {
  switch (operation) {
    case Operation::sum:
      return a + b;
    case Operation::product:
      return a * b;
    case Operation::max:
      return std::max(a, b);
    case Operation::min:
      break;
  }
  return std::min(a, b);
}

// One record a place, in the order of places.
template <class Record>
void settle(Operation operation, std::vector<Record>& records) {
  std::stable_sort(records.begin(), records.end(), [](const Record& a, const Record& b) { return before(a, b); });
  std::size_t kept = 0;
  for (const Record& next : records) {
    if (kept > 0 && !before(records[kept - 1], next))
      records[kept - 1].data = apply(operation, records[kept - 1].data, next.data);
    else
      records[kept++] = next;
  }
  records.resize(kept);
}

template <class Record, Operation operation>
CkReductionMsg* reduce(int count, CkReductionMsg** messages) {
  if (count == 1) return messages[0];
  std::vector<Record> records;
  for (int i = 0; i < count; ++i) {
    if (messages[i]->getSize() % sizeof(Record) != 0)
      CkAbort(
          "CkSparseReducer: one contribution has %d bytes, which are no whole number of records of %d: all elements "
          "contribute with the same dimensions and type",
          messages[i]->getSize(), static_cast<int>(sizeof(Record)));
    const auto* first = static_cast<const Record*>(messages[i]->getData());
    records.insert(records.end(), first, first + messages[i]->getSize() / sizeof(Record));
  }
  settle(operation, records);
  return CkReductionMsg::buildNew(static_cast<int>(records.size() * sizeof(Record)), records.data());
}

// By operation.
template <class Record>
CkReduction::reducerType reducers[4];

template <class Record, Operation operation>
void enter(CkReduction::reducerType& type, const char* name) {
  type = reducers<Record>[static_cast<int>(operation)] =
      CkReduction::addReducer(reduce<Record, operation>, false, name);
}

#define PERIAPT_SPARSE_REDUCERS(D, T)                                                                              \
  CkReduction::reducerType sparse##D##_sum_##T, sparse##D##_product_##T, sparse##D##_max_##T, sparse##D##_min_##T; \
  template class periapt::sparse::Contributor<sparseRec##D<T>>;
#define PERIAPT_ENTER_SPARSE_REDUCERS(D, T)                                                        \
  enter<sparseRec##D<T>, Operation::sum>(sparse##D##_sum_##T, "sparse" #D "_sum_" #T);             \
  enter<sparseRec##D<T>, Operation::product>(sparse##D##_product_##T, "sparse" #D "_product_" #T); \
  enter<sparseRec##D<T>, Operation::max>(sparse##D##_max_##T, "sparse" #D "_max_" #T);             \
  enter<sparseRec##D<T>, Operation::min>(sparse##D##_min_##T, "sparse" #D "_min_" #T);
#define PERIAPT_EACH_SPARSE(WHAT) \
  WHAT(1D, int)                   \
  WHAT(1D, float)                 \
  WHAT(1D, double)                \
  WHAT(2D, int)                   \
  WHAT(2D, float)                 \
  WHAT(2D, double)                \
  WHAT(3D, int)                   \
  WHAT(3D, float)                 \
  WHAT(3D, double)
}  // namespace

template <class Record>
periapt::sparse::Contributor<Record>::Contributor(int room) : room_(room) {
  if (room < 0) CkAbort("CkSparseReducer is made for %d numbers: 0 or more are wanted", room);
  records_.reserve(static_cast<std::size_t>(room));
}

template <class Record>
void periapt::sparse::Contributor<Record>::append(const Record& record) {
  if (static_cast<int>(records_.size()) == room_)
    CkAbort("CkSparseReducer::add() is called more often than the %d times for which it was made", room_);
  records_.push_back(record);
}

template <class Record>
void periapt::sparse::Contributor<Record>::contribute(ArrayElement* element, Operation operation,
                                                      const CkCallback& to) {
  std::vector<Record> records = records_;
  settle(operation, records);
  element->contribute(static_cast<int>(records.size() * sizeof(Record)), records.data(),
                      reducers<Record>[static_cast<int>(operation)], to);
}

PERIAPT_EACH_SPARSE(PERIAPT_SPARSE_REDUCERS)

void registerSparseReducers() { PERIAPT_EACH_SPARSE(PERIAPT_ENTER_SPARSE_REDUCERS) }

#include "CkSparseReducer.def.h"
