// What Charm++'s manuals and headers offer and other tests do not use: elements held as CkMigratable, records of
// places, CthYield() outside of threads, an instance of a template entry by reference, networks by name, objects in
// blocks of a file, messages packed into a block.
#include <cstring>

#include "manual.decl.h"
#include "pup_cmialloc.h"
#include "pup_paged.h"
#include "pup_stl.h"
#include "topology.h"

/*readonly*/ CProxy_Main mainProxy;

namespace {
constexpr int elements = 12;

void require(bool right, const char* wrong) {
  if (!right) CkAbort("%s", wrong);
}

void check_networks() {
  int pes[64], count = 0;
  LBTopology* const ring = LBTopoLookup("ring")(7);
  ring->neighbors(0, pes, count);
  require(count == 2 && pes[0] == 6 && pes[1] == 1, "neighbours in a ring");
  require(ring->get_hop_count(1, 6) == 2 && ring->max_neighbors() == 2, "hops in a ring");
  // 3 x 3, of which the last place is missing.
  LBTopology* const torus = LBTopoLookup("torus2d")(8);
  torus->neighbors(5, pes, count);
  require(count == 3 && pes[0] == 2 && pes[1] == 4 && pes[2] == 3, "neighbours in a torus whose last row is short");
  require(torus->get_hop_count(0, 4) == 2, "hops in a torus");
  LBTopology* const mesh = LBTopoLookup("mesh3d")(27);
  mesh->neighbors(0, pes, count);
  require(count == 3 && pes[0] == 1 && pes[1] == 3 && pes[2] == 9, "neighbours at the corner of a mesh");
  require(mesh->get_hop_count(0, 26) == 6, "hops through a mesh");
  LBTopology* const tree = LBTopoLookup("2_arytree")(6);
  getTopoNeighbors(tree, 2, pes, &count);
  require(count == 2 && pes[0] == 0 && pes[1] == 5 && getTopoMaxNeighbors(tree) == 3, "neighbours in a tree");
  double rows[6][6], *hops[6];
  for (int i = 0; i < 6; ++i) hops[i] = rows[i];
  tree->get_pairwise_hop_count(hops);
  require(rows[3][5] == 4 && rows[5][3] == 4 && rows[4][4] == 0, "hops in a tree");
  LBTopology* const complete = LBTopoLookup("complete")(6);
  complete->neighbors(2, pes, count);
  require(count == 5 && pes[1] == 1 && pes[2] == 3, "neighbours where all are");
  LBTopology* const processes = LBTopoLookup("smp_n_2")(6);
  for (LBTopology* network : {complete, processes}) {
    network->get_pairwise_hop_count(hops);
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j) require(rows[i][j] == network->get_hop_count(i, j), "hops of all pairs and of one");
  }
  require(complete->get_hop_count(1, 5) == 1 && complete->get_hop_count(5, 5) == 0, "hops where all are neighbours");
  require(LBTopoLookup("no_such_network") == nullptr, "a network that there is not");
  delete ring;
  delete torus;
  delete mesh;
  delete tree;
  delete complete;
  delete processes;
}

struct Bulk {
  std::vector<int> numbers;
  void pup(PUP::er& p) { p | numbers; }
};
void check_pages() {
  pup_pagetable* const table = getNewPagetable("manual_pages");
  for (int round = 0; round < 2; ++round) {
    Bulk bulks[3];
    for (int i = 0; i < 3; ++i) {
      bulks[i].numbers.assign(static_cast<std::size_t>(1 + 400 * i), i + round);
      PUP_toPagedDisk to(&bulks[i], table);
      to | bulks[i];
    }
    for (int i : {1, 0, 2}) {
      const std::size_t size = bulks[i].numbers.size();
      bulks[i].numbers.clear();
      PUP_fromPagedDisk from(&bulks[i], table);
      from | bulks[i];
      require(bulks[i].numbers == std::vector<int>(size, i + round), "an object comes out of the file changed");
    }
  }
  require(table->maxblk < 20, "blocks are not used again");
  int number = 0;
  const long blocks = table->maxblk;
  for (number = 0; number < 100; ++number) {
    PUP_toPagedDisk to(&number, table);
    to | number;
  }
  require(table->maxblk <= blocks + 2, "an object that is put again keeps the blocks that it had");
  PUP_fromPagedDisk from(&number, table);
  from | number;
  require(number == 99, "an object that is put again comes out as it was");
  std::fclose(table->fp);
  std::remove(table->fName);
}

// Mistakes, each of which ends the run with a sentence.
void take_out_twice(bool more) {
  pup_pagetable* const table = getNewPagetable("manual_mistake");
  std::remove(table->fName);  // what is in it goes with the run
  int number = 1, numbers[2];
  {
    PUP_toPagedDisk to(&number, table);
    to | number;
  }
  PUP_fromPagedDisk from(&number, table);
  if (more) from(numbers, 2);
  PUP_fromPagedDisk again(&number, table);
}

void check_messages_in_a_block() {
  void* messages[2] = {CmiAlloc(CmiMsgHeaderSizeBytes + 3), CmiAlloc(CmiMsgHeaderSizeBytes + 100)};
  char plain[5] = {1, 2, 3, 4, 5};
  void* own = plain;
  for (int i = 0; i < 2; ++i) static_cast<char*>(messages[i])[CmiMsgHeaderSizeBytes + 2] = static_cast<char>(10 + i);
  int number = 4;
  const auto pack = [&](auto& p) {
    p | number;
    p.pupCmiAllocBuf(&messages[0]);
    p.pupCmiAllocBuf(&messages[1]);
    p.pupCmiAllocBuf(&own, sizeof plain);
  };
  PUP_cmiAllocSizer sizer;
  pack(sizer);
  PUP_toCmiAllocMem to(sizer.size());
  pack(to);
  require(to.size() == sizer.size(), "messages take more room than was asked for");
  PUP_fromCmiAllocMem from(to.get_orig_pointer());
  number = 0;
  from | number;
  void* got[3];
  for (void*& one : got) from.pupCmiAllocBuf(&one);
  require(number == 4 && from.size() == sizer.size(), "what stands beside messages in a block");
  for (int i = 0; i < 2; ++i) {
    require(CmiSize(got[i]) == CmiSize(messages[i]) && static_cast<char*>(got[i])[CmiMsgHeaderSizeBytes + 2] == 10 + i,
            "a message comes out of a block changed");
    CmiFree(got[i]);
    CmiFree(messages[i]);
  }
  require(static_cast<char*>(got[2])[4] == 5, "bytes come out of a block changed");
  CmiFree(got[2]);
  CmiFree(to.get_orig_pointer());
}
}  // namespace

class Main : public CBase_Main {
  int pings_ = 0;
  bool answered_ = false, quiet_ = false;
  std::string mistake_;
  CProxy_Elements elements_;

  static void look(int round) { round == 0 ? CthYield() : CsdSchedulePoll(); }

 public:
  explicit Main(CkArgMsg* arguments) {
    if (arguments->argc > 1) mistake_ = arguments->argv[1];
    delete arguments;
    mainProxy = thisProxy;
    if (mistake_ == "deep") {
      thisProxy.nest();
      return;
    }
    if (mistake_ == "twice" || mistake_ == "more") take_out_twice(mistake_ == "more");
    require(ALIGN8(13) == 16 && ALIGN8(16) == 16, "ALIGN8");
    check_networks();
    check_pages();
    check_messages_in_a_block();
    thisProxy.ping();
    CthYield();
    require(pings_ == 1, "a call that waits does not run in CthYield()");
    CProxy_YieldingGroup(CProxy_YieldingGroup::ckNew()).call();  // comes with the group where the program starts
    elements_ = CProxy_Elements::ckNew(elements);
    CkArrayOptions options(elements);
    options.bindTo(elements_);
    CProxy_Beside::ckNew(options);
    thisProxy.go();
  }
  void ping() { ++pings_; }
  void go() {
    CProxy_Yielding::ckNew();
    CProxy_YieldingGroup::ckNew();
    while (pings_ < 2 + 3 * CkNumPes()) CthYield();  // constructors that yield go on
    CkWaitQD();
    require(pings_ == 2 + 3 * CkNumPes(), "constructors that yield go on twice");
    elements_.look(CkCallback(CkReductionTarget(Main, seen), thisProxy));
  }
  void seen(int sum) {
    require(sum == elements * (elements - 1) / 2, "places that iterate() has shown");
    int value = 7;
    if (mistake_ == "deduced") elements_.tell(value, CkCallback(CkCallback::ignore));
    elements_.tell<int&>(value, CkCallback(CkReductionTarget(Main, told), thisProxy));
  }
  void told(int largest) {
    require(largest == 7 + elements - 1, "a template entry by reference");
    if (mistake_ == "gone") return elements_[0].useRecordOfTheGone();
    elements_.synchronize();
  }
  void synced() { thisProxy.poll(); }
  // In an entry that is no thread: for an answer that another PE gives, and for quiescence.
  void poll() {
    const CProxy_Answering answering = CProxy_Answering::ckNew();
    for (int round = 0; round < 2; ++round) {
      answered_ = quiet_ = false;
      answering[CkNumPes() - 1].ask();
      while (!answered_) look(round);
      CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
      while (!quiet_) look(round);
    }
    CkPrintf("all checks passed\n");
    CkExit();
  }
  void answered() { answered_ = true; }
  void quiet() { quiet_ = true; }
  void nest() {
    thisProxy.nest();
    CthYield();
  }
};

class Yielding : public CBase_Yielding {
 public:
  Yielding() {
    CthYield();
    mainProxy.ping();
  }
};
class YieldingGroup : public CBase_YieldingGroup {
 public:
  YieldingGroup() {
    CthYieldPrio(CQS_QUEUEING_FIFO, 0, nullptr);
    mainProxy.ping();
  }
  void call() { mainProxy.ping(); }
};

class Answering : public CBase_Answering {
 public:
  void ask() { mainProxy.answered(); }
};

class Elements : public CBase_Elements {
  // What a program does that holds elements by their base.
  struct Places : CkLocIterator {
    int sum = 0;
    void addLocation(CkLocation& location) override {
      CkLocRec* const record = location.getLocalRecord();
      CkMigratable* const element = location.getManager()->lookup(location.getID());
      sum += element->ckGetArrayIndex().data()[0];
      require(record->getIndex() == location.getIndex() && record->getID() == element->ckGetID(), "a record's place");
      require(location.getManager()->elementNrec(location.getID())->getID() == record->getID(), "elementNrec()");
      require(record->getLBMgr() == element->getLBMgr() && element->MigrateToPe() == -1, "a record's balancer");
      record->setObjTime(1.5);
      element->setMigratable(1);
      element->setPupSize(100);
      CkLocation again(record->getLocMgr(), record);
      require(again.getID() == location.getID(), "a place by its record");
    }
  };
  bool looked_ = false;

 public:
  Elements() { usesAtSync = true; }
  explicit Elements(CkMigrateMessage* m) : CBase_Elements(m) {}
  void pup(PUP::er& p) override { p | looked_; }
  void look(CkCallback done) {
    Places places;
    if (ckGetArrayManager()->lookup(CkArrayIndex1D(thisIndex)) == this && getRedNo() != 0)
      CkAbort("the number of the first reduction is %d", getRedNo());
    CkLocRec* const mine = myRec;
    require(mine->getID() == ckGetID().getElementID(), "myRec as a pointer");
    // The first of those that are on this PE looks at all.
    int first = elements;
    for (int i = elements - 1; i >= 0; --i)
      if (ckGetArrayManager()->lookup(CkArrayIndex1D(i))) first = i;
    if (first == thisIndex) thisProxy.ckLocMgr()->iterate(places);
    contribute(sizeof places.sum, &places.sum, CkReduction::sum_int, done);
    require(getRedNo() == 1, "the number of the second reduction");
  }
  template <typename T>
  void tell(T value, CkCallback done) {
    value += thisIndex;
    contribute(sizeof value, &value, CkReduction::max_int, done);
  }
  void synchronize() {
    CkMigratable* const held = this;
    held->AtSync();
  }
  void ResumeFromSync() override { thisProxy[thisIndex].leave((CkMyPe() + 1) % CkNumPes()); }
  void leave(int pe) {
    looked_ = true;
    thisProxy[thisIndex].goAway();
    CkMigratable* const held = this;
    held->ckMigrate(pe);
  }
  void useRecordOfTheGone() {
    CkLocRec* const mine = myRec;
    mine->setObjTime(1);
    CkLocRec* const asked = ckGetArrayManager()->elementNrec(ckGetID().getElementID());
    ckDestroy();
    // The room of the element has other contents by and by.
    void* const other = operator new(sizeof(Elements));
    std::memset(other, 0x5a, sizeof(Elements));
    asked->setObjTime(1);
  }
  void goAway() { contribute(CkCallback(CkReductionTarget(Main, synced), mainProxy)); }
};
class Beside : public CBase_Beside {
 public:
  Beside() = default;
  explicit Beside(CkMigrateMessage* m) : CBase_Beside(m) {}
};

#include "manual.def.h"
