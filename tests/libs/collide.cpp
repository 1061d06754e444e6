// Chunks give boxes of several scenes, step for step and moving in between, or all steps at once; each kind of client
// gets the pairs. They are compared with what two loops over all boxes find.
#include <algorithm>
#include <string>
#include <tuple>

#include "collidecharm.h"
// The collider stands before what names it.
#include "collide_steps.decl.h"

CProxy_Main mainProxy;
CProxy_Collector collectors;

namespace {
enum { function, callback, distributed, own, kinds };
constexpr int steps = 6;
// One chunk: on all other PEs there is none.
int chunks_of(int kind) { return kind == callback ? 1 : 13; }

struct Boxes {
  std::vector<bbox3d> boxes;
  std::vector<int> prio;  // empty: by chunk
};

// Numbers in [0, 1) that are the same everywhere.
class Numbers {
  unsigned state_;

 public:
  explicit Numbers(int seed) : state_(static_cast<unsigned>(seed) * 2654435761u + 12345u) {}
  double operator()() {
    state_ = state_ * 1664525u + 1013904223u;
    return (state_ >> 8) / 16777216.0;
  }
};

// Steps differ in scene: small boxes; large ones over many voxels; on whole numbers, where sides touch each other and
// the grid's planes, some without thickness; all in one voxel; none at all; a line of them, with empty ones.
Boxes boxes_of(int chunk, int step) {
  Numbers number(chunk * 100 + step);
  Boxes all;
  const int scene = step % 6, count = scene == 4 ? 0 : scene == 1 ? 4 : 10 + chunk;
  for (int i = 0; i < count; ++i) {
    CkVector3d at(number() * 20 - 10, number() * 12 - 6, number() * 12 - 9), size(number(), number(), number() * 2);
    if (scene == 1) size *= 7;
    if (scene == 2) {
      for (int axis = 0; axis < 3; ++axis) {
        at[axis] = std::floor(at[axis] / 2);
        size[axis] = std::floor(size[axis] * 3);
      }
    }
    if (scene == 3) at *= 0.02;
    if (scene == 5) at.y = at.z = 0.1;
    bbox3d box;
    box.empty();
    if (scene != 5 || i % 7 != 0) {
      box.add(at);
      box.add(at + size);
    }
    all.boxes.push_back(box);
    if (scene % 2 == 1) all.prio.push_back(i % 3 * 5 - chunk % 2);
  }
  return all;
}

using Pair = std::tuple<int, int, int, int>;  // A's chunk and number, B's
std::vector<Pair> expected_of(int chunks, int step) {
  struct One {
    int chunk, number, prio;
    bbox3d box;
  };
  std::vector<One> all;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const Boxes given = boxes_of(chunk, step);
    for (std::size_t i = 0; i < given.boxes.size(); ++i)
      all.push_back({chunk, static_cast<int>(i), given.prio.empty() ? chunk : given.prio[i], given.boxes[i]});
  }
  std::vector<Pair> pairs;
  for (const One& a : all)
    for (const One& b : all) {
      bool meet = a.prio < b.prio;
      for (int axis = 0; axis < 3; ++axis)
        meet = meet && a.box.axis(axis).getMin() < b.box.axis(axis).getMax() &&
               b.box.axis(axis).getMin() < a.box.axis(axis).getMax();
      if (meet) pairs.push_back({a.chunk, a.number, b.chunk, b.number});
    }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

void on_pe0(void* parameter, int count, Collision* pairs);
}  // namespace

class Main : public CBase_Main {
  CProxy_Chunk chunks_;
  CollideGrid3d grid_;
  int kind_ = 0, step_ = 0, asked_ = 0;
  long pairs_ = 0;

 public:
  explicit Main(CkArgMsg* m) : grid_(CkVector3d(0.25, 0, -1), CkVector3d(2, 3, 2)) {
    const std::string mistake = m->argc > 1 ? m->argv[1] : "";
    delete m;
    mainProxy = thisProxy;
    collectors = CProxy_Collector::ckNew();
    if (mistake == "grid") grid_.init(CkVector3d(0, 0, 0), CkVector3d(1, 0, 1));
    if (mistake.empty()) {
      begin();
    } else {
      kind_ = kinds;
      chunks_ = CProxy_Chunk::ckNew(CollideCreate(grid_, CollideSerialClient(on_pe0, this)), 1);
      chunks_.mistake(mistake);
    }
  }
  void begin() {
    CkGroupID client;
    if (kind_ == function) client = CollideSerialClient(on_pe0, this);
    if (kind_ == callback) client = CollideSerialClient(CkCallback(CkIndex_Main::all(nullptr), thisProxy));
    if (kind_ == distributed)
      client = CollideDistributedClient(CkCallback(CkIndex_Collector::here(nullptr), collectors));
    if (kind_ == own) client = CProxy_Own::ckNew();
    step_ = asked_ = 0;
    colliders_[kind_] = CollideCreate(grid_, client);
    wait_for_all();
  }
  // Colliders and clients are known on every PE before chunks are made.
  void wait_for_all() { CkStartQD(CkCallback(CkIndex_Main::redn_wrapper_ready(nullptr), thisProxy)); }
  void ready() {
    if (kind_ == kinds) return;
    if (asked_ == 0) {
      asked_ = 1;
      chunks_ = CProxy_Chunk::ckNew(colliders_[kind_], chunks_of(kind_));  // each says that it is ready
    } else if (kind_ == own) {
      if (step_ == 0) chunks_.give(1, steps);
    } else {
      chunks_.give(step_ + 1, step_ + 1);
    }
  }
  void all(CkReductionMsg* pairs) {
    compare(static_cast<int>(pairs->getSize() / sizeof(Collision)), static_cast<Collision*>(pairs->getData()));
    delete pairs;
  }
  void compare(int count, const Collision* pairs) {
    ++step_;
    std::vector<Pair> found;
    for (int i = 0; i < count; ++i)
      found.push_back({pairs[i].A.chunk, pairs[i].A.number, pairs[i].B.chunk, pairs[i].B.number});
    std::sort(found.begin(), found.end());
    const std::vector<Pair> expected = expected_of(chunks_of(kind_), step_);
    pairs_ += count;
    if (found != expected) {
      CkPrintf("failed: client %d has got %d pairs in step %d, and not %d, or other ones\n", kind_, count, step_,
               static_cast<int>(expected.size()));
      CkExit(1);
    } else if (step_ < steps) {
      if (kind_ != own) chunks_.move();
    } else if (++kind_ < kinds) {
      begin();
    } else {
      CkPrintf("%ld pairs\n", pairs_);
      CkExit(pairs_ > 1000 ? 0 : 1);
    }
  }

 private:
  CollideHandle colliders_[kinds];
};

namespace {
void on_pe0(void* parameter, int count, Collision* pairs) { static_cast<Main*>(parameter)->compare(count, pairs); }
}  // namespace

class Collector : public CBase_Collector {
 public:
  Collector() = default;
  void here(CkDataMsg* pairs) {
    contribute(pairs->getSize(), pairs->getData(), CkReduction::concat,
               CkCallback(CkIndex_Main::all(nullptr), mainProxy));
    delete pairs;
  }
};

class Own : public CBase_Own {
  int steps_ = 0;

 public:
  Own() = default;
  void collisions(int step, CollisionList& pairs) override {
    if (step != ++steps_) CkAbort("the client is called for step %d after step %d", step, steps_ - 1);
    contribute(static_cast<int>(pairs.length() * sizeof(Collision)), pairs.getData(), CkReduction::concat,
               CkCallback(CkIndex_Main::all(nullptr), mainProxy));
  }
};

class Chunk : public CBase_Chunk {
  CollideHandle collider_;

 public:
  explicit Chunk(CollideHandle collider) : collider_(collider) {
    CollideRegister(collider_, thisIndex);
    ready();
  }
  explicit Chunk(CkMigrateMessage*) {}
  ~Chunk() override { CollideUnregister(collider_, thisIndex); }
  void pup(PUP::er& p) override {
    p | collider_;
    if (p.isUnpacking()) CollideRegister(collider_, thisIndex);
  }
  void ckJustMigrated() override {
    CBase_Chunk::ckJustMigrated();
    ready();
  }
  void move() {
    const int to = (CkMyPe() + thisIndex % 3) % CkNumPes();
    if (to == CkMyPe()) return ready();
    migrateMe(to);
  }
  void give(int first, int last) {
    for (int step = first; step <= last; ++step) {
      const Boxes all = boxes_of(thisIndex, step);
      CollideBoxesPrio(collider_, thisIndex, static_cast<int>(all.boxes.size()), all.boxes.data(),
                       all.prio.empty() ? nullptr : all.prio.data());
    }
  }
  void mistake(std::string name) {
    bbox3d box(CkVector3d(0, 0, 0), CkVector3d(1, 1, 1), CkVector3d(1, 1, 1));
    if (name == "infinite") box.axis(1).infinity();
    if (name == "large") box.axis(1).set(0, 1e7);
    if (name == "number") box.axis(1).setMax(std::nan(""));
    if (name == "register") CollideRegister(collider_, thisIndex);
    CollideBoxesPrio(collider_, name == "chunk" ? 77 : thisIndex, name == "count" ? -1 : 1, &box);
  }

 private:
  void ready() { contribute(CkCallback(CkReductionTarget(Main, ready), mainProxy)); }
};

#include "collide_steps.def.h"
