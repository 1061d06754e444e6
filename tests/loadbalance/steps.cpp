// A program whose elements sync, move, talk, come and go; it counts everything that must happen exactly once.
//
//   steps STEPS COUNT [+balancer ...] [even] [nan] [phases=N] [predicts[=WINDOW]]
//
// With "even", loads that grow with the index are balanced and the outcome must be even. With "nan" one says a load
// that is none. With "phases=2" the load of each lies in two phases. With "predicts" loads
// are foretold until step 3 is over, with "predicts=2" from no more than two intervals, which is said at each step
// anew. Exits 0 when all is right.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "steps_in_sync.decl.h"

CProxy_Main mainProxy;
CProxy_Piece pieces;
CProxy_Shadow shadows;
CProxy_Guest guests;
int steps;
int count;
int wrong_load;
int phases;

namespace {
void spin(double seconds) {
  const double end = CkWallTimer() + seconds;
  while (CkWallTimer() < end) {
  }
}
}  // namespace

#define CHECK(condition, ...)                           \
  do {                                                  \
    if (!(condition)) {                                 \
      CkPrintf("failed: " #condition ": " __VA_ARGS__); \
      CkPrintf("\n");                                   \
      CkExit(1);                                        \
    }                                                   \
  } while (0)

// Load models of its own: a number of seconds by how many intervals there have been, and none.
static double counting(const float*, int intervals) { return intervals; }
static double broken(const float*, int) { return std::nan(""); }
static void register_models() {
  LBRegisterLoadModel("counting", "how many intervals it has seen", counting, 3);
  LBRegisterLoadModel("broken", "no number", broken, 1);
}

// One of Charm++'s face: a second, which the parameter is to come to by itself.
class Second : public LBPredictorFunction {
 public:
  Second() { num_params = 1; }
  double predict(double, double* parameters) override { return 1 + 0 * parameters[0]; }
  void function(double x, double* parameters, double& y, double* derivatives) override {
    y = predict(x, parameters);
    derivatives[0] = 0;
  }
};

class Main : public CBase_Main {
  bool even_ = false;
  int stepped_ = 0;

 public:
  Main(CkArgMsg* m) {
    steps = std::atoi(m->argv[1]);
    count = std::atoi(m->argv[2]);
    for (int i = 3; i < m->argc; ++i) {
      CHECK(m->argv[i][0] != '+', "%s is left on the command line", m->argv[i]);
      even_ |= std::strcmp(m->argv[i], "even") == 0;
      wrong_load |= std::strcmp(m->argv[i], "nan") == 0;
      std::sscanf(m->argv[i], "phases=%d", &phases);
      if (int window = 0; std::sscanf(m->argv[i], "predicts=%d", &window) == 1) {
        static Second second;
        LBTurnPredictorOn(&second, window);
        LBManager::Object()->AddStartLBFn([window] { LBTurnPredictorOn(&second, window); });
      } else if (std::strcmp(m->argv[i], "predicts") == 0) {
        static Second second;
        LBTurnPredictorOn(&second);
        LBManager::Object()->AddMigrationDoneFn([] {
          if (LBManager::Object()->step() == 3) LBTurnPredictorOff();
        });
      }
    }
    delete m;
    mainProxy = thisProxy;
    pieces = CProxy_Piece::ckNew(count);
    CkArrayOptions bound(count);
    bound.bindTo(pieces);
    shadows = CProxy_Shadow::ckNew(bound);
    guests = CProxy_Guest::ckNew();
    guests.doneInserting();
    pieces.go();
  }
  // Every element gives its step: all are in the same one, in order.
  void stepped(int n, const long long* x) {
    CHECK(x[0] == count, "%lld pieces in step %d", x[0], stepped_);
    CHECK(x[1] == static_cast<long long>(count) * stepped_, "step %d", stepped_);
    ++stepped_;
  }
  void finished() { CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy)); }
  void quiet() { pieces.report(); }
  void counted(int n, const long long* x) {
    CHECK(n == 6, "%d", n);
    CHECK(x[0] == static_cast<long long>(count) * steps, "%lld resumes", x[0]);
    CHECK(x[1] == x[2], "%lld told, %lld heard", x[1], x[2]);
    CHECK(x[3] == static_cast<long long>(count) * steps, "%lld broadcasts", x[3]);
    CHECK(x[4] == static_cast<long long>(count) * steps, "%lld words to shadows", x[4]);
    CHECK(x[5] == static_cast<long long>(count) * steps, "%lld waits", x[5]);
    CHECK(stepped_ == steps, "%d reductions", stepped_);
  }
  void loads(int n, const double* x) {
    double most = 0, all = 0;
    for (int i = 0; i < n; ++i) {
      most = x[i] > most ? x[i] : most;
      all += x[i];
    }
    CkPrintf("max/avg load %.3f\n", most * n / all);
    if (even_) CHECK(most * n / all < 1.2, "%g", most * n / all);
    CkPrintf("all is right\n");
    CkExit(0);
  }
};

class Shadow : public CBase_Shadow {
 public:
  int heard = 0;
  Shadow() {}
  Shadow(CkMigrateMessage*) {}
  void with(int pe) {
    ++heard;
    if (Piece* piece = pieces[thisIndex].ckLocal(); !piece) CHECK(false, "shadow %d is not with its piece", thisIndex);
  }
  void pup(PUP::er& p) { p | heard; }
};

class Piece : public CBase_Piece {
  int step_ = 0, resumed_ = 0, told_ = 0, heard_ = 0, shouts_ = 0, waits_ = 0;

 public:
  Piece() { usesAtSync = true; }
  Piece(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | step_;
    p | resumed_;
    p | told_;
    p | heard_;
    p | shouts_;
    p | waits_;
  }
  void go() {
    // What others do while this thread waits is theirs: together it fits into the time that has passed.
    thisProxy[thisIndex].wait();
  }
  void wait() {
    const double begin = CkWallTimer(), mine = getObjTime();
    spin(20e-6);
    CthYield();
    spin(20e-6);
    ++waits_;
    const double used = getObjTime() - mine;
    const double passed = CkWallTimer() - begin;  // looked at last: this process may be put aside between the two
    CHECK(used >= 0 && used <= passed + 1e-3, "time of a thread");
    for (int i = 0; i < 3; ++i, ++told_) thisProxy[(thisIndex * 7 + step_ * 3 + i) % count].tell(thisIndex);
    shadows[thisIndex].with(CkMyPe());
    if (thisIndex == step_ % count) thisProxy.shout(step_);
    if (thisIndex == 0) guests[step_].insert(step_, step_ % CkNumPes());
    const long long mine_and_step[] = {1, step_};
    contribute(sizeof mine_and_step, mine_and_step, CkReduction::sum_long_long,
               CkCallback(CkReductionTarget(Main, stepped), mainProxy));
    if (phases > 0)
      setObjPhases(std::vector<double>(static_cast<std::size_t>(phases), 1e-3 * (thisIndex + 1) / phases).data(),
                   phases);
    else
      setObjTime(wrong_load && thisIndex == 0 ? std::nan("") : 1e-3 * (thisIndex + 1));
    setObjPosition(thisIndex, step_);
    AtSync();
  }
  void ResumeFromSync() override {
    ++resumed_;
    if (++step_ < steps)
      go();
    else
      contribute(CkCallback(CkReductionTarget(Main, finished), mainProxy));
  }
  void tell(int) { ++heard_; }
  void shout(int) { ++shouts_; }
  void report() {
    const Shadow* shadow = shadows[thisIndex].ckLocal();
    CHECK(shadow, "shadow %d is lost", thisIndex);
    const long long x[] = {resumed_, told_, heard_, shouts_, shadow->heard, waits_};
    contribute(sizeof x, x, CkReduction::sum_long_long, CkCallback(CkReductionTarget(Main, counted), mainProxy));
    std::vector<double> load(CkNumPes());
    load[CkMyPe()] = thisIndex + 1;
    contribute(load, CkReduction::sum_double, CkCallback(CkReductionTarget(Main, loads), mainProxy));
  }
};

class Guest : public CBase_Guest {
  int step_, left_ = 3;

 public:
  Guest(int step) : step_(step) {
    usesAtSync = true;
    AtSync();
  }
  Guest(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | step_;
    p | left_;
  }
  void ResumeFromSync() override {
    if (--left_ == 0) {
      ckDestroy();
      return;
    }
    AtSync();
  }
};

#include "steps_in_sync.def.h"
