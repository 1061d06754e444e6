// What the second and third array base of a class do with their element: contribute, say what a balancer is to know,
// are balanced, move, also out of a body, are called in place, destroy it. An object is one element all the same. What
// the first one's constructor does looks at no base that is made after it.
//
// program_further_bases [balanced|measured] ...: balanced: there is RotateLB, and those that may move do in each step;
// measured: a strategy that asks for sizes.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "further_bases.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Places places;
/*readonly*/ bool balanced;

// Where elements are made: memory as one leaves it whose further base was in AtSync().
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  void* const memory = ::operator new(bytes);
  std::fill_n(static_cast<int*>(memory), bytes / sizeof(int), -2);
  return memory;
}

namespace {
constexpr int elements = 8;
CkReduction::reducerType whole_and_parts;

void require(bool right, const char* wrong) {
  if (!right) CkAbort("%s", wrong);
}

constexpr int one = 1000;  // what each contributes to be counted

// Counts contributions: those that come as they were given, and what it has made of others. One that was alone on its
// PE goes on as it is, and is told from a sum by its number only.
CkReductionMsg* counted_parts(int count, CkReductionMsg** parts) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    const int number = *static_cast<int*>(parts[i]->getData());
    if (parts[i]->isFromUser())
      require(number == one, "isFromUser() takes a sum for a contribution");
    else
      require(CkNumPes() > 1, "isFromUser() takes a contribution for a sum");
    sum += number == one ? 1 : number;
  }
  return CkReductionMsg::buildNew(sizeof sum, &sum);
}
}  // namespace
void setUp() { whole_and_parts = CkReduction::addReducer(counted_parts); }

class Main : public CBase_Main {
  CProxy_Pair pairs_;
  CProxy_LatePair late_pairs_;
  CProxy_Both both_;
  int sums_ = 0, early_ = 0;

 public:
  explicit Main(CkArgMsg* arguments) {
    balanced = arguments->argc > 1 && std::strcmp(arguments->argv[1], "balanced") == 0;
    delete arguments;
    mainProxy = thisProxy;
    places = CProxy_Places::ckNew();
    CProxy_Alone(CProxy_Alone::ckNew(1)).check();
    thisProxy.begin();
  }
  void begin() { pairs_ = CProxy_Pair::ckNew(2 * CkNumPes()); }
  void early() {
    if (++early_ == 1) {
      CProxy_Early(pairs_).destroy();
      late_pairs_ = CProxy_LatePair::ckNew(2 * CkNumPes());
      return;
    }
    CProxy_Early(late_pairs_).destroy();
    both_ = CProxy_Both::ckNew(elements);
    CProxy_Lower(both_).give();
  }
  void summed(int sum) {
    require(sum == elements * (elements - 1) / 2, "the second bases' contributions have another sum");
    if (++sums_ == 1) {
      CProxy_Upper(both_).stay();
      CProxy_Lower(both_).synchronize();
    } else {
      CProxy_Third(both_).synchronize();
    }
  }
  void resumed() { CProxy_Upper(both_).count(); }
  void counted(int count) {
    require(count == elements, "the two bases' contributions are not those of one element");
    thisProxy.move();
  }
  void move() {
    const CProxy_Lower lower(both_);
    for (int i = 0; i < elements; ++i) lower[i].moveTo((i + 1) % CkNumPes());
    CkWaitQD();
    const CProxy_Third third(both_);
    for (int i = 0; i < elements; ++i) {
      const int to = (i + 2) % CkNumPes();
      third[i].walk(to);
      third[i].next(to);
    }
    CkWaitQD();
    CProxy_Third(both_).checkWalked();
    if (CkNumPes() > 1) CProxy_Upper(both_).checkMoved();
    CkWaitQD();
    for (int i = 0; i < elements; ++i) lower[i].inPlace(2);
    CkWaitQD();
    CProxy_Lower(both_).destroy();
    CkWaitQD();
    require(std::strcmp(idx2str(CkArrayIndex2D(3, -4)), "3;-4") == 0, "idx2str() of two numbers");
    require(std::strcmp(idx2str(CkArrayIndex4D(1, 2, 3, 4)), "1;2;3;4") == 0, "idx2str() of four numbers");
    CkPrintf("all checks passed\n");
    CkExit();
  }
};

// Where elements have user data for balancers, on each PE.
class Places : public CBase_Places {
 public:
  const int place;
  Places() : place(LBRegisterObjUserData(sizeof(int))) {}
};

namespace {
bool may_move(int element) { return element % 2 == 0; }
// Where an element was before a step of a balancer that moves all that may move.
void check_moved(int element, int from) {
  if (balanced)
    require((CkMyPe() != from) == may_move(element), "a step moves those that it may not, or not those that it may");
}
}  // namespace

// Of the bases' ckAboutToMigrate() and ckJustMigrated() the first one's is called, as in Charm++.
class Upper : public CBase_Upper {
  double fields_[3] = {1, 2, 3};
  int left_ = 0, came_ = 0;

 public:
  Upper() = default;
  explicit Upper(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    PUParray(p, fields_, 3);
    p | left_;
    p | came_;
  }
  void ckAboutToMigrate() override { ++left_; }
  void ckJustMigrated() override {
    ++came_;
    require(left_ == came_, "ckJustMigrated() of the first base is called without its ckAboutToMigrate()");
  }
  void checkMoved() { require(left_ > 0 && left_ == came_, "ckAboutToMigrate() of the first base is not called"); }
  void stay() {
    if (may_move(thisIndex)) return;
    const auto proxy = thisProxy[thisIndex];
    migrateMe((CkMyPe() + 1) % CkNumPes());
    require(proxy.ckLocal(), "one base moves the element, and another has said that it may not move");
  }
  void count() {
    contribute(sizeof one, &one, whole_and_parts, CkCallback(CkReductionTarget(Main, counted), mainProxy));
  }
};

class Lower : public CBase_Lower {
  int number_ = 2, called_ = 0, from_ = -1;
  bool asked_ = false;

 public:
  Lower() {
    usesAtSync = true;
    usesAutoMeasure = false;
    setMigratable(may_move(thisIndex));
    setObjPosition(thisIndex);
  }
  explicit Lower(CkMigrateMessage*) {}
  void ckAboutToMigrate() override { CkAbort("ckAboutToMigrate() of a further base is called"); }
  void ckJustMigrated() override { CkAbort("ckJustMigrated() of a further base is called"); }
  void pup(PUP::er& p) override {
    p | number_;
    p | called_;
    p | from_;
    p | asked_;
  }
  void give() {
    require(number_ == 2, "an entry of the second base runs on another object");
    const int mine = thisIndex;
    contribute(sizeof mine, &mine, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, summed), mainProxy));
  }
  void synchronize() {
    from_ = CkMyPe();
    const double phases[] = {1, 2};
    setObjPosition(thisIndex, 1);
    setObjPhases(phases, 2);
    *static_cast<int*>(getObjUserData(places.ckLocalBranch()->place)) = thisIndex;
    AtSync();
    require(getObjTime() >= thisIndex + 1, "the load is another than the base has said that calls AtSync()");
  }
  void UserSetLBLoad() override {
    require(!asked_, "UserSetLBLoad() of the second base is called twice");
    asked_ = true;
    setObjTime(thisIndex + 1);
  }
  void ResumeFromSync() override {  // the first base has none of its own
    require(asked_, "UserSetLBLoad() of the second base is not called");
    check_moved(thisIndex, from_);
    give();
  }
  void moveTo(int pe) {
    setMigratable(true);
    require(thisProxy[thisIndex].ckLocal() == this, "ckLocal() is another object than the second base");
    require(std::atoi(idx2str(this)) == thisIndex, "idx2str() of an element");
    migrateMe(pe);
  }
  void inPlace(int times) {
    require(number_ == 2 && times == 2 - called_, "a call in place by the second base's proxy runs on another object");
    if (++called_ == 2) return;
    thisProxy[thisIndex].inPlace(times - 1);
    require(called_ == 2, "a call in place has not been made when it returns");
  }
  void destroy() { ckDestroy(); }
};

// Uses AtSync because another base does.
class Third : public CBase_Third {
  Third_SDAG_CODE int from_ = -1;
  bool walked_ = false;

 public:
  Third() = default;
  explicit Third(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | from_;
    p | walked_;
  }
  void synchronize() {
    from_ = CkMyPe();
    AtSync();
  }
  void ResumeFromSync() override {
    check_moved(thisIndex, from_);
    contribute(CkCallback(CkReductionTarget(Main, resumed), mainProxy));
  }
  void leave(int pe) {
    from_ = CkMyPe();
    migrateMe(pe);
    from_ = pe;  // it is here until the block ends
  }
  void arrive(int pe) {
    require(CkMyPe() == pe && from_ == pe,
            "an element goes before a block of its third base's body has ended, or stays");
    walked_ = true;
  }
  void checkWalked() { require(walked_, "the third base's body does not go on where the element has come to"); }
};

class Both : public CBase_Both {
 public:
  Both() = default;
  explicit Both(CkMigrateMessage* message) : CBase_Both(message) {}
  void pup(PUP::er&) override {}
};

// The second one of a PE calls AtSync() in its constructor, and waits there for the end of the step: it is the only one
// that does, so that all have come. (Where a PE has several, the first is resumed without those that are yet to be
// made; the next one then waits for a step that the first has to join. In Charm++ the first waits for ever.) The one
// before it has been made, so that it is known where further bases will be.
class Early : public CBase_Early {
  bool asked_ = false, resumed_ = false, made_ = false;
  int from_ = CkMyPe();
  bool waits() const { return thisIndex % 2 == 1; }

  void go_on() {
    require(CkMyPe() == from_ || made_, "an element moves whose constructor runs");
    if (made_ && resumed_) contribute(CkCallback(CkReductionTarget(Main, early), mainProxy));
  }

 public:
  Early() {
    if (!waits()) {
      resumed_ = true;
      return;
    }
    usesAtSync = true;
    usesAutoMeasure = false;
    AtSync();
    require(asked_, "UserSetLBLoad() is not called of the base whose constructor calls AtSync()");
    while (!resumed_) CthYield();
  }
  explicit Early(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    require(made_ || p.isUnpacking(), "an element is measured whose constructor runs");
    p | asked_;
    p | resumed_;
    p | made_;
    p | from_;
  }
  void UserSetLBLoad() override { asked_ = true; }
  void ResumeFromSync() override {
    resumed_ = true;
    go_on();
  }
  void made() {
    made_ = true;
    go_on();
  }
  void destroy() { ckDestroy(); }
};

class Late : public CBase_Late {
 public:
  Late() = default;
  explicit Late(CkMigrateMessage*) {}
};

class Pair : public CBase_Pair {
 public:
  Pair() { made(); }
  explicit Pair(CkMigrateMessage* message) : CBase_Pair(message) {}
  void pup(PUP::er&) override {}
};

class LatePair : public CBase_LatePair {
 public:
  LatePair() { made(); }
  explicit LatePair(CkMigrateMessage* message) : CBase_LatePair(message) {}
  void pup(PUP::er&) override {}
};

// Its constructor makes an ArrayElement that is no base of it.
class Alone : public CBase_Alone {
  struct Apart : ArrayElement1D {
    Apart() { usesAtSync = true; }
  };
  std::unique_ptr<Apart> apart_;

 public:
  Alone() : apart_(new Apart) {}
  explicit Alone(CkMigrateMessage*) {}
  void check() { require(!ckUsesAtSync(), "what an element has made for itself is taken for a base of it"); }
};

#include "further_bases.def.h"
