// Multiphase shared arrays: workers on all PEs fill arrays, read what others wrote, and add to what all add to. With an
// argument, a mistake, of which the library has to tell.
#include "msa/msa.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

// An entry that is as large as what was added to it.
struct List {
  std::vector<int> items;
  List() = default;
  List(int one) {  // 0 is the empty list
    if (one != 0) items.push_back(one);
  }
  List& operator+=(const List& more) {
    items.insert(items.end(), more.items.begin(), more.items.end());
    return *this;
  }
  void pup(PUP::er& p) { p | items; }
};

typedef MSA::MSA1D<int, DefaultEntry<int>, 8> Numbers;
typedef MSA::MSA2D<double, DefaultEntry<double>, MSA_DEFAULT_ENTRIES_PER_PAGE, MSA_ROW_MAJOR> Table;
typedef MSA::MSA3D<int, DefaultEntry<int>, 8> Box;
typedef MSA::MSA1D<List, DefaultEntry<List, true>, 4> Lists;
typedef MSA::MSA1D<CmiInt8, ProductEntry<CmiInt8>, 16> Products;

#include "msa_steps.decl.h"

CProxy_Main mainProxy;
int workers;

namespace {
constexpr int numbers_n = 1000, rows = 40, columns = 70, lists_n = 30;
const char* const mistakes[] = {"outside", "mode", "workers", "handle", "late"};
}  // namespace

class Main : public CBase_Main {
 public:
  Main(CkArgMsg* m) {
    workers = 2 * CkNumPes() + 1;
    mainProxy = thisProxy;
    // The cache has room for a few of the pages only.
    Numbers numbers(numbers_n, workers, 10 * 8 * sizeof(int));
    Table table(rows, columns, workers);
    Box box(-2, 3, 1, 5, 10, 14, workers);
    Lists lists(lists_n, workers);
    Products products(5, workers);
    CProxy_Worker all = CProxy_Worker::ckNew(numbers, table, box, lists, products, workers);
    int kind = -1;
    for (int i = 0; i < 5; ++i)
      if (m->argc > 1 && std::strcmp(m->argv[1], mistakes[i]) == 0) kind = i;
    delete m;
    if (kind >= 0)
      all.mistake(kind);
    else
      all.start();
  }
  void done(int wrong) {
    if (wrong > 0) CkAbort("%d entries are wrong", wrong);
    CkPrintf("all checks passed\n");
    CkExit();
  }
};

class Worker : public CBase_Worker {
 public:
  Worker(const Numbers& numbers, const Table& table, const Box& box, const Lists& lists, const Products& products)
      : numbers_(numbers), table_(table), box_(box), lists_(lists), products_(products) {}
  Worker(CkMigrateMessage*) {}

  void start() {
    numbers_.enroll(workers);
    table_.enroll(workers);
    box_.enroll(workers);
    lists_.enroll(workers);
    products_.enroll(workers);
    numbers();
    table();
    box();
    lists_and_products();
    contribute(sizeof(int), &wrong_, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, done), mainProxy));
  }

  // Of these the library has to tell.
  void mistake(int kind) {
    if (kind == 2) numbers_.enroll(workers + 1);
    numbers_.enroll(workers);
    Numbers::Write w = numbers_.getInitialWrite();
    if (kind == 0) w.set(numbers_n) = 1;
    if (kind == 1) {
      w.set(thisIndex) = 1;
      numbers_.getPageBottom(thisIndex, Read_Fault);
    }
    w.syncToRead();
    try {
      if (kind == 3) numbers_.getInitialWrite();
      if (kind == 4) w.set(1) = 1;
    } catch (const MSA::MSA_InvalidHandle&) {
      CkAbort("a handle that is not valid");
    }
  }

 private:
  void check(bool right, const char* what, int i) {
    if (right) return;
    ++wrong_;
    CkPrintf("worker %d: %s, at %d, is wrong\n", thisIndex, what, i);
  }
  static int value(int i) { return 7 * i + 3; }

  // Each worker writes every workers-th entry, so that pages are written by all.
  void numbers() {
    check(numbers_.length() == numbers_n && numbers_.getNumEntriesPerPage() == 8 && numbers_.getPageIndex(17) == 2 &&
              numbers_.getOffsetWithinPage(17) == 1,
          "the shape", 0);
    Numbers::Write w = numbers_.getInitialWrite();
    for (int i = thisIndex; i < numbers_n; i += workers) w.set(i) = value(i);
    Numbers::Read r = w.syncToRead();
    for (int i = 0; i < numbers_n; ++i) check(r.get(i) == value(i), "what was written", i);
    // Entries of which the pages lie apart.
    for (int i = 0; i < numbers_n / 2; i += 50)
      check(r(i) + r(numbers_n - 1 - i) == 7 * (numbers_n - 1) + 6, "a sum", i);

    // The cache has ten pages of eight. What was used last is there after another page has come.
    r = r.syncToRead();
    if (thisIndex == 0) {
      for (int page = 0; page < 10; ++page) r.get(8 * page);
      r.get(0);
      r.get(8 * 10);
      check(r.get2(0) == value(0), "what was used last", 0);
    }
    // Pages that come when the phase has ended, or the next one is over.
    r = r.syncToRead();
    numbers_.Prefetch(8 * (thisIndex % 9), 8 * (thisIndex % 9) + 7);

    Numbers::Accum a = r.syncToAccum();
    for (int i = 0; i < numbers_n; ++i) {
      a(i) += 1;
      a.accumulate(i) += thisIndex;
    }
    r = a.syncToRead();
    const int added = workers + workers * (workers - 1) / 2;
    for (int i = 0; i < numbers_n; ++i) check(r.get(i) == value(i) + added, "what was added", i);

    // What is not written stays.
    w = r.syncToWrite();
    if (thisIndex == 0) w(5) = -1;
    r = w.syncToRead();
    check(r.get(5) == -1 && r.get(4) == value(4) + added, "what was written again", 5);
    // Or becomes 0.
    w = r.syncToReWrite();
    if (thisIndex == workers - 1) w(6) = -2;
    a = w.syncToAccum();
    a(6) += 1;
    r = a.syncToRead();
    check(r.get(6) == workers - 2 && r.get(5) == 0 && r.get(numbers_n - 1) == 0, "what was cleared", 6);
    a = r.syncToEAccum();
    a(0) += 2;
    r = a.syncToRead();
    check(r.get(0) == 2 * workers && r.get(6) == 0, "what was cleared and added", 0);
    r.syncDone();
  }

  // Each worker has some rows.
  void table() {
    check(table_.getRows() == rows && table_.getCols() == columns && table_.getIndex(2, 3) == 2 * columns + 3 &&
              table_.getPageIndex(20, 1) == 1401 / table_.getNumEntriesPerPage(),
          "the shape of the table", 0);
    Table::Write w = table_.getInitialWrite();
    for (int row = thisIndex; row < rows; row += workers)
      for (int column = 0; column < columns; ++column) w(row, column) = row + 0.25 * column;
    Table::Read r = w.syncToRead();
    table_.Prefetch(0, rows - 1);
    check(table_.WaitAll() == 0, "the room for all pages", 0);
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column) {
        check(r.get2(row, column) == row + 0.25 * column, "the table", row);
        check(r.get(row, column) == row + 0.25 * column, "the table", row);
      }
    table_.Unlock();
    Table::Accum a = r.syncToAccum();
    a(3, 4) += 0.5;
    a(table_.getIndex(3, 5)) += 0.5;
    r = a.syncToRead();
    check(r(3, 4) == 4 + 0.5 * workers && r(3, 5) == 4.25 + 0.5 * workers && r(3, 6) == 4.5, "a sum in the table", 3);
  }

  void box() {
    Box::Write w = box_.getInitialWrite();
    std::vector<int> all(6 * 5 * 5), back(all.size());
    std::iota(all.begin(), all.end(), 1);
    if (thisIndex == 0) w.write(-2, 1, 10, 3, 5, 14, all.data());
    Box::Read r = w.syncToRead();
    r.read(back.data(), -2, 1, 10, 3, 5, 14);
    check(all == back, "the box", 0);
    check(r.get(-2, 1, 11) == 2 && r.get(-2, 2, 10) == 6 && r.get(-1, 1, 10) == 26, "the order in the box", 0);
    r.read(back.data(), 3, 5, 13, 3, 5, 14);
    check(back[0] == 149 && back[1] == 150, "a part of the box", 0);
    Box::Accum a = r.syncToAccum();
    a(0, 3, 12) += 1000;
    r = a.syncToRead();
    check(r(0, 3, 12) == 63 + 1000 * workers && r(0, 3, 13) == 64, "a sum in the box", 0);
  }

  void lists_and_products() {
    Lists::Accum a = lists_.getInitialAccum();
    for (int i = 0; i < lists_n; ++i) a(i) += List(100 * i + thisIndex + 1);
    Lists::Read r = a.syncToRead();
    for (int i = 0; i < lists_n; ++i) {
      const std::vector<int>& items = r.get(i).items;
      check(static_cast<int>(items.size()) == workers &&
                std::accumulate(items.begin(), items.end(), 0) == workers * (100 * i) + workers * (workers + 1) / 2,
            "a list", i);
    }
    Products::Accum p = products_.getInitialAccum();
    if (thisIndex < 40) p(1) += CmiInt8(2);
    Products::Read product = p.syncToRead();
    check(product.get(0) == 1 && product.get(1) == CmiInt8(1) << std::min(workers, 40), "a product", 1);
  }

  Numbers numbers_;
  Table table_;
  Box box_;
  Lists lists_;
  Products products_;
  int wrong_ = 0;
};

#include "msa_steps.def.h"
