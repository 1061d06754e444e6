// A program whose own main() starts the runtime and runs the scheduler: a split start without a mainchare, many rounds
// that end in each of the ways there are, and each mistake (its name as the first argument).
#include <cstdlib>
#include <string>

#include "user_driven.decl.h"
// (Behind the declarations: from here on CkExit() ends a round.)
#include "mpi-interoperate.h"

/*readonly*/ int seed;
/*readonly*/ CProxy_Member members;
/*readonly*/ CProxy_OfProcess processes;
/*readonly*/ CProxy_Piece pieces;

namespace {
constexpr int rounds = 70;
void check(bool fine, const char* what, int round) {
  if (!fine) CkAbort("round %d: %s", round, what);
}
}  // namespace

class Member : public CBase_Member {
 public:
  int stopped = 0, arrays_done = 0;
  Member() { check(seed == 41, "a group's constructor has no readonlys", -1); }
  void stopHere() {
    ++stopped;
    StopCharmScheduler();
  }
  void beBusy() {
    for (const double begin = CkWallTimer(); CkWallTimer() < begin + 0.002;) continue;
  }
  void arrayIsDone() {
    if (++arrays_done % CkNumNodes() == 0) CkExit();
  }
  void endAfterAll() {
    const int n = pieces[0].answer(20);
    check(n == 21, "a [sync] call has another answer", -1);
    CkExit();
  }
};

class OfProcess : public CBase_OfProcess {
 public:
  int greeted = 0;
  OfProcess() {}
  void greet(int) {
    if (++greeted % CkNumNodes() == 0) contribute(CkCallback(CkCallback::ckExit));
  }
};

class Piece : public CBase_Piece {
 public:
  int worked = 0;
  Piece() { check(seed == 41, "an element's constructor has no readonlys", -1); }
  explicit Piece(CkMigrateMessage*) {}
  void work() { workFor(CkCallback(CkCallback::ckExit)); }
  void workFor(CkCallback done) {
    ++worked;
    contribute(done);
  }
  // Several requests of one round are one.
  void endRound() {
    for (int i = 0; i < 3; ++i) CkExit();
  }
  int answer(int question) { return question + 1; }
};

namespace {
void play(int round, int elements) {
  const int before = members.ckLocalBranch()->stopped;
  switch (round % 7) {
    case 0:  // a reduction over all elements ends it
      if (CkMyPe() == 0) pieces.work();
      break;
    case 1:  // one element, on any PE
      if (CkMyPe() == 0) pieces[round % elements].endRound();
      break;
    case 2:  // every main() to every process
      processes.greet(CkMyPe());
      break;
    case 3:  // each process for itself
      members[CkMyPe()].stopHere();
      break;
    case 4: {  // every main() makes an array
      CProxy_Piece own = CProxy_Piece::ckNew(5);
      own.workFor(CkCallback(CkIndex_Member::arrayIsDone(), members[0]));
      break;
    }
    case 5:  // one process is still at work when the others know of the stop; the next request comes past it
      if (CkMyPe() == 0) {
        members[CkNodeFirst(CkNumNodes() - 1)].beBusy();
        pieces[0].endRound();
      }
      StartCharmScheduler();
      if (CkMyPe() == 0) pieces[elements - 1].endRound();
      break;
    default:  // a thread, on the last PE
      if (CkMyPe() == 0) members[CkNumPes() - 1].endAfterAll();
  }
  StartCharmScheduler();
  check(round % 7 != 3 || members.ckLocalBranch()->stopped == before + 1, "another stop than its own", round);
  if (round % 7 != 0) return;
  for (int i = 0; i < elements; ++i)
    if (Piece* piece = pieces[i].ckLocal())
      check(piece->worked == round / 7 + 1, "an element has not worked once a round", round);
}
}  // namespace

int main(int argc, char** argv) {
  const std::string mistake = argc > 1 && argv[1][0] != '+' ? argv[1] : "";
  if (mistake == "early") StartCharmScheduler();
  CharmBeginInit(argc, argv);
  if (mistake == "twice") CharmInit(argc, argv);
  const int elements = 3 * CkNumPes() + 1;
  if (CkMyPe() == 0) {
    seed = 41;
    members = CProxy_Member::ckNew();
    processes = CProxy_OfProcess::ckNew();
    pieces = CProxy_Piece::ckNew(elements);
  }
  CharmFinishInit();
  check(seed == 41 && members.ckLocalBranch() && processes.ckLocalBranch(), "main() lacks what PE 0 has made", -1);
  if (mistake == "leaves") return 0;
  if (mistake == "throws") throw 42;
  for (int round = 0; round < rounds; ++round) play(round, elements);
  if (CkMyPe() == 0) CkPrintf("all checks passed\n");
  CharmLibExit();
  if (mistake == "late") StartCharmScheduler();
  return 0;
}

#include "user_driven.def.h"
