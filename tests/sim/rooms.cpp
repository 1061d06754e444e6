// A program that says what it sees of the machine it runs on, passes a token round all PEs, exchanges the edges of a
// grid and times messages between the first and the last PE. Its lines about results are the same wherever it runs; its
// "took" lines are in the run's own time.
//
//   rooms [ROWS [PINGS [BYTES]]]
#include <cmath>

#include "TopoManager.h"
#include "rooms.decl.h"

CProxy_Main mainProxy;
CProxy_Ring ring;
CProxy_Cell cells;
CProxy_Room rooms;
int rows = 8;
int pings = 10;

CpvDeclare(int, visitors);

namespace {
constexpr int width = 16;
constexpr int steps = 5;
int bytes = 1;
}  // namespace

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    if (m->argc > 1) rows = std::atoi(m->argv[1]);
    if (m->argc > 2) pings = std::atoi(m->argv[2]);
    if (m->argc > 3) bytes = std::atoi(m->argv[3]);
    delete m;
    mainProxy = thisProxy;
    rooms = CProxy_Room::ckNew();
    ring = CProxy_Ring::ckNew();
    cells = CProxy_Cell::ckNew(rows, rows);
    thisProxy.run();
  }

  void run() {
    ring.look();
    wait();
    CkPrintf("%d PEs on %d nodes: %d looked, sum %lld, %d wrong\n", CkNumPes(), CkNumNodes(), int(sums_[0]),
             static_cast<long long>(sums_[1]), int(sums_[2]));
    const TopoManager& topology = *TopoManager::getTopoManager();
    CkPrintf("last PE: %d hops away, machine %d x %d x %d x %d\n", topology.getHopsBetweenRanks(0, CkNumPes() - 1),
             topology.getDimNX(), topology.getDimNY(), topology.getDimNZ(), topology.getDimNT());
    const int far = topology.getDimNX() - 1;
    if (topology.getDimNY() > 1 &&
        topology.absX(far) != topology.getHopsBetweenRanks(0, topology.coordinatesToRank(far, 0, 0, 0)))
      CkAbort("absX(%d) is %d", far, topology.absX(far));
    rooms.count();
    wait();
    CkPrintf("rooms: %d entered, %d wrong\n", int(sums_[0]), int(sums_[1]));

    const double begin = CkWallTimer();
    ring[0].token(0);
    wait();
    CkPrintf("ring: %d visits\n", visits_);
    CkPrintf("ring took %.9f s\n", CkWallTimer() - begin);

    cells.begin(steps);
    wait();
    CkPrintf("grid: %.12g\n", checksum_);

    if (CkNumPes() > 1 && pings > 0) {
      ring[0].ping(2 * pings, std::vector<char>(bytes));
      wait();
      CkPrintf("one way took %.3f ns\n", seconds_ / (2 * pings) * 1e9);
    }
    ring[CkNumPes() - 1].sleep();
    wait();
    CkPrintf("timer: %s\n", seconds_ >= 0.005 && seconds_ < 1 ? "came" : "came at a wrong time");
    CkExit();
  }

  void been(int n, int64_t* sums) {
    sums_.assign(sums, sums + n);
    go();
  }
  void round(double seconds, int visits) {
    seconds_ = seconds;
    visits_ = visits;
    go();
  }
  void settled(double checksum) {
    checksum_ = checksum;
    go();
  }
  void late(double seconds) {
    seconds_ = seconds;
    go();
  }

 private:
  void wait() {
    if (!come_) {
      waiting_ = CthSelf();
      CthSuspend();
    }
    come_ = false;
  }
  void go() {
    come_ = true;
    if (waiting_) CthAwaken(waiting_);
    waiting_ = nullptr;
  }
  CthThread waiting_ = nullptr;
  bool come_ = false;
  std::vector<int64_t> sums_;
  double checksum_ = 0, seconds_ = 0;
  int visits_ = 0;
};

class Room : public CBase_Room {
 public:
  Room() {}
  void enter(int pe) {
    ++entered_;
    wrong_ += CkNodeOf(pe) != CkMyNode() || thisIndex != CkMyNode() || CkNodeOf(CkMyPe()) != CkMyNode();
    report();
  }
  void count() {
    asked_ = true;
    report();
  }

 private:
  // Each PE enters its own node's room, so there are as many as the node has.
  void report() {
    if (!asked_ || entered_ < CkMyNodeSize()) return;
    int64_t sums[2] = {entered_, wrong_};
    contribute(sizeof sums, sums, CkReduction::sum_long_long, CkCallback(CkReductionTarget(Main, been), mainProxy));
  }
  int64_t entered_ = 0, wrong_ = 0;
  bool asked_ = false;
};

class Ring : public CBase_Ring {
 public:
  Ring() {
    CpvInitialize(int, visitors);
    CpvAccess(visitors) = 1000 + CkMyPe();
  }
  void look() {
    int64_t wrong = CpvAccess(visitors) != 1000 + CkMyPe();
    wrong += CkMyRank() != CkMyPe() - CkNodeFirst(CkMyNode());
    wrong += CkNodeOf(CkMyPe()) != CkMyNode();
    wrong += rows <= 0 || CkMyNodeSize() != CkNodeSize(CkMyNode());
    int64_t sums[3] = {1, CkMyPe(), wrong};
    contribute(sizeof sums, sums, CkReduction::sum_long_long, CkCallback(CkReductionTarget(Main, been), mainProxy));
    rooms[CkMyNode()].enter(CkMyPe());
  }
  void token(int visits) {
    if (CkMyPe() + 1 < CkNumPes())
      thisProxy[CkMyPe() + 1].token(visits + 1);
    else
      mainProxy.round(0, visits + 1);
  }
  void ping(int left, std::vector<char> load) {
    if (begin_ < 0) begin_ = CkWallTimer();
    if (left == 0) return mainProxy.round(CkWallTimer() - begin_, 0);
    thisProxy[CkMyPe() == 0 ? CkNumPes() - 1 : 0].ping(left - 1, load);
  }
  void sleep() {
    begin_ = CkWallTimer();
    CcdCallFnAfter([](void* self, double) { mainProxy.late(CkWallTimer() - static_cast<Ring*>(self)->begin_); }, this,
                   5);
  }

 private:
  double begin_ = -1;
};

class Cell : public CBase_Cell {
 public:
  Cell() : values_(width) {
    for (int i = 0; i < width; ++i) values_[i] = thisIndex.x * 3 + thisIndex.y * 5 + i;
  }
  void begin(int left) {
    left_ = left;
    begun_ = true;
    send();
    look();
  }
  void edge(int step, int side, std::vector<double> values) {
    got_[step % 2][side] = values;
    ++here_[step % 2];
    if (begun_) look();
  }

 private:
  void send() {
    static const int dx[] = {1, -1, 0, 0}, dy[] = {0, 0, 1, -1};
    for (int side = 0; side < 4; ++side)
      thisProxy((thisIndex.x + dx[side] + rows) % rows, (thisIndex.y + dy[side] + rows) % rows)
          .edge(step_, side, values_);
  }
  void look() {
    while (left_ > 0 && here_[step_ % 2] == 4) {
      for (int i = 0; i < width; ++i) {
        double sum = values_[i];
        for (int side = 0; side < 4; ++side) sum += got_[step_ % 2][side][(i + 1) % width];
        values_[i] = std::fmod(sum, 4096);  // whole numbers: the same sum in any order
      }
      here_[step_ % 2] = 0;
      ++step_;
      if (--left_ > 0) send();
    }
    if (left_ > 0 || told_) return;
    told_ = true;
    double sum = 0;
    for (int i = 0; i < width; ++i) sum += values_[i] * (i + 1);
    contribute(sizeof sum, &sum, CkReduction::sum_double, CkCallback(CkReductionTarget(Main, settled), mainProxy));
  }
  std::vector<double> values_, got_[2][4];
  int here_[2] = {0, 0};
  int step_ = 0, left_ = 0;
  bool begun_ = false, told_ = false;
};

#include "rooms.def.h"
