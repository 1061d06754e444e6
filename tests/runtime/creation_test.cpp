// Programs whose first microsecond is full: eleven PEs stepped by hand in one thread, from the constructor of the
// mainchare on, in an order that is drawn from a seed. Creation, insertion, deletion, migration, binding, broadcasts,
// reductions and quiescence detection all begin at once. Each seed is a process of its own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <string>

#include "charm++.h"
#include "creation.decl.h"
#include "runtime/face/stepped.h"
#include "runtime/objects/pe_objects.h"
#include "tests/machine/job.h"
#include "tests/runtime/stepping.h"

using periapt::Pe;
using periapt::test::chance;
using periapt::test::pick;

namespace {
constexpr int pes = 11;  // two levels of the trees
constexpr int leaders_made = 16;
constexpr int fresh_size = 12;
constexpr int pairs_size = 6;
constexpr int leader_constructed = 1000;  // what a leader's constructor contributes; later ones give 1

CProxy_Main main_proxy;
CProxy_Anchor anchor;
CProxy_NodeAnchor node_anchor;
CProxy_Leader leaders;
CProxy_Mate mates, second_mates;
CProxy_Sparse sparse;

// What was begun, and what has happened.
struct Model {
  int calls = 0, ran = 0;                // to one receiver, constructors included
  int constructed = 0, gives = 0;        // rounds of the leaders' reduction: expected
  int led = 0;                           // ... and come
  int fresh_rounds = 0, fresh_come = 0;  // of arrays made on any PE
  int partner_rounds = 0, partners_come = 0;
  int shouts = 0, heard = 0;
  int sparse_alive = 0;
  int next_sparse = 0;
  bool quiet = false;
} model;

[[noreturn]] void wrong(const std::string& what) {
  std::fprintf(stderr, "PE %d: %s\n", CkMyPe(), what.c_str());
  std::_Exit(3);
}

// All that the mainchare's constructor makes is wherever anything runs that follows from it.
void look_around(const char* from) {
  if (!anchor.ckLocalBranch()) wrong(std::string(from) + ": no member of the group of the mainchare's constructor");
  if (!node_anchor.ckLocalBranch()) wrong(std::string(from) + ": no member of its node group");
  for (const CkArrayID& array : {leaders.ckGetArrayID(), mates.ckGetArrayID(), sparse.ckGetArrayID()})
    if (!array.ckLocalBranch()) wrong(std::string(from) + ": an array of the mainchare's constructor is not there");
}
void ran(const char* what) {
  ++model.ran;
  look_around(what);
}

void act();
}  // namespace

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg*) {
    main_proxy = thisProxy;
    anchor = CProxy_Anchor::ckNew();
    node_anchor = CProxy_NodeAnchor::ckNew();
    leaders = CProxy_Leader::ckNew(leaders_made);
    mates = bound_to(leaders.ckGetArrayID());
    second_mates = bound_to(mates.ckGetArrayID());
    sparse = CProxy_Sparse::ckNew();
    sparse.doneInserting();
    model.constructed = 1;
    leaders.go(3);
    CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
  }
  void led(int n) {
    const int expected = model.led++ == 0 ? leaders_made * leader_constructed : leaders_made;
    if (n != expected) wrong("a reduction of the leaders brings " + std::to_string(n));
  }
  void fresh(int n) {
    ++model.fresh_come;
    if (n != fresh_size) wrong("a reduction of a fresh array brings " + std::to_string(n));
  }
  void partnered(int n) {
    ++model.partners_come;
    if (n != pairs_size) wrong("a reduction of partners brings " + std::to_string(n));
  }
  void quiet();

 private:
  static CProxy_Mate bound_to(CkArrayID array) {
    CkArrayOptions options(leaders_made);
    options.bindTo(array);
    return CProxy_Mate::ckNew(options);
  }
};

class Anchor : public CBase_Anchor {
 public:
  Anchor() {}
};
class NodeAnchor : public CBase_NodeAnchor {
 public:
  NodeAnchor() {}
};

class Follower : public CBase_Follower {
 public:
  Follower() { ran("a group's constructor"); }
  void poke() { ran("a group"); }
};

class Visitor : public CBase_Visitor {
 public:
  Visitor() {
    ran("a chare's constructor");
    delete this;
  }
};

class Leader : public CBase_Leader {
 public:
  Leader() {
    const int value = leader_constructed;
    contribute(sizeof value, &value, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, led), main_proxy));
  }
  explicit Leader(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | last; }
  void go(int left) {
    look_around("a leader");
    check_mates();
    if (left > 0) {
      for (int i = 1 + pick(2); i > 0; --i) act();
      thisProxy[pick(leaders_made)].go(left - 1 - pick(2));
    }
    if (pick(3) == 0) migrateMe(pick(pes));
  }
  void shout(int number) {
    ++model.heard;
    check_mates();
    if (number != last + 1)
      wrong("a leader hears broadcast " + std::to_string(number) + " after " + std::to_string(last));
    last = number;
    if (pick(4) == 0) migrateMe(pick(pes));
  }
  void give() {
    const int one = 1;
    contribute(sizeof one, &one, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, led), main_proxy));
    if (pick(2) == 0) migrateMe(pick(pes));
  }

 private:
  void check_mates() const {
    if (!mates[thisIndex].ckLocal() || !second_mates[thisIndex].ckLocal()) wrong("a leader without its mates");
  }
  int last = 0;
};

class Mate : public CBase_Mate {
 public:
  Mate() {}
  explicit Mate(CkMigrateMessage*) {}
  void poke() {
    ran("a mate");
    if (!leaders[thisIndex].ckLocal() || !mates[thisIndex].ckLocal() || !second_mates[thisIndex].ckLocal())
      wrong("a mate that is not with those it is bound to");
  }
};

class Fresh : public CBase_Fresh {
 public:
  Fresh() {
    look_around("the constructor of a new array's element");
    contribute_one();
  }
  explicit Fresh(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | last; }
  void next(int number) {
    if (number != last + 1)
      wrong("a fresh element gets broadcast " + std::to_string(number) + " after " + std::to_string(last));
    last = number;
    contribute_one();
    if (pick(2) == 0) migrateMe(pick(pes));
  }

 private:
  void contribute_one() {
    const int one = 1;
    contribute(sizeof one, &one, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, fresh), main_proxy));
  }
  int last = 0;
};

// Its elements leave before what is bound to them is there.
class Pair : public CBase_Pair {
 public:
  Pair() {}
  explicit Pair(CkMigrateMessage*) {}
  void go(int left) {
    ran("a pair");
    if (left > 0) ++model.calls, thisProxy[thisIndex].go(left - 1);
    if (pick(2) == 0) migrateMe(pick(pes));
  }
};
class Partner : public CBase_Partner {
 public:
  explicit Partner(CProxy_Pair pairs) : pairs(pairs) {
    check("is made");
    contribute_one();
  }
  explicit Partner(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | pairs; }
  void poke() {
    ran("a partner");
    check("runs");
    contribute_one();
    if (pick(4) == 0) migrateMe(pick(pes));
  }

 private:
  void contribute_one() {
    const int one = 1;
    contribute(sizeof one, &one, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, partnered), main_proxy));
  }
  void check(const char* what) {
    if (!pairs[thisIndex].ckLocal()) wrong(std::string("a partner ") + what + " where its pair is not");
  }
  CProxy_Pair pairs;
};

// Dies of its last note.
class Sparse : public CBase_Sparse {
 public:
  explicit Sparse(int quota) : quota(quota) {
    ran("the constructor of an inserted element");
    ++model.sparse_alive;
  }
  explicit Sparse(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | quota; }
  void note() {
    ran("an inserted element");
    if (--quota == 0) {
      --model.sparse_alive;
      return ckDestroy();
    }
    if (pick(2) == 0) migrateMe(pick(pes));
  }

 private:
  int quota = 0;
};

#include "creation.def.h"
#include "tests/host/amount.h"

namespace {
void insert_one() {
  const int number = model.next_sparse++;
  CProxyElement_Sparse one = sparse(static_cast<short>(number), -1, static_cast<short>(pick(100)), 7);
  int notes = 1 + pick(4);
  const int quota = notes;
  model.calls += 1 + notes;
  for (int early = pick(notes + 1); early > 0; --early, --notes) one.note();
  pick(2) ? one.insert(quota) : one.insert(quota, pick(pes));
  for (; notes > 0; --notes) one.note();
}

void make_fresh_array() {
  CProxy_Fresh fresh = CProxy_Fresh::ckNew(CkArrayOptions(3, fresh_size / 3));
  const int broadcasts = pick(4);
  for (int i = 1; i <= broadcasts; ++i) fresh.next(i);
  model.fresh_rounds += 1 + broadcasts;
}

void make_pairs() {
  CProxy_Pair pairs = CProxy_Pair::ckNew(pairs_size);
  for (int i = 0; i < pairs_size; ++i) ++model.calls, pairs[i].go(pick(4));
  CkArrayOptions options(pairs_size);
  options.bindTo(pairs);
  CProxy_Partner partners = CProxy_Partner::ckNew(pairs, options);
  for (int i = 0; i < pairs_size; ++i) ++model.calls, partners[i].poke();
  model.partner_rounds += 2;  // their constructors' and this one
}

void act() {
  switch (pick(10)) {
    case 0:
      ++model.calls;
      CProxy_Visitor::ckNew(pick(pes));
      break;
    case 1: {
      CProxy_Follower follower = CProxy_Follower::ckNew();
      follower[pick(pes)].poke();
      model.calls += pes + 1;
      break;
    }
    case 2:
      make_fresh_array();
      break;
    case 3:
      make_pairs();
      break;
    case 4:
    case 5:
      insert_one();
      break;
    case 6:
      ++model.calls;
      mates[pick(leaders_made)].poke();
      break;
    case 7:
      ++model.calls;
      second_mates[pick(leaders_made)].poke();
      break;
    case 8:
      ++model.gives;
      leaders.give();
      break;
    default:
      // From one sender: their order is known.
      if (CkMyPe() == 0) leaders.shout(++model.shouts);
  }
}

// Everything has happened, once.
void check_end() {
  const auto same = [](int come, int begun, const char* what) {
    if (come != begun) wrong(std::to_string(come) + " of " + std::to_string(begun) + " " + what);
  };
  same(model.ran, model.calls, "calls and constructors");
  same(model.led, model.constructed + model.gives, "reductions of the leaders");
  same(model.fresh_come, model.fresh_rounds, "reductions of fresh arrays");
  same(model.partners_come, model.partner_rounds, "reductions of partners");
  same(model.heard, model.shouts * leaders_made, "shouts heard");
  same(0, model.sparse_alive, "inserted elements are left");
}
}  // namespace

void Main::quiet() {
  model.quiet = true;
  check_end();
}

namespace {
void start() {
  static char name[] = "creation_test";
  static char* arguments[] = {name, nullptr};
  periapt::start_stepped(periapt::test::layout(pes, 1), 1, arguments, _registercreation);
}
void step(int pe, int& idle) {
  Pe& chosen = periapt::Process::current()->pe(pe);
  Pe::set_current(&chosen);
  idle = chosen.step() ? 0 : idle + 1;
}

// What waits, and where.
std::string waiting() {
  std::string text;
  for (int pe = 0; pe < pes; ++pe) {
    Pe& here = periapt::Process::current()->pe(pe);
    Pe::set_current(&here);
    here.objects->for_each_waiting([&](const std::string& receiver, const std::vector<periapt::Message>& messages) {
      text += std::to_string(messages.size()) + " for " + receiver + " on PE " + std::to_string(pe) + "; ";
    });
  }
  return text;
}

[[noreturn]] void run(int seed) {
  chance.seed(static_cast<unsigned>(seed));
  start();
  int slow = 0, idle = 0;
  // Quiescence detection pauses between its waves, in real time: the end is when it has been told.
  for (long steps = 0; !model.quiet; ++steps) {
    if (pick(300) == 0) slow = pick(1 << pes) & pick(1 << pes);
    const int pe = pick(pes);
    if (!(slow >> pe & 1) || pick(60) == 0) step(pe, idle);
    if (idle > 1'000'000) wrong("nothing moves, and no quiescence: " + waiting());
  }
  for (idle = 0; idle < 100 * pes;) step(pick(pes), idle);
  check_end();
  std::_Exit(0);
}

class Creation : public testing::TestWithParam<int> {};
TEST_P(Creation, EverythingBeginsAtOnceAndIsRight) {
  EXPECT_EXIT(run(GetParam()), testing::ExitedWithCode(0), "") << "seed " << GetParam();
}
INSTANTIATE_TEST_SUITE_P(Seeds, Creation, testing::Range(1, 1 + periapt::tests::amount(400)));
}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
