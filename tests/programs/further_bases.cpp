// What the second array base of a class does with its element: contributes, is balanced, moves, is called in place,
// destroys it. An object is one element all the same.
#include <cstring>

#include "further_bases.decl.h"

/*readonly*/ CProxy_Main mainProxy;

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
  CProxy_Both both_;
  int sums_ = 0;

 public:
  explicit Main(CkArgMsg* arguments) {
    delete arguments;
    mainProxy = thisProxy;
    both_ = CProxy_Both::ckNew(elements);
    CProxy_Lower(both_).give();
  }
  void summed(int sum) {
    require(sum == elements * (elements - 1) / 2, "the second bases' contributions have another sum");
    if (++sums_ == 1)
      CProxy_Lower(both_).synchronize();
    else
      CProxy_Upper(both_).count();
  }
  void counted(int count) {
    require(count == elements, "the two bases' contributions are not those of one element");
    thisProxy.move();
  }
  void move() {
    const CProxy_Lower lower(both_);
    for (int i = 0; i < elements; ++i) lower[i].moveTo((i + 1) % CkNumPes());
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

class Upper : public CBase_Upper {
  double fields_[3] = {1, 2, 3};

 public:
  Upper() = default;
  explicit Upper(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { PUParray(p, fields_, 3); }
  void count() {
    contribute(sizeof one, &one, whole_and_parts, CkCallback(CkReductionTarget(Main, counted), mainProxy));
  }
};

class Lower : public CBase_Lower {
  int number_ = 2, called_ = 0;

 public:
  Lower() { usesAtSync = true; }
  explicit Lower(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | number_;
    p | called_;
  }
  void give() {
    require(number_ == 2, "an entry of the second base runs on another object");
    const int mine = thisIndex;
    contribute(sizeof mine, &mine, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, summed), mainProxy));
  }
  void synchronize() { AtSync(); }
  void ResumeFromSync() override { give(); }  // the first base has none of its own
  void moveTo(int pe) {
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

class Both : public CBase_Both {
 public:
  Both() = default;
  explicit Both(CkMigrateMessage* message) : CBase_Both(message) {}
  void pup(PUP::er&) override {}
};

#include "further_bases.def.h"
