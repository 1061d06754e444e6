// A program that makes a section every step and forgets it: what the PEs know of sections must not grow with the steps.
//
//   many_sections [steps] [seed] +pN +ppn M
//
// Sections of random elements, which migrate at random, are made by the mainchare or by an element, used by the one
// that made them or by another, once or twice, with and without priorities. Some are used again when they have been put
// away for long: with a multicast, and by contributions alone. Each round has to bring one contribution of each member.
// One more is made by CkMulticastMgr::setSection(); its proxy has no list of members. It is used before and after all
// others.
#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "base/platform.h"
#include "charm++.h"
#include "ckmulticast.h"
#include "many_sections.decl.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/sections/sections.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Cell cellProxy;
/*readonly*/ int steps = 2000;

namespace {
constexpr int cells = 60, window = 6, rest = 400;
void expect(bool right, const char* what, long a, long b) {
  if (right) return;
  CkPrintf("many_sections on %d PEs: %s: %ld, %ld\n", CkNumPes(), what, a, b);
  CkAbort("many_sections failed");
}
// The section of a step: which element makes it, which uses it, and how many rounds it has.
bool used_by_another(int step) { return step % 4 == 1; }
bool made_by_another(int step) { return step % 4 == 2; }
bool comes_back(int step) { return step % 20 == 3 && step + 2 * rest < steps; }
constexpr int by_cookie = -2;
int rounds_of(int step) { return step == by_cookie || used_by_another(step) ? 2 : comes_back(step) ? 3 : 1; }

// Kilobytes of this process.
int resident() {
  long total = 0, pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &total, &pages) != 2) pages = 0;
    std::fclose(file);
  }
  return static_cast<int>(pages * 4);
}
}  // namespace

class Call : public CkMcastBaseMsg, public CMessage_Call {
 public:
  int step;
  explicit Call(int step) : step(step) {}
};

namespace {
CProxySection_Cell section_of(const std::vector<int>& members) {
  std::vector<CkArrayIndex1D> all;
  for (int m : members) all.emplace_back(m);
  return CProxySection_Cell::ckNew(cellProxy.ckGetArrayID(), all);
}
void multicast_all(CProxySection_Cell& section, int step) {
  if (used_by_another(step)) {
    Call* ranked = new (8 * sizeof(int)) Call(step);
    // One that others overtake waits as long as its PE has any other: so they are few.
    *static_cast<int*>(CkPriorityPtr(ranked)) = step % 8 == 1 && step < 300 ? 5 : -5;
    CkSetQueueing(ranked, CK_QUEUEING_IFIFO);
    section.take(ranked);
  }
  section.take(new Call(step));
}
}  // namespace

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* args) {
    if (args->argc > 1) steps = atoi(args->argv[1]);
    if (args->argc > 2) dice.seed(static_cast<unsigned>(atoi(args->argv[2])));
    delete args;
    mainProxy = thisProxy;
    cellProxy = CProxy_Cell::ckNew(cells);
    watch = CProxy_Watch::ckNew();
    set_by_cookie();
    for (int i = 0; i < window; ++i) begin();
    CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
  }

  void reduced(CkReductionMsg* sum) {
    const int step = sum->getUserFlag();
    const int members = static_cast<int>(members_of[step].size());
    expect(*static_cast<int*>(sum->getData()) == members, "sum of a round", *static_cast<int*>(sum->getData()),
           members);
    expect(sum->getRedNo() == done[step], "number of a round", sum->getRedNo(), done[step]);
    delete sum;
    ++all_done;
    if (++done[step] == 1 && step != by_cookie) begin();
    if (!comes_back(step) && done[step] == rounds_of(step)) members_of.erase(step);
  }

  void quiet() {
    expect(begun == steps, "steps", begun, steps);
    if (!std::exchange(used_last, true)) {
      cookie_alone.take(new Call(by_cookie));
      return CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
    }
    int rounds = rounds_of(by_cookie);
    for (int step = 0; step < steps; ++step) rounds += rounds_of(step);
    expect(all_done == rounds, "rounds", all_done, rounds);
    watch.look();
  }
  void looked(int n, int* most) {
    expect(most[0] <= 100 * CkNumPes(), "sections that a PE knows", most[0], steps);
    // What the sanitizers keep is theirs.
    if (!periapt::platform::kAddressSanitizer && !periapt::platform::kThreadSanitizer)
      expect(most[1] < 8192, "kilobytes that a process has grown by", most[1], 0);
    CkPrintf("many_sections: after %d a PE knows %d, a process has grown by %d KB\n", steps, most[0], most[1]);
    CkExit();
  }

 private:
  void set_by_cookie() {
    CkMulticastMgr* const manager = CProxy_CkMulticastMgr::ckLocalBranch(CProxy_CkMulticastMgr::ckNew(3));
    const std::vector<CkArrayIndex> members{CkArrayIndex1D(3), CkArrayIndex1D(41), CkArrayIndex1D(5)};
    members_of[by_cookie] = {3, 41, 5};
    CkSectionID section;
    manager->setSection(section._cookie, cellProxy.ckGetArrayID(), members.data(), 3);
    CkSectionInfo other;
    manager->setSection(other, cellProxy.ckGetArrayID(), members.data(), 2, 4);
    expect(section._cookie.get_aid() == cellProxy.ckGetArrayID() && !other.is_of(section._cookie), "cookies",
           section._cookie.get_pe(), other.get_pe());
    cookie_alone = CProxySection_Cell(section);
    watch[CkNumPes() - 1].use(cookie_alone, by_cookie);
  }
  void begin() {
    if (begun == steps) return;
    const int step = begun++;
    if (step == steps / 2) watch.mark();
    std::vector<int> members(cells);
    for (int i = 0; i < cells; ++i) members[static_cast<std::size_t>(i)] = i;
    std::shuffle(members.begin(), members.end(), dice);
    members.resize(1 + dice() % cells);
    members_of[step] = members;
    const int other = static_cast<int>(dice() % cells);
    if (made_by_another(step)) {
      cellProxy[other].make(step, members);
    } else {
      CProxySection_Cell section = section_of(members);
      if (used_by_another(step))
        cellProxy[other].multicast(section, step);
      else
        use(section, step);
      if (comes_back(step)) kept[step] = section;
    }
    bring_back(step);
  }
  // Half of those that come back are always used by the last PE, which is not where they were made.
  void use(CProxySection_Cell& section, int step) {
    if (step % 40 == 3)
      watch[CkNumPes() - 1].use(section, step);
    else
      multicast_all(section, step);
  }
  // Those of long ago.
  void bring_back(int step) {
    if (const auto once = kept.find(step - rest); once != kept.end()) use(once->second, once->first);
    if (const auto twice = kept.find(step - 2 * rest); twice != kept.end()) {
      for (int m : members_of[twice->first]) cellProxy[m].again(twice->first);
      kept.erase(twice);
    }
  }

  CProxy_Watch watch;
  CProxySection_Cell cookie_alone;
  bool used_last = false;
  std::mt19937 dice;
  std::map<int, CProxySection_Cell> kept;
  std::map<int, std::vector<int>> members_of;
  std::map<int, int> done;
  int begun = 0, all_done = 0;
};

class Cell : public CBase_Cell {
 public:
  Cell() : chance(static_cast<unsigned>(thisIndex)) {}
  explicit Cell(CkMigrateMessage*) {}
  void take(Call* call) {
    const int step = call->step;
    CkGetSectionInfo(cookies[step], call);
    delete call;
    again(step);
  }
  void again(int step) {
    int one = 1;
    CProxySection_Cell::contribute(sizeof one, &one, CkReduction::sum_int, cookies[step],
                                   CkCallback(CkIndex_Main::reduced(nullptr), mainProxy), step);
    if (cookies[step].get_redNo() == rounds_of(step)) cookies.erase(step);
    chance = chance * 1664525u + 1013904223u;
    if ((chance >> 16) % 8 == 0) migrateMe(static_cast<int>((chance >> 20) % static_cast<unsigned>(CkNumPes())));
  }
  void multicast(CProxySection_Cell section, int step) { multicast_all(section, step); }
  void make(int step, const std::vector<int>& members) {
    CProxySection_Cell section = section_of(members);
    multicast_all(section, step);
  }
  void pup(PUP::er& p) {
    p | cookies;
    p | chance;
  }

 private:
  std::map<int, CkSectionInfo> cookies;
  unsigned chance = 0;
};

class Watch : public CBase_Watch {
 public:
  void use(CProxySection_Cell section, int step) { multicast_all(section, step); }
  void mark() { before = resident(); }
  void look() {
    int most[] = {static_cast<int>(periapt::PeObjects::current().sections->known()), resident() - before};
    contribute(sizeof most, most, CkReduction::max_int, CkCallback(CkReductionTarget(Main, looked), mainProxy));
  }

 private:
  int before = 0;
};

#include "many_sections.def.h"
