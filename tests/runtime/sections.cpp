// Sections: multicasts and reductions while members migrate at random, from the first moment on and from every PE.
//
//   sections [rounds] [seed] +pN +ppn M
//
// Section 0: a range of an array; 1: of two arrays; 2: of an array that is still empty when it is
// first multicast to; 3: members of a group. Each multicast has to reach each member once, and each round of a section
// has to bring one contribution of each. It passes when all sums come out.
#include <random>
#include <vector>

#include "charm++.h"
#include "ckmulticast.h"
#include "sections.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ int seed = 1;
/*readonly*/ CkGroupID relay;

namespace {
constexpr int cells = 40, sections = 4, window = 3;
void expect(bool right, const char* what, long a, long b) {
  if (right) return;
  CkPrintf("sections: seed %d on %d PEs: %s: %ld, %ld\n", seed, CkNumPes(), what, a, b);
  CkAbort("sections failed");
}
}  // namespace

class Ping : public CkMcastBaseMsg, public CMessage_Ping {
 public:
  int section, weight;
  Ping(int section, int weight) : section(section), weight(weight) {}
};

// Hands on what it gets, and counts it.
class Relay : public CkDelegateMgr {
 public:
  int sends = 0, multicasts = 0;
  void ArraySend(CkDelegateData* data, int ep, void* m, const CkArrayIndex& index, CkArrayID a) override {
    ++sends;
    CkDelegateMgr::ArraySend(data, ep, m, index, a);
  }
  void ArraySectionSend(CkDelegateData* data, int ep, void* m, int parts, CkSectionID* section, int opts) override {
    ++multicasts;
    CkDelegateMgr::ArraySectionSend(data, ep, m, parts, section, opts);
  }
  void use(CProxy_Cell array, CProxySection_Cell section, int calls) {
    expect(array.ckIsDelegated() && array.ckDelegatedIdx() == thisgroup, "delegated", array.ckIsDelegated(), 0);
    for (int i = 0; i < calls; ++i) {
      array[i].plain(1, std::vector<int>(3, 1));
      section.plain(1, std::vector<int>(100, 2));
    }
    array.ckUndelegate();
    array[0].plain(1, {});
    expect(sends == calls && multicasts == calls, "relayed", sends, multicasts);
  }
  void report() {
    int none[] = {0, 0, 0, 0};
    contribute(sizeof none, none, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, counted), mainProxy));
  }
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* args) {
    if (args->argc > 1) rounds = atoi(args->argv[1]);
    if (args->argc > 2) seed = atoi(args->argv[2]);
    delete args;
    mainProxy = thisProxy;
    relay = CProxy_Relay::ckNew();
    first = CProxy_Cell::ckNew(cells);
    second = CProxy_Cell::ckNew(cells);
    late = CProxy_Cell::ckNew();
    tiles = CProxy_Tile::ckNew(CkArrayOptions(4, 3, 2, 2));
    group = CProxy_Member::ckNew();
    make_sections();
    for (int s = 0; s < sections; ++s)
      for (int i = 0; i < window; ++i) ping(s);
    for (int i = 0; i < 8; ++i) late[i].insert(i % CkNumPes());
    late.doneInserting();
    for (int i = 0; i < 5; ++i) first[i * 7].multicast(parts[1], 4);
    for (int pe = 0; pe < CkNumPes(); ++pe) group[pe].multicast(of_group, 3);
    CProxySection_Tile some = CProxySection_Tile::ckNew(tiles.ckGetArrayID(), 0, 3, 2, 0, 2, 1, 1, 1, 1, 0, 1, 1);
    for (int i = 0; i < 5; ++i) some.plain(1);
    CProxy_Cell delegated = first;
    delegated.ckDelegate(CProxy_Relay(relay).ckLocalBranch());
    CProxySection_Cell delegated_part = parts[0];
    delegated_part.ckDelegate(CProxy_Relay(relay).ckLocalBranch());
    for (int pe = 0; pe < CkNumPes(); ++pe) CProxy_Relay(relay)[pe].use(delegated, delegated_part, 3);
    CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
  }

  void reduced(CkReductionMsg* sum) {
    const int s = sum->getUserFlag();
    expect(sum->getGcount() == members[s], "contributions of a round", sum->getGcount(), members[s]);
    expect(sum->getRedNo() == done[s], "number of a round", sum->getRedNo(), done[s]);
    expect(*static_cast<int*>(sum->getData()) == members[s], "sum of a round", *static_cast<int*>(sum->getData()), s);
    ++done[s];
    if (sent[s] < rounds) ping(s);
    delete sum;
  }
  void client(int n) {
    expect(n == 8, "sum for the client", n, 8);
    ++of_client;
  }

  void quiet() {
    for (int s = 0; s < sections; ++s) expect(s == 2 || done[s] == rounds, "rounds", s, done[s]);
    expect(of_client == window, "results for the client", of_client, window);
    first.report();
    second.report();
    late.report();
    tiles.report();
    CProxy_Relay(relay).report();
  }
  void counted(int n, int* sums) {
    for (int i = 0; i < n; ++i) total[i] += sums[i];
    if (++reports < 5) return;
    expect(total[0] == window * 8 + rounds * (members[0] + members[1]), "pings taken", total[0], 0);
    const int pes = CkNumPes();
    expect(total[1] == 5 * 4 * members[1], "multicasts of members", total[1], 5 * 4 * members[1]);
    expect(total[2] == 5 * 12 + pes * (3 + 1 + 3 * members[0]), "marshalled calls", total[2], 5 * 12 + pes);
    CkPrintf("sections: %d rounds of each, %d moves: each member had each multicast once\n", rounds, total[3]);
    CkExit();
  }

 private:
  void make_sections() {
    parts[0] = CProxySection_Cell::ckNew(first.ckGetArrayID(), 1, cells - 1, 3, 2);
    std::vector<CkArrayIndex> own, others;
    for (int i = 0; i < cells; i += 2) own.push_back(CkArrayIndex1D(i));
    for (int i = 0; i < 9; ++i) others.push_back(CkArrayIndex1D(3 * i));
    parts[1] = CProxySection_Cell({first.ckGetArrayID(), second.ckGetArrayID()}, {own, others});
    std::vector<CkArrayIndex1D> of_late;
    for (int i = 0; i < 8; ++i) of_late.emplace_back(i);
    parts[2] = CProxySection_Cell::ckNew(late.ckGetArrayID(), of_late);
    CkCallback to_client(CkReductionTarget(Main, client), thisProxy);
    parts[2].setReductionClient(&to_client);
    std::vector<int> pes;
    for (int pe = CkNumPes() - 1; pe >= 0; pe -= 2) pes.push_back(pe);
    of_group = CProxySection_Member::ckNew(group, pes);
    members[0] = parts[0].ckGetNumElements();
    members[1] = static_cast<int>(own.size() + others.size());
    members[2] = 8;
    members[3] = static_cast<int>(pes.size());
  }
  void ping(int s) {
    ++sent[s];
    if (s == 3)
      of_group.take(new Ping(s, 0));
    else
      parts[s].take(new Ping(s, 1));
  }

  CProxy_Cell first, second, late;
  CProxy_Tile tiles;
  CProxy_Member group;
  CProxySection_Cell parts[3];
  CProxySection_Member of_group;
  int rounds = 30, members[sections], sent[sections] = {}, done[sections] = {}, of_client = 0, reports = 0;
  int total[4] = {};
};

class Cell : public CBase_Cell {
 public:
  Cell() : chance(static_cast<unsigned>(seed * 1000 + thisIndex)) {}
  explicit Cell(CkMigrateMessage*) {}
  void take(Ping* ping) {
    const int s = ping->section;
    CkGetSectionInfo(cookies[s], ping);
    sums[0] += ping->weight;
    delete ping;
    int one = 1;
    if (s == 2)
      CProxySection_Cell::contribute(sizeof one, &one, CkReduction::sum_int, cookies[s]);
    else
      CProxySection_Cell::contribute(std::vector<int>(1, one), CkReduction::sum_int, cookies[s],
                                     CkCallback(CkIndex_Main::reduced(nullptr), mainProxy), s);
    wander();
  }
  void look(Ping* ping) {
    sums[1] += ping->weight;
    wander();
  }
  void plain(int weight, const std::vector<int>& numbers) {
    sums[2] += weight;
    wander();
  }
  void multicast(CProxySection_Cell section, int times) {
    for (int i = 0; i < times; ++i) section.look(new Ping(1, 1));
    wander();
  }
  void report() {
    contribute(sizeof sums, sums, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, counted), mainProxy));
  }
  void pup(PUP::er& p) {
    PUParray(p, cookies, 3);
    PUParray(p, sums, 4);
    p | chance;
  }

 private:
  void wander() {
    chance = chance * 1664525u + 1013904223u;
    if ((chance >> 16) % 4 != 0) return;
    ++sums[3];
    migrateMe(static_cast<int>((chance >> 20) % static_cast<unsigned>(CkNumPes())));
  }
  CkSectionInfo cookies[3];
  int sums[4] = {};
  unsigned chance = 0;
};

class Tile : public CBase_Tile {
 public:
  Tile() = default;
  explicit Tile(CkMigrateMessage*) {}
  void plain(int weight) { sums[2] += weight; }
  void report() {
    contribute(sizeof sums, sums, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, counted), mainProxy));
  }

 private:
  int sums[4] = {};
};

class Member : public CBase_Member {
 public:
  void take(Ping* ping) {
    CkGetSectionInfo(cookie, ping);
    heard += ping->weight;
    if (ping->weight == 0) {
      int one = 1;
      CProxySection_Member::contribute(sizeof one, &one, CkReduction::sum_int, cookie,
                                       CkCallback(CkIndex_Main::reduced(nullptr), mainProxy), ping->section);
    }
    delete ping;
  }
  void multicast(CProxySection_Member section, int times) {
    if (section.ckLocalBranch() != this || CProxySection_Member::ckLocalBranch(thisgroup) != this)
      CkAbort("a section of a group does not know the member that is here");
    for (int i = 0; i < times; ++i) section.take(new Ping(3, 1));
  }
  int heard = 0;
  CkSectionInfo cookie;
};

#include "sections.def.h"
