// What a PE knows of elements lasts as long as they do, or is bounded: in each round elements with ever new indices are
// made, move away from their homes, hear of every PE and are destroyed. Between rounds each PE counts what it knows.
// Arguments: rounds, elements a round. The indices of one array are small enough to be numbers, those of the others are
// not.
#include <algorithm>
#include <cstdlib>

#include "charm++.h"
#include "runtime/array/array_manager.h"

struct Name {
  int words[3];
};
class CkArrayIndexName : public CkArrayIndex {
 public:
  CkArrayIndexName(const Name& name) {
    nInts = 3;
    std::copy_n(name.words, 3, index);
  }
};

#include "lasting.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Everywhere everywhere;
/*readonly*/ CProxy_Far far;
/*readonly*/ CProxy_Named named;
/*readonly*/ CProxy_Near near;

namespace {
CkArrayIndex6D far_index(int round, int i) {
  return CkArrayIndex6D(static_cast<short>(i % 1000), static_cast<short>(i / 1000), static_cast<short>(round), 20000,
                        20001, 20002);
}
CkArrayIndexName name_of(int round, int i) { return CkArrayIndexName(Name{{i, round, -7}}); }
CkArrayIndex1D near_index(int round, int i) { return CkArrayIndex1D(100000 * round + i); }

// To each element of a round.
template <class Call>
void all(int round, int count, const Call& call) {
  for (int i = 0; i < count; ++i) {
    call(far[far_index(round, i)]);
    call(named[name_of(round, i)]);
    call(near[near_index(round, i)]);
  }
}
}  // namespace

// As the elements of all three arrays are.
template <class Base>
class Transient : public Base {
 public:
  Transient() {}
  explicit Transient(CkMigrateMessage*) {}
  void leave() { this->migrateMe((CkMyPe() + 1) % CkNumPes()); }
  void poke() {}
  void die() { this->ckDestroy(); }
};
class Far : public Transient<CBase_Far> {
 public:
  using Transient::Transient;
};
class Named : public Transient<CBase_Named> {
 public:
  using Transient::Transient;
};
class Near : public Transient<CBase_Near> {
 public:
  using Transient::Transient;
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* args) {
    rounds = args->argc > 1 ? std::atoi(args->argv[1]) : 4;
    count = args->argc > 2 ? std::atoi(args->argv[2]) : 100;
    delete args;
    mainProxy = thisProxy;
    everywhere = CProxy_Everywhere::ckNew();
    far = CProxy_Far::ckNew();
    named = CProxy_Named::ckNew();
    near = CProxy_Near::ckNew();
    thisProxy.run();
  }

  void run() {
    for (int round = 0; round < rounds; ++round) {
      all(round, count, [](auto element) { element.insert(); });
      CkWaitQD();
      expect(3 * count);
      all(round, count, [](auto element) { element.leave(); });
      CkWaitQD();
      expect(3 * count);
      // The first message to each teaches its sender where it is, the second goes there.
      for (int i = 0; i < 2; ++i) {
        everywhere.poke(round, count);
        CkWaitQD();
      }
      all(round, count, [](auto element) { element.die(); });
      CkWaitQD();
      expect(0);
    }
    CkPrintf("%d rounds of %d elements: %d hints are left on a PE\n", rounds, count, hints);
    CkExit();
  }
  void counted(CkReductionMsg* m) {
    CkReduction::tupleElement* results = nullptr;
    int n = 0;
    m->toTuple(&results, &n);
    elements = *reinterpret_cast<int*>(results[0].data);
    indices = *reinterpret_cast<int*>(results[1].data);
    hints = *reinterpret_cast<int*>(results[2].data);
    delete[] results;
    delete m;
    CthAwaken(waiting);
  }

 private:
  // So many elements live: as many indices are known that must be, and hints are bounded. (The last of them are being
  // asked about.)
  void expect(int alive) {
    for (int tries = 0; tries < 1000; ++tries) {
      waiting = CthSelf();
      everywhere.count(CkCallback(CkIndex_Main::counted(nullptr), mainProxy));
      CthSuspend();
      if (elements != alive || indices != alive / 3 * 2)
        CkAbort("%d elements live, not %d, and %d indices are remembered, not %d", elements, alive, indices,
                alive / 3 * 2);
      if (hints <= static_cast<int>(periapt::Location::hints_kept + periapt::Location::hints_slack())) return;
      CkWaitQD();
    }
    CkAbort("a PE keeps %d hints where elements of one array are", hints);
  }

  int rounds, count;
  int elements = 0, indices = 0, hints = 0;
  CthThread waiting = nullptr;
};

class Everywhere : public CBase_Everywhere {
 public:
  Everywhere() {}
  void poke(int round, int count) {
    all(round, count, [](auto element) { element.poke(); });
  }
  void count(CkCallback cb) {
    int elements = 0, indices = 0, hints = 0;
    for (CkArrayID id : {far.ckGetArrayID(), named.ckGetArrayID(), near.ckGetArrayID()}) {
      periapt::ArrayManager& array = periapt::array_manager(id);
      elements += static_cast<int>(array.size());
      indices += static_cast<int>(array.ids().remembered());
      hints = std::max(hints, static_cast<int>(array.location().hints_of_others()));
    }
    CkReduction::tupleElement tuple[] = {CkReduction::tupleElement(sizeof(int), &elements, CkReduction::sum_int),
                                         CkReduction::tupleElement(sizeof(int), &indices, CkReduction::sum_int),
                                         CkReduction::tupleElement(sizeof(int), &hints, CkReduction::max_int)};
    CkReductionMsg* message = CkReductionMsg::buildFromTuple(tuple, 3);
    message->setCallback(cb);
    contribute(message);
  }
};

#include "lasting.def.h"
