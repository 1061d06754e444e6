// Talker i and talker i + count/2 talk to each other: in words of several sizes, and through the echo of the other.
// The default map puts them on different PEs; a strategy that knows what they say brings them together.
//
//   pairs COUNT WORDS [apart | uneven | counted | uncounted] [+balancer ...]
//
// Prints how many talkers are on their partner's PE; exits 1 unless all are ("apart": unless none is; "uneven", where
// some have more to do than others: never). counted, uncounted: one PE, on which the program turns the counting of
// messages on, or off, and sees it.
#include <cstdlib>
#include <string>
#include <vector>

#include "CentralLB.h"
#include "pairs.decl.h"

CProxy_Main mainProxy;
CProxy_Talker talkers;
CProxy_Echo echoes;
int count;
int words;
bool uneven, turned_on, turned_off;

namespace {
int partner_of(int index) { return (index + count / 2) % count; }
}  // namespace

class Main : public CBase_Main {
  int wanted_;

 public:
  Main(CkArgMsg* m) {
    count = std::atoi(m->argv[1]);
    words = std::atoi(m->argv[2]);
    const std::string mode = m->argc > 3 ? m->argv[3] : "";
    wanted_ = mode == "apart" ? 0 : count;
    uneven = mode == "uneven";
    turned_on = mode == "counted";
    turned_off = mode == "uncounted";
    if (turned_on && (_lb_args.alpha() != 0.25 || _lb_args.beta() != 0.5)) CkAbort("messages cost something else");
    delete m;
    mainProxy = thisProxy;
    talkers = CProxy_Talker::ckNew(count);
    CkArrayOptions bound(count);
    bound.bindTo(talkers);
    echoes = CProxy_Echo::ckNew(bound);
    talkers.talk();
  }
  void together(int n) {
    CkPrintf("%d of %d are with their partner\n", n, count);
    CkExit(uneven || n == wanted_ ? 0 : 1);
  }
};

class Talker : public CBase_Talker {
  int heard_ = 0;

 public:
  Talker() { usesAtSync = true; }
  Talker(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | heard_; }
  void talk() {
    const int partner = partner_of(thisIndex);
    if (turned_on) LBTurnCommOn();
    if (turned_off) LBTurnCommOff();
    for (int i = 0; i < words; ++i) talkers[partner].hear(std::vector<double>(i * i * 100));
    echoes[partner].back(thisIndex);
  }
  void hear(std::vector<double>) { listen(); }
  void nod() { listen(); }
  // The words of the partner, and what the partner's echo has passed on.
  void listen() {
    if (++heard_ < words + 1) return;
    if (turned_on || turned_off) {
      const bool counted = LBManager::Object()->GetCommDataSz() > 0;
      const bool collects = LBManager::Object()->CollectingCommStats() != 0;
      if (counted != turned_on || collects != turned_on) CkAbort("messages are counted, or not");
    }
    setObjTime(uneven ? 1e-3 * (1 + thisIndex) : 1e-3);
    AtSync();
  }
  void ResumeFromSync() override {
    const int with = talkers[partner_of(thisIndex)].ckLocal() != nullptr;
    contribute(sizeof with, &with, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, together), mainProxy));
  }
};

class Echo : public CBase_Echo {
 public:
  Echo() {}
  Echo(CkMigrateMessage*) {}
  void back(int from) { talkers[from].nod(); }
};

#include "pairs.def.h"
