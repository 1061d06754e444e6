// Chares that are made without a PE, under each seed balancer: a tree of them, each made by its parent, from PE 0.
//
//   tree spread|stay|priorities|pairs [+seed-balancer NAME]
//
// A parent calls its children as soon as it has made them, by the handles that it got: numbered calls, which must come
// in that order, and one that has the left child call the right one. So a call is on its way before any PE knows where
// its receiver will be. A node answers its parent, which knows it as `thisProxy`, when all have come and the trees
// below are done, and deletes itself. `spread`: after some trees every PE has had some node; `stay`: PE 0 has had all;
// `priorities`: a seed that PE 0 has given away does not come back soon, so what runs there runs by priority;
// `pairs`: no tree, but two seeds again and again, and two PEs that have nothing else to do: each gets one.
#include "tree.h"

#include <string>
#include <utility>
#include <vector>

#include "runtime/objects/pe_objects.h"
#include "tree.decl.h"

CProxy_Main main_proxy;

namespace {
constexpr int depth = 9, calls = 3, trees_max = 200, asked_count = 40, ranked_count = 30, pairs_max = 10;
constexpr int tree_nodes = (2 << depth) - 1;

void fail(const char* what) { CkAbort("tree: %s\n", what); }

// Some 20 us.
void work() {
  volatile unsigned x = 1;
  for (int i = 0; i < 10000; ++i) x = x * 1664525 + 1013904223;
}
}  // namespace

class Node : public CBase_Node {
 public:
  Node(CkChareID parent, int below) : parent_(parent), missing_(calls + 1) {
    work();
    seen_.nodes = 1;
    seen_.pes = 1ull << CkMyPe();
    if (below == 0) return;
    missing_ += 2;
    CProxy_Node left = CProxy_Node::ckNew(thishandle, below - 1), right = CProxy_Node::ckNew(thishandle, below - 1);
    for (int i = 0; i < calls; ++i) {
      left.call(i);
      right.call(i);
    }
    left.meet(right);
  }
  void call(int number) {
    if (number != next_++) fail("calls to a chare changed places");
    arrived();
  }
  void meet(const CProxy_Node& sibling) {
    CProxy_Node(sibling).greet();
    arrived();
  }
  void greet() { arrived(); }
  void grown(Seen below) {
    seen_.nodes += below.nodes;
    seen_.pes |= below.pes;
    arrived();
  }

 private:
  void arrived() {
    if (--missing_ > 0) return;
    // The root's parent is the mainchare.
    if (parent_ == main_proxy.ckGetChareID())
      main_proxy.grown(seen_);
    else
      CProxy_Node(parent_).grown(seen_);
    delete this;
  }

  CkChareID parent_;
  int missing_, next_ = 0;
  Seen seen_;
};

// Answers a call that waits for it.
class Asked : public CBase_Asked {
 public:
  explicit Asked(int number) : number_(number) { work(); }
  int ask() { return number_; }
  void end() { delete this; }

 private:
  int number_;
};

class Ranked : public CBase_Ranked {
 public:
  explicit Ranked(int number) {
    main_proxy.ranked(number, CkMyPe());
    delete this;
  }
};

class Pair : public CBase_Pair {
 public:
  Pair() {
    main_proxy.paired(CkMyPe());
    delete this;
  }
};

class Watch : public CBase_Watch {
 public:
  Watch() { contribute(CkCallback(CkIndex_Main::started(), main_proxy)); }
  // Of chares that are gone nothing is kept.
  void count() {
    int records = static_cast<int>(periapt::PeObjects::current().moved_chares());
    contribute(sizeof records, &records, CkReduction::sum_int,
               CkCallback(CkReductionTarget(Main, counted), main_proxy));
  }
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) : mode_(m->argc > 1 ? m->argv[1] : "") {
    delete m;
    main_proxy = thisProxy;
    watch_ = CProxy_Watch::ckNew();
  }
  void started() {
    if (mode_ == "pairs") return pair();
    grow();
  }
  void pair() {
    if (pairs_++ == pairs_max) return watch_.count();
    CProxy_Pair::ckNew();
    CProxy_Pair::ckNew();
  }
  void paired(int pe) {
    if (pair_pe_ == -1) {
      pair_pe_ = pe;
      return;
    }
    if (std::exchange(pair_pe_, -1) == pe) fail("one PE has got both chares, and the other none");
    CkStartQD(CkCallback(CkIndex_Main::pair(), thisProxy));
  }
  void grown(Seen seen) {
    if (seen.nodes != tree_nodes) fail("a tree has lost nodes");
    seen_.pes |= seen.pes;
    if (mode_ == "stay" && seen_.pes != 1) fail("a chare has left the PE that made it");
    const unsigned long long all = ~0ull >> (64 - CkNumPes());
    if (mode_ == "spread" && seen_.pes != all) {
      if (++trees_ == trees_max) fail("some PE has never got a chare");
      return grow();
    }
    thisProxy.ask_all();
  }
  void ask_all() {
    std::vector<CProxy_Asked> asked;
    for (int i = 0; i < asked_count; ++i) asked.push_back(CProxy_Asked::ckNew(i));
    for (int i = 0; i < asked_count; ++i)
      if (asked[i].ask() != i) fail("a chare has given the answer of another");
    for (CProxy_Asked& one : asked) one.end();
    CkEntryOptions options;
    for (int i = 0; i < ranked_count; ++i) {
      options.setPriority(-i);
      CProxy_Ranked::ckNew(i, CK_PE_ANY, &options);
    }
    CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
  }
  // Those that have stayed ran by their priorities: the last one made first.
  void ranked(int number, int pe) {
    ++ranked_;
    if (pe != 0) return;
    if (number > last_ranked_ && mode_ != "spread") fail("seeds have lost their priorities");
    last_ranked_ = number;
  }
  void quiet() {
    if (ranked_ != ranked_count) fail("quiescence has come before a seed became a chare");
    watch_.count();
  }
  void counted(int records) {
    if (records != 0) fail("chares that are gone are remembered");
    CkPrintf("all checks passed: %s\n", CldGetStrategy());
    CkExit();
  }

 private:
  void grow() {
    CProxy_Node root = CProxy_Node::ckNew(thishandle, depth);
    for (int i = 0; i < calls; ++i) root.call(i);
    root.greet();
  }

  const std::string mode_;
  CProxy_Watch watch_;
  Seen seen_;
  int pairs_ = 0, pair_pe_ = -1;
  int trees_ = 0, ranked_ = 0, last_ranked_ = ranked_count;
};

#include "tree.def.h"
