// A program whose trace is known: three rounds of 12 elements that work, an inline entry within each, a threaded entry
// of each member of a group that yields, events of the user, and a round that is not recorded.
#include "traced.decl.h"

/*readonly*/ CProxy_Main mainProxy;

constexpr int columns = 4, rows = 3, rounds = 3;
enum { lap = 7, span = 8, long_span = 9 };
static int heat;

struct Piece : CBase_Piece {
  Piece() {}
  explicit Piece(CkMigrateMessage*) {}
  void work(int round) {
    thisProxy[thisIndex].quiet();
    thisProxy[thisIndex].within();
    if (round < 0) traceEnd();
    contribute(CkCallback(CkReductionTarget(Main, worked), mainProxy));
  }
  void quiet() {}
  void within() {
    traceUserEvent(lap);
    traceUserSuppliedData(thisIndex.x * columns + thisIndex.y);
  }
};

struct Member : CBase_Member {
  Member() {}
  void yields() {
    traceBeginUserBracketEvent(span);
    for (int i = 0; i < 3; ++i) CthYield();
    traceEndUserBracketEvent(span);
    contribute(CkCallback(CkReductionTarget(Main, worked), mainProxy));
  }
};

struct Main : CBase_Main {
  CthThread runner = nullptr;
  bool done = false;
  explicit Main(CkArgMsg* m) {
    delete m;
    mainProxy = thisProxy;
    traceRegisterUserEvent("a lap", lap);
    traceRegisterUserEvent("a span", span);
    traceRegisterUserEvent("a long span", long_span);
    heat = traceRegisterUserStat("heat", 3);
    thisProxy.run();
  }
  void wait() {
    runner = CthSelf();
    while (!done) CthSuspend();
    done = false;
  }
  void worked() {
    done = true;
    if (runner != nullptr) CthAwaken(std::exchange(runner, nullptr));
  }
  void run() {
    const double begin = CkWallTimer();
    CkArrayOptions size(rows, columns);
    const CProxy_Piece pieces(CProxy_Piece::ckNew(size));
    const CProxy_Member members(CProxy_Member::ckNew());
    for (int round = 0; round < rounds; ++round) {
      pieces.work(round);
      wait();
      updateStat(heat, 1.5 * round);
    }
    CProxy_Member(members).yields();
    wait();
    traceUserBracketEvent(long_span, begin, CkWallTimer());
    traceMemoryUsage();
    CkPrintf("trace is %s and %s\n", traceAvailable() ? "there" : "not there", traceIsOn() ? "on" : "off");
    traceEnd();
    traceUserEvent(lap);
    traceBegin();
    CkExit();
  }
};

#include "traced.def.h"
