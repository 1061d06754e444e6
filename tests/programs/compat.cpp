// Each step of Main is one check; a step ends when the calls that it expects have come back.
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

struct Chest;
#include "charm++.h"
#include "conv-ccs.h"
// They are a third of what a small program would compile.
#if defined(_IMMINTRIN_H_INCLUDED) || defined(__IMMINTRIN_H)
#error "charm++.h brings the intrinsics of every processor"
#endif

// An index of the program's own: array [Pair] keeps a Pair as thisIndex.
struct Pair {
  int a = 0, b = 0;
};
class CkArrayIndexPair : public CkArrayIndex {
 public:
  CkArrayIndexPair(const Pair& pair) {
    std::memcpy(index, &pair, sizeof pair);
    nInts = 2;
  }
};

struct Settings {
  int steps = 0;
};
inline void operator|(PUP::er& p, Settings*& settings) {
  if (p.isUnpacking()) settings = new Settings;
  p | settings->steps;
}
inline void operator|(PUP::er& p, double*& table) {
  if (p.isUnpacking()) table = new double[2];
  PUParray(p, table, 2);
}
class Shape : public PUP::able {
 public:
  Shape() = default;
  explicit Shape(CkMigrateMessage* m) : PUP::able(m) {}
  virtual int area() const = 0;
  PUPable_abstract(Shape);
};
class Square : public Shape {
 public:
  explicit Square(int side) : side_(side) {}
  explicit Square(CkMigrateMessage* m) : Shape(m) {}
  int area() const override { return side_ * side_; }
  void pup(PUP::er& p) override {
    PUP::able::pup(p);
    p | side_;
  }
  PUPable_decl(Square);

 private:
  int side_ = 0;
};

template <class T, int by>
class Times : public Shape {
 public:
  explicit Times(T side) : side_(side) {}
  explicit Times(CkMigrateMessage* m) : Shape(m) {}
  int area() const override { return by * side_; }
  void pup(PUP::er& p) override {
    PUP::able::pup(p);
    p | side_;
  }
  PUPable_decl_template(SINGLE_ARG(Times<T, by>));

 private:
  T side_ = 0;
};
PUPable_def_template(SINGLE_ARG(Times<int, 2>));
PUPable_def_template(SINGLE_ARG(Times<int, 3>));

#include "compat.decl.h"

CProxy_Main mainProxy;
Settings* settings;
Shape* shapes[4];
double* table;
static int stands_here;
int& aside = stands_here;
int behindTheClasses();
readonly<int> number;
roarray<int, 3> weights;

// The .ci says Chest&, the method takes Chest&&.
struct Chest {
  std::vector<int> gold;
  void pup(PUP::er& p) { p | gold; }
};

// A message whose contents lie elsewhere: pack() writes them into a new block.
class Chain : public CMessage_Chain {
 public:
  std::string text;
  explicit Chain(std::string t) : text(std::move(t)) {}
  static void* pack(Chain* chain) {
    const int size = static_cast<int>(chain->text.size());
    auto* bytes = static_cast<char*>(CkAllocBuffer(chain, 4 + size));
    std::memcpy(bytes, &size, 4);
    std::memcpy(bytes + 4, chain->text.data(), size);
    delete chain;
    return bytes;
  }
  static Chain* unpack(void* bytes) {
    int size;
    std::memcpy(&size, bytes, 4);
    void* room = CkAllocBuffer(bytes, sizeof(Chain));
    auto* chain = new (room) Chain(std::string(static_cast<char*>(bytes) + 4, size));
    CkFreeMsg(bytes);
    return chain;
  }
};
romsg<Chain> carved;
CProxy_Grid theGrid;  // after the start: of PE 0's process alone

namespace {
Chain* echoed(Chain* chain) {
  chain->text += ", echoed";
  return chain;
}
}  // namespace

class Office : public CBase_Office {
 public:
  Chain* echo(Chain* chain) { return echoed(chain); }
  void poked() { ++pokes; }
  void pokedAlone() { pokes += 100; }
  void counted() {
    const int one = 1;
    contribute(sizeof one, &one, CkReduction::sum_int);
  }
  static void allCounted(void* expected, int size, void* sum) {
    if (size != sizeof(int) || *static_cast<int*>(sum) != *static_cast<int*>(expected))
      CkAbort("the client of a node group's reductions is given something else");
    mainProxy.taken(0);
  }
  std::atomic<int> pokes{0};
};

// How many first elements there are is counted with the steps between them, in all dimensions.
static void count_first() {
  CkArrayOptions steps;
  steps.setStart(CkArrayIndex1D(2)).setEnd(CkArrayIndex1D(12)).setStep(CkArrayIndex1D(3));
  int counts[] = {3, 4};
  CkArrayOptions shorts, none;
  shorts.setNumInitial(short(2), short(3), short(4), short(5)).setBounds(short(9), short(9), short(9), short(9));
  if (steps.getNumInitial().getCombinedCount() != 4 || shorts.getNumInitial().getCombinedCount() != 120 ||
      CkArrayOptions(2, counts).getNumInitial().getCombinedCount() != 12)
    CkAbort("an array's first elements are counted wrongly");
  const bool fixed = steps.isStaticInsertion();
  if (!fixed || none.isStaticInsertion() || steps.setStaticInsertion(false).isStaticInsertion())
    CkAbort("an array is open for insertions, and says that it is not, or the other way round");
}

class Main : public CBase_Main {
  CProxy_Members members_;
  CProxy_Grid grid_;
  CProxy_Office offices_;
  int step_ = 0, expected_ = 0, turn = 0;

 public:
  Main_SDAG_CODE
      // Calls that have little to do here, and are made all the same.
      void
      small_calls() {
    thisProxy.ckCheck();
    members_.ckCheck();
    grid_.ckCheck();
    CkNcpyBuffer(&number, sizeof number, CK_BUFFER_UNREG).print();
    CcsReleaseMessages();
    if (!CkArrayOptions(4).getLocationManager().isZero()) CkAbort("an array has the location manager of another");
    count_first();
  }
  explicit Main(CkArgMsg* m) {
    delete m;
    mainProxy = thisProxy;
    number = 41;
    for (int i = 0; i < 3; ++i) weights[i] = i * i + 7;
    carved = new Chain("set in Main");
    settings = new Settings;
    settings->steps = 12;
    shapes[1] = new Square(9);
    shapes[2] = new Times<int, 2>(10);
    shapes[3] = new Times<int, 3>(10);
    table = new double[2]{1.5, 2.5};
    aside = behindTheClasses();
    members_ = CProxy_Members::ckNew();
    offices_ = CProxy_Office::ckNew();
    grid_ = CProxy_Grid::ckNew();
    for (int i = 0; i < 8; ++i) grid_[Pair{i, 1000 + i}].insert();
    grid_.doneInserting();
    small_calls();
    thisProxy.step();
  }

  void taken(int) {
    if (--expected_ == 0) thisProxy.step();
  }
  void expect(int n) { expected_ = n; }

  void step() {
    const int pes = CkNumPes();
    std::vector<int> all(pes);
    for (int i = 0; i < pes; ++i) all[i] = i;
    switch (step_++) {
      case 0:  // readonlys as objects reach every process, a message among them
        expect(pes);
        return members_.check();
      case 1:  // a list of PEs
        expect(pes);
        return members_.listed(5, pes, all.data());
      case 2:  // ... as a CmiGroup, which is known here
        expect(pes);
        return members_.listed(5, CmiEstablishGroup(pes, all.data()));
      case 3: {  // a call that waits for a group made after it was urgent
        expect(pes);
        CkEntryOptions late, options;
        late.setPriority(20);
        CkGroupID first = CProxy_First::ckNew(&late);
        options.setPriority(static_cast<prio_t>(-1));
        options.setGroupDepID(first);
        return members_.behind(first, &options);
      }
      case 4: {
        expect(2 * pes);
        members_.indices({1, 2}, {1, 2, 3}, {1, 2, 3, 4}, {1, 2, 3, 4, 5}, {1, 2, 3, 4, 5, 6});
        Chest chest;
        chest.gold = {1, 2, 3};
        return members_.moved(chest);
      }
      case 5:
        expect(8);
        return grid_.poke();
      case 6: {  // quiescence waits behind a message that is less urgent than all others, and comes after it
        Chain* chain = new (8 * sizeof(int)) Chain("last");
        *static_cast<int*>(CkPriorityPtr(chain)) = 1000000;
        CkSetQueueing(chain, CK_QUEUEING_IFIFO);
        thisProxy.urgent(chain);
        return CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
      }
      case 7:
        CProxy_Squarer::ckNew(nullptr, CkNumPes() - 1);  // its id is not wanted
        return thisProxy.waits();
      case 8:
        for (int i = 19; i >= 0; --i) {
          CkCallback answer(CkIndex_Main::numbered(nullptr), thisProxy);
          answer.setRefnum(100 + i);
          answer.send();
        }
        return thisProxy.numbers();
      case 9:
        CProxy_Grid::ckNew(CkArrayOptions(), CkCallback());  // is not told when it is made
        return thisProxy.step();
      case 10:  // what other PEs of the process have, and calls that run at once
        expect(pes);
        theGrid = grid_;
        return members_.others(offices_);
      case 11: {  // [sync] entries by their numbers
        return thisProxy.asks();
      }
      case 12: {
        expect(1);
        static int expected = CkNumNodes();
        offices_.ckCheck();
        offices_.setReductionClient(Office::allCounted, &expected);
        std::vector<int> nodes(CkNumNodes());
        for (int i = 0; i < CkNumNodes(); ++i) nodes[i] = i;
        return CkSendMsgNodeBranchMulti(CkIndex_Office::counted(), CkAllocSysMsg(), offices_, CkNumNodes(),
                                        nodes.data());
      }
      default:
        CkPrintf("all checks passed\n");
        CkExit();
    }
  }

  void asks() {
    const CkChareID squarer = CProxy_Squarer::ckNew(CkNumPes() - 1);
    const auto check = [](void* answer, const char* what) {
      Chain* chain = static_cast<Chain*>(answer);
      if (chain->text != what) CkAbort("a [sync] call by its number is answered with something else");
      delete chain;
    };
    const int pe = CkNumPes() - 1, node = CkNumNodes() - 1;
    check(CkRemoteCall(CkIndex_Squarer::echo(nullptr), new Chain("chare"), &squarer), "chare, echoed");
    check(CkRemoteBranchCall(CkIndex_Members::echo(nullptr), new Chain("group"), members_, pe), "group, echoed");
    const CkFutureID first = CkRemoteNodeBranchCallAsync(CkIndex_Office::echo(nullptr), new Chain("1"), offices_, node);
    const CkFutureID second = CkRemoteBranchCallAsync(CkIndex_Members::echo(nullptr), new Chain("2"), members_, 0);
    check(CkWaitReleaseFuture(second), "2, echoed");
    check(CkWaitReleaseFuture(first), "1, echoed");
    thisProxy.step();
  }

  bool came_ = false;
  void urgent(Chain* chain) {
    came_ = chain->text == "last";
    delete chain;
  }
  void quiet() {
    if (!came_) CkAbort("quiescence before the least urgent message");
    thisProxy.step();
  }
  // An ordinary entry waits for an answer.
  void waits() {
    CProxy_Squarer squarer = CProxy_Squarer::ckNew(CkNumPes() - 1);
    if (squarer.square(12) != 144) CkAbort("a [sync] call from an entry that is no thread");
    thisProxy.step();
  }
};

class Squarer : public CBase_Squarer {
 public:
  int square(int x) { return x * x; }
  Chain* echo(Chain* chain) { return echoed(chain); }
  void poked() { ++pokes; }
  int pokes = 0;
};

class First : public CBase_First {
 public:
  First() = default;
};

class Members : public CBase_Members {
 public:
  void check() {
    bool right = number == 41 && carved->text == "set in Main" && thisIndex == CkMyPe();
    for (int i = 0; i < 3; ++i) right = right && weights[i] == i * i + 7;
    right = right && settings->steps == 12 && !shapes[0] && shapes[1]->area() == 81 && shapes[2]->area() == 20 &&
            shapes[3]->area() == 30 && table[1] == 2.5;
    right = right && stands_here == 31;
    if (!right) CkAbort("a readonly is not what Main set");
    mainProxy.taken(0);
  }
  void listed(int value) { mainProxy.taken(value); }
  void behind(CkGroupID first) {
    if (!CProxy_First(first).ckLocalBranch()) CkAbort("called before the group that it depends on");
    mainProxy.taken(0);
  }
  void moved(Chest&& chest) {
    if (chest.gold != std::vector<int>{1, 2, 3}) CkAbort("an argument that is moved is not what was sent");
    mainProxy.taken(0);
  }
  void indices(CkIndex2D two, CkIndex3D three, CkIndex4D four, CkIndex5D five, CkIndex6D six) {
    if (two.y != 2 || three.z != 3 || four.z != 4 || five.z != 5 || six.z2 != 6)
      CkAbort("an index is not what was sent");
    mainProxy.taken(0);
  }
  Chain* echo(Chain* chain) { return echoed(chain); }
  void poked() { ++pokes_; }

  // Quiescence has been: all is made everywhere.
  void others(CkNodeGroupID offices) {
    for (int rank = 0; rank < CkMyNodeSize(); ++rank) {
      const auto* other = static_cast<Members*>(CkLocalBranchOther(thisgroup, rank));
      if (!other || other->thisIndex != CkNodeFirst(CkMyNode()) + rank) CkAbort("another PE has another member");
      if ((rank == CkMyRank()) != (other == this)) CkAbort("the own member is another PE's");
      CkGroupID none;
      none.idx = 1 << 20;
      if (CkLocalBranchOther(none, rank)) CkAbort("another PE has a member of a group that is not there");
      if (CkMyNode() != 0) continue;
      CkArray* const manager = theGrid.ckLocalBranchOther(rank);
      if (!manager || manager != CkLocalBranchOther(theGrid.ckGetArrayID(), rank) ||
          manager != CkArrayID::CkLocalBranchOther(theGrid, rank) || manager->getArrayID() != theGrid.ckGetArrayID())
        CkAbort("another PE has another manager of an array");
      if ((rank == CkMyRank()) != (manager == theGrid.ckLocalBranch())) CkAbort("the own manager is another PE's");
    }
    atOnce(offices);
    mainProxy.taken(0);
  }

 private:
  void atOnce(CkNodeGroupID offices) {
    const int first = pokes_;  // others may have called already
    CkSendMsgBranchInline(CkIndex_Members::poked(), CkAllocSysMsg(), CkMyPe(), thisgroup);
    if (pokes_ != first + 1) CkAbort("a member of a group is not called at once");
    CkSendMsgBranchInline(CkIndex_Members::poked(), CkAllocSysMsg(), (CkMyPe() + 1) % CkNumPes(), thisgroup);
    if (pokes_ != first + (CkNumPes() == 1 ? 2 : 1)) CkAbort("a member on another PE is called here");
    const CkChareID squarer = CProxy_Squarer::ckNew(CkMyPe());
    auto* chare = static_cast<Squarer*>(CkLocalChare(&squarer));
    CkSendMsgInline(CkIndex_Squarer::poked(), CkAllocSysMsg(), &squarer);
    if (chare && chare->pokes != 1) CkAbort("a chare is not called at once");
    auto* office = CProxy_Office(offices).ckLocalBranch();
    const int before = office->pokes;
    CkSendMsgNodeBranchInline(CkIndex_Office::poked(), CkAllocSysMsg(), CkMyNode(), offices);
    if (office->pokes <= before) CkAbort("a member of a node group is not called at once");
    CkSendMsgNodeBranchInline(CkIndex_Office::pokedAlone(), CkAllocSysMsg(), CkMyNode(), offices);
    if (CkMyNode() != 0) return;
    for (int i = 0; i < 8; ++i) pokeAtOnce(Pair{i, 1000 + i});
  }
  static void pokeAtOnce(const Pair& place);
  int pokes_ = 0;
};

class Grid : public CBase_Grid {
 public:
  Grid() = default;
  Grid(CkMigrateMessage*) {}
  void poke() {
    if (thisIndex.b != 1000 + thisIndex.a) CkAbort("an element does not know its own index");
    mainProxy.taken(0);
  }
  void poked() { ++pokes; }
  int pokes = 0;
};

void Members::pokeAtOnce(const Pair& place) {
  Grid* const element = theGrid[place].ckLocal();
  CkSendMsgArrayInline(CkIndex_Grid::poked(), CkAllocSysMsg(), theGrid, CkArrayIndexPair(place));
  if (element && element->pokes == 0) CkAbort("an element is not called at once");
}

#include "compat.def.h"
