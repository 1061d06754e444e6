// Allgathers of memory of GPUs, of all kinds: of all members of arrays, groups, node groups and sections, parts of one
// size and of several, of none too, to all of them and to others, in place, while elements migrate. It runs on the GPUs
// of the process's driver, which in ./check is a fake one; without any, all memory is the host's. With a word it makes
// a mistake.
#include <algorithm>
#include <complex>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "charm++.h"
#include "tests/zero-copy/device_memory.h"

// What each member gives: member number i, counted from `first` in steps of `stride`, `size` + i * `more` doubles.
struct Asked {
  int members = 0, first = 0, stride = 1, size = 0, more = 0;
  bool in_place = false;
  int number_of(int index) const { return (index - first) / stride; }
  std::size_t part(int number) const { return static_cast<std::size_t>(size + number * more); }
  std::size_t before(int number) const {
    std::size_t all = 0;
    for (int i = 0; i < number; ++i) all += part(i);
    return all;
  }
  std::size_t whole() const { return before(members); }
};
PUPbytes(Asked)

#include "gpu_allgathers.decl.h"

    /*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Cell cells;
/*readonly*/ CProxy_Branch branches;
/*readonly*/ CProxy_NodeBranch nodes;

namespace {

using namespace device_memory;

constexpr int cell_count = 11, rows = 3, columns = 4, many = 300;

double value(int number, std::size_t i) { return number * 1e6 + static_cast<double>(i % 9973); }

// Memory that is contributed stays until the end: an element may have gone by the time that it is read.
std::mutex mutex;
std::vector<std::unique_ptr<Memory>>& all_memory() {
  static auto& all = *new std::vector<std::unique_ptr<Memory>>;
  return all;
}
Memory& make(MemoryType kind, std::size_t bytes) {
  auto made = std::make_unique<Memory>(kind, bytes);
  std::lock_guard lock(mutex);
  all_memory().push_back(std::move(made));
  return *all_memory().back();
}
Memory& memory_at(const double* x) {
  std::lock_guard lock(mutex);
  const auto found = std::find_if(all_memory().begin(), all_memory().end(),
                                  [x](const auto& one) { return one->template at<double>() == x; });
  DEMAND(found != all_memory().end());
  return **found;
}

void check_whole(const double* x, const Asked& asked) {
  std::size_t at = 0;
  for (int number = 0; number < asked.members; ++number)
    for (std::size_t i = 0; i < asked.part(number); ++i) DEMAND(x[at++] == value(number, i));
}

// A member: where it gives from, and gets the result to.
struct Member {
  Asked asked;
  Memory* mine = nullptr;

  std::size_t bytes(int index) const { return asked.part(asked.number_of(index)) * sizeof(double); }
  // Still being written by its stream.
  CkDeviceBuffer give(int index) {
    const int number = asked.number_of(index);
    const std::size_t before = asked.in_place ? asked.before(number) : 0;
    std::vector<double> values(asked.in_place ? asked.whole() : asked.part(number), -1);
    for (std::size_t i = 0; i < asked.part(number); ++i) values[before + i] = value(number, i);
    mine = &make(kinds[index % 5], values.size() * sizeof(double));
    mine->write(values);
    const CkCallback read = asked.in_place
                                ? CkCallback(CkIndex_Main::one(), mainProxy)  // of the result too
                                : use_again(*mine, values.size(), CkCallback(CkIndex_Main::one(), mainProxy));
    return CkDeviceBuffer(mine->at<double>() + before, read, mine->stream());
  }
  void take(int index, int n, double*& x, CkDeviceBufferPost* post) const {
    Memory& to = asked.in_place ? *mine : make(kinds[(index + 2) % 5], static_cast<std::size_t>(n) * sizeof(double));
    x = to.at<double>();
    post[0].cuda_stream = to.stream();
  }
  void check(int n, const double* x) const {
    DEMAND(static_cast<std::size_t>(n) == asked.whole());
    check_whole(memory_at(x).read(x, static_cast<std::size_t>(n)).data(), asked);
    mainProxy.one();
  }
};

// Where Main gets the result in rows of one, a place apart.
double* strided = nullptr;

}  // namespace

class AskMsg : public CkMcastBaseMsg, public CMessage_AskMsg {
 public:
  Asked asked;
  CkCallback to;           // invalid: one that the member makes, to the section
  bool for_other = false;  // member 1 contributes for member 5
};

class Main : public CBase_Main {
  int left_ = 0;
  CthThread thread_ = nullptr;
  Asked asked_;

  // Each of the calls that are made meanwhile tells one() when all is well.
  void wait(int count) {
    left_ += count;
    while (left_ != 0) {
      thread_ = CthSelf();
      CthSuspend();
      thread_ = nullptr;
    }
    CkWaitQD();  // nothing comes twice
    DEMAND(left_ == 0);
  }
  void to_section(CProxySection_Cell& section, const Asked& asked, const CkCallback& to, bool for_other = false) {
    auto* const message = new AskMsg;
    message->asked = asked;
    message->to = to;
    message->for_other = for_other;
    section.giveToSection(message);
  }

 public:
  explicit Main(CkArgMsg* args) {
    const std::string wrong = args->argc > 1 ? args->argv[1] : "";
    delete args;
    mainProxy = thisProxy;
    cells = CProxy_Cell::ckNew(cell_count);
    branches = CProxy_Branch::ckNew();
    nodes = CProxy_NodeBranch::ckNew();
    if (wrong.empty())
      thisProxy.run();
    else if (wrong == "twice")
      thisProxy.giveForOther();
    else if (wrong == "of_many")
      thisProxy.ofMany();
    else
      cells.wrong(wrong);
  }
  void one() {
    --left_;
    if (left_ == 0 && thread_) CthAwaken(thread_);
  }
  void giveForOther() {
    CProxySection_Cell section = CProxySection_Cell::ckNew(cells.ckGetArrayID(), 1, 9, 4);
    to_section(section, {3, 1, 4, 100, 0}, CkCallback(CkReductionTarget(Main, onDevice), mainProxy), true);
  }
  void onDevice(int& n, double*& x, CkDeviceBufferPost* post) { Member{asked_, nullptr}.take(3, n, x, post); }
  void onDevice(int n, double* x) { Member{asked_, nullptr}.check(n, x); }
  void onHost(int n, double* x) {
    DEMAND(static_cast<std::size_t>(n) == asked_.whole());
    check_whole(x, asked_);
    one();
  }
  void onComplex(std::complex<double>*&, int&, CkDeviceBufferPost*) {}
  void onComplex(std::complex<double>*, int) {}
  void onRows(int& n, double*& x, CkDeviceBufferPost* post) {
    Memory& to = make(MemoryType::device, 2 * static_cast<std::size_t>(n) * sizeof(double));
    to.write(std::vector<double>(2 * static_cast<std::size_t>(n), 5));
    x = strided = to.at<double>();
    post[0].cuda_stream = to.stream();
    post[0].layout = CkDeviceLayout::vector<double>(n, 1, 2);
  }
  void onRows(int n, double* x) {
    DEMAND(x == strided);
    const std::vector<double> there = memory_at(x).read(x, 2 * static_cast<std::size_t>(n));
    std::vector<double> whole;
    for (std::size_t i = 0; i < there.size(); i += 2) {
      whole.push_back(there[i]);
      DEMAND(there[i + 1] == 5);
    }
    check_whole(whole.data(), asked_);
    one();
  }
  // All but the last have contributed, and some are destroyed; or a PE that has reported makes another element, which
  // is not one of this reduction. Then the last one contributes.
  void giveLast(const Asked& asked, bool inserts) {
    CkWaitQD();
    if (inserts) branches[1].insertOne();
    CkWaitQD();
    cells[cell_count - 1].give(asked, CkCallback(CkReductionTarget(Cell, all), cells));
  }
  void notTarget(int&, double*&, CkDeviceBufferPost*) {}
  void notTarget(int, double*) {}

  // Of so many that what is fetched at the same time is more than what can be registered.
  void ofMany() {
    const CProxy_OfMany of_many = CProxy_OfMany::ckNew(many);
    CkWaitQD();
    of_many.give();
    wait(many);
    CkPrintf("all allgathers have ended\n");
    CkExit();
  }

  void run() {
    CkPrintf("on %s\n", driver() ? driver()->vendor() : "no GPU");
    const Asked of_cells[] = {{cell_count, 0, 1, 0, 0},
                              {cell_count, 0, 1, 1, 0},
                              {cell_count, 0, 1, 0, 1},
                              {cell_count, 0, 1, 700, 13},
                              {cell_count, 0, 1, 9001, -400}};
    for (Asked asked : of_cells)
      for (const bool in_place : {false, true}) {
        asked.in_place = in_place;
        asked.members = cell_count;
        cells.give(asked, CkCallback(CkReductionTarget(Cell, all), cells));
        wait(2 * cell_count);
        asked.members = CkNumPes();
        branches.give(asked, CkCallback(CkReductionTarget(Branch, all), branches));
        wait(2 * CkNumPes());
        asked.members = CkNumNodes();
        nodes.give(asked, CkCallback(CkReductionTarget(NodeBranch, all), nodes));
        wait(2 * CkNumNodes());
      }

    // To one receiver, to a message, to the members of a group, and to elements that have not contributed.
    for (const Asked& asked : of_cells) {
      asked_ = asked;
      cells.give(asked, CkCallback(CkReductionTarget(Main, onDevice), mainProxy));
      wait(cell_count + 1);
      cells.give(asked, CkCallback(CkReductionTarget(Main, onHost), mainProxy));
      wait(cell_count + 1);
      if (asked.whole() != 0) {
        cells.give(asked, CkCallback(CkReductionTarget(Main, onRows), mainProxy));
        wait(cell_count + 1);
      }
      const CkCallback done(CkCallback::resumeThread);
      cells.give(asked, done);
      auto* const result = static_cast<CkReductionMsg*>(done.thread_delay());
      DEMAND(result->getReducer() == CkReduction::concat && result->getGcount() == cell_count);
      DEMAND(static_cast<std::size_t>(result->getSize()) == asked.whole() * sizeof(double));
      check_whole(static_cast<double*>(result->getData()), asked);
      delete result;
      wait(cell_count);
    }
    const Asked of_three{3, 0, 1, 50, 1};
    const CProxy_Cell others = CProxy_Cell::ckNew(3);
    cells.expect(of_three);
    CkWaitQD();
    others.give(of_three, CkCallback(CkReductionTarget(Cell, all), cells));
    wait(3 + cell_count);
    const CProxy_Field field = CProxy_Field::ckNew(rows, columns);
    field.give();
    wait(2 * rows * columns);
    cells.rounds(3, of_cells[3]);
    wait(3 * 2 * cell_count);

    // Of a section: to all of its members, by a callback of each, and to one receiver.
    CProxySection_Cell section = CProxySection_Cell::ckNew(cells.ckGetArrayID(), 1, 9, 4);
    cells.know(section);
    CkWaitQD();
    for (int round = 0; round < 3; ++round) {
      const Asked of_section{3, 1, 4, 3000 + round, 70};
      to_section(section, of_section, CkCallback(CkReductionTarget(Cell, all), section));
      wait(2 * 3);
      to_section(section, of_section, CkCallback());
      wait(2 * 3);
      asked_ = of_section;
      to_section(section, of_section, CkCallback(CkReductionTarget(Main, onDevice), mainProxy));
      wait(3 + 1);
      cells.expect(of_section);
      CkWaitQD();
      to_section(section, of_section, CkCallback(CkReductionTarget(Cell, all), cells));
      wait(3 + cell_count);
    }
    // To a section without members, of another PE than the one that has the result.
    cells[cell_count - 1].giveToNone(of_cells[3]);
    wait(cell_count);
    // By elements that are on the move.
    const Asked on_the_move{cell_count, 0, 1, 2000, 31};
    for (int i = 0; i < cell_count; ++i) cells[i].wander(9, on_the_move);
    wait(2 * 9 * cell_count);
    CkPrintf("all allgathers have ended\n");
    CkExit();
  }
};

class Cell : public CBase_Cell {
  Cell_SDAG_CODE Member member_;
  CkSectionInfo cookie_;
  CProxySection_Cell section_;
  int round_ = 0;

  CkDeviceBuffer mine() { return member_.give(thisIndex); }

 public:
  Cell() = default;
  explicit Cell(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | member_.asked; }

  void know(const CProxySection_Cell& section) { section_ = section; }
  void expect(const Asked& asked) { member_.asked = asked; }
  void give(const Asked& asked, const CkCallback& to) {
    member_.asked = asked;
    contribute(member_.bytes(thisIndex), mine(), CkReduction::concat, to);
  }
  void giveToSection(AskMsg* message) {
    CkGetSectionInfo(cookie_, message);
    member_.asked = message->asked;
    const CkCallback to = message->to.isInvalid() ? CkCallback(CkReductionTarget(Cell, all), section_) : message->to;
    CkSectionInfo others = cookie_;
    if (!message->for_other || thisIndex != 5)
      CProxySection_Cell::contribute(member_.bytes(thisIndex), mine(), CkReduction::concat, cookie_, to);
    if (message->for_other && thisIndex == 1)
      CProxySection_Cell::contribute(member_.bytes(thisIndex), mine(), CkReduction::concat, others, to);
    delete message;
  }
  void giveToNone(const Asked& asked) {
    DEMAND(CkNumPes() == 1 || CkMyPe() != 0);
    section_ = CProxySection_Cell::ckNew(thisArrayID, std::vector<CkArrayIndex>());
    thisProxy.give(asked, CkCallback(CkReductionTarget(Cell, all), section_));
  }
  void wander(int left, const Asked& asked) {
    if (left == 0) return;
    give(asked, CkCallback(CkReductionTarget(Cell, all), thisProxy));
    thisProxy[thisIndex].wander(left - 1, asked);
    migrateMe((CkMyPe() + 1 + (left + thisIndex) % 3) % CkNumPes());
  }
  void all(int& n, double*& x, CkDeviceBufferPost* post) { member_.take(thisIndex, n, x, post); }
  void all(int n, double* x) { check(n, x); }
  void numbered(int& n, double*& x, CkDeviceBufferPost* post) { member_.take(thisIndex, n, x, post); }
  void check(int n, const double* x) { member_.check(n, x); }

  // What has to end with a sentence.
  void small(int& n, double*& x, CkDeviceBufferPost* post) {
    member_.take(thisIndex, n, x, post);
    --n;
  }
  void small(int, double*) { CkPrintf("it has come\n"); }
  void shorter(int&, double*& x, CkDeviceBufferPost*) { x = make(MemoryType::device, 8000).at<double>(); }
  void shorter(int, double*) { CkPrintf("it has come\n"); }
  void over(int&, double*& x, CkDeviceBufferPost*) { x = member_.mine->at<double>() + 1; }
  void over(int, double*) { CkPrintf("it has come\n"); }
  void overRows(int& n, double*& x, CkDeviceBufferPost* post) {
    x = member_.mine->at<double>();
    post[0].layout = CkDeviceLayout::vector<double>(n, 1, 2);
  }
  void overRows(int, double*) { CkAbort("it has come"); }
  void wrong(const std::string& how) {
    const bool last = thisIndex == cell_count - 1;
    const Asked asked{cell_count, 0, 1, 1000, 0};
    member_.asked = asked;
    const CkCallback all(CkReductionTarget(Cell, all), thisProxy);
    if (how == "small") return give(asked, CkCallback(CkReductionTarget(Cell, small), thisProxy));
    if (how == "shorter") return give(asked, CkCallback(CkReductionTarget(Cell, shorter), thisProxy));
    if (how == "over") return give(asked, CkCallback(CkReductionTarget(Cell, over), thisProxy));
    if (how == "over_rows") {
      member_.mine = &make(MemoryType::device, 2 * asked.whole() * sizeof(double));
      return contribute(member_.bytes(thisIndex), CkDeviceBuffer(member_.mine->at<double>()), CkReduction::concat,
                        CkCallback(CkReductionTarget(Cell, overRows), thisProxy));
    }
    if (how == "untargeted") return give(asked, CkCallback(CkIndex_Main::notTarget(0, CkDeviceBuffer()), mainProxy));
    if (how == "torn") {  // all of them together are a whole number of items, the first part is not
      const CkCallback to(CkReductionTarget(Main, onComplex), mainProxy);
      return give(Asked{cell_count, 0, 1, 995, 1}, to);
    }
    if (how == "inserted") {
      if (!last) return give(asked, all);
      if (CkMyPe() != CkNumPes() - 1) CkAbort("the last one is to be on the last PE");
      return mainProxy.giveLast(asked, true);
    }
    if (how == "destroyed") {
      if (last) return mainProxy.giveLast(asked, false);
      give(asked, all);
      if (thisIndex < 2) thisProxy[thisIndex].ckDestroy();
      return;
    }
    if (!last) return give(asked, all);
    const std::size_t bytes = member_.bytes(thisIndex);
    if (how == "types") contribute(bytes, mine(), CkReduction::sum_double, all);
    if (how == "freed") {
      auto gone = std::make_unique<Memory>(MemoryType::device, bytes);
      void* const at = gone->at<double>();
      gone.reset();
      contribute(bytes, CkDeviceBuffer(at), CkReduction::concat, all);
    }
    if (how == "past") contribute(bytes + 8, mine(), CkReduction::concat, all);
    if (how == "host") contribute(std::vector<double>(1000), CkReduction::concat, all);
  }
};

// Its second base lies at an offset: the member that an entry runs for cannot be told from its object in such a
// program.
class Left : public CBase_Left {};
class Right : public CBase_Right {};
class Both : public CBase_Both {};

// Its order is that of the first number, then of the second.
class Field : public CBase_Field {
  Member member_;

 public:
  Field() { member_.asked = {rows * columns, 0, 1, 20, 3}; }
  explicit Field(CkMigrateMessage*) {}
  int number() const { return thisIndex.x * columns + thisIndex.y; }
  void give() {
    contribute(member_.bytes(number()), member_.give(number()), CkReduction::concat,
               CkCallback(CkReductionTarget(Field, all), thisProxy));
  }
  void all(int& n, double*& x, CkDeviceBufferPost* post) { member_.take(number(), n, x, post); }
  void all(int n, double* x) { member_.check(n, x); }
};

// All of them have their memory in one piece.
class OfMany : public CBase_OfMany {
  static Memory& parts() {
    static Memory& memory = make(MemoryType::device, many * sizeof(double));
    return memory;
  }
  static Memory& wholes() {
    static Memory& memory = make(MemoryType::device, std::size_t{many} * many * sizeof(double));
    return memory;
  }

 public:
  OfMany() {
    if (thisIndex != 0) return;
    std::vector<double> values(many);
    for (int i = 0; i < many; ++i) values[static_cast<std::size_t>(i)] = value(i, 0);
    parts().write(values);
  }
  explicit OfMany(CkMigrateMessage*) {}
  void give() {
    contribute(sizeof(double), CkDeviceBuffer(parts().at<double>() + thisIndex, parts().stream()), CkReduction::concat,
               CkCallback(CkReductionTarget(OfMany, all), thisProxy));
  }
  void all(int&, double*& x, CkDeviceBufferPost*) { x = wholes().at<double>() + std::ptrdiff_t{many} * thisIndex; }
  void all(int n, double* x) {
    DEMAND(n == many);
    const std::vector<double> got = wholes().read(x, many);
    for (int i = 0; i < many; ++i) DEMAND(got[static_cast<std::size_t>(i)] == value(i, 0));
    mainProxy.one();
  }
};

class Branch : public CBase_Branch {
  Member member_;

 public:
  Branch() = default;
  explicit Branch(CkMigrateMessage* message) : CBase_Branch(message) {}
  void give(const Asked& asked, const CkCallback& to) {
    member_.asked = asked;
    contribute(member_.bytes(thisIndex), member_.give(thisIndex), CkReduction::concat, to);
  }
  static void insertOne() { cells[cell_count].insert(1); }
  void all(double*& x, int& n, CkDeviceBufferPost* post) { member_.take(thisIndex, n, x, post); }
  void all(double* x, int n) { member_.check(n, x); }
};

class NodeBranch : public CBase_NodeBranch {
  Member member_;

 public:
  NodeBranch() = default;
  explicit NodeBranch(CkMigrateMessage* message) : CBase_NodeBranch(message) {}
  void give(const Asked& asked, const CkCallback& to) {
    member_.asked = asked;
    contribute(member_.bytes(thisIndex), member_.give(thisIndex), CkReduction::concat, to);
  }
  void all(int& n, double*& x, CkDeviceBufferPost* post) { member_.take(thisIndex, n, x, post); }
  void all(int n, double* x) { member_.check(n, x); }
};

#include "gpu_allgathers.def.h"
