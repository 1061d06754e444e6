// Collision detection (-module collidecharm, or collide): finds all pairs of boxes that intersect, over all PEs. C++17:
// programs include it.
//
//   CollideGrid3d grid(origin, size);   // CkVector3d: voxels several times as large as most boxes
//   CollideHandle collider = CollideCreate(grid, CollideSerialClient(CkCallback(CkIndex_Main::done(nullptr), main)));
//
//   CollideRegister(collider, thisIndex);   // a chunk, where it is: in constructors and after a move
//   CollideBoxesPrio(collider, thisIndex, count, boxes, prio);
//   CollideUnregister(collider, thisIndex);   // in destructors
//
// A step: every chunk that is registered anywhere gives its boxes once, and then the pairs go to the client. Steps
// count from 1. A chunk may give those of the next step at once; they wait. Chunks register before any of them gives
// boxes, and a chunk that has given boxes moves when the step has ended; otherwise steps have other chunks than were
// meant. A program makes colliders in the constructor of its main chare, or waits for all PEs before it uses one.
//
// Boxes meet where their interiors do: touching is not enough. Of a pair, A is the box with the lower prio; boxes of
// the same prio don't collide. Without prios a box has its chunk's number, so that those of a chunk don't collide with
// each other. Empty boxes (bbox3d::empty()) meet none. Each pair is told once, in no particular order. Boxes that are
// not finite, or lie in more than a million voxels, end the run with a sentence.
//
// Each voxel is an element of a chare array that is made when the first box comes to lie in it, and has only boxes that
// lie in it. When all are there is found out by PE 0, which has the PEs count boxes given, sent and arrived until two
// counts are the same (F. Mattern, "Algorithms for distributed termination detection", 1987).
#pragma once
#include <deque>
#include <map>

#include "collide_util.h"
#include "collidecharm.decl.h"

// What gets the pairs: a group. A program's own derives from it:
//
//   group Mine : collideClient { entry Mine(); };        // with `extern module collidecharm;`
//   class Mine : public CBase_Mine { void collisions(int step, CollisionList& pairs) override; };
class collideClient : public CBase_collideClient {
 public:
  collideClient() = default;
  explicit collideClient(CkMigrateMessage*) {}
  // Called on each PE once for each step, also where there is no pair, in the order of steps; a pair is told on the PE
  // that has its voxel. The list is the client's to change, until it returns.
  virtual void collisions(int step, CollisionList& pairs) = 0;
};

// All pairs on PE 0: to a function there, or to a callback with a CkReductionMsg of Collision records. On PE 0.
typedef void (*CollisionClientFn)(void* parameter, int count, Collision* pairs);
CkGroupID CollideSerialClient(CollisionClientFn function, void* parameter);
CkGroupID CollideSerialClient(CkCallback to);
// To a callback with a CkDataMsg of Collision records, on each PE once for each step; a callback to a whole group is
// sent to the PE's own member.
CkGroupID CollideDistributedClient(CkCallback to);

typedef CkGroupID CollideHandle;
// On PE 0.
CollideHandle CollideCreate(const CollideGrid3d& grid, CkGroupID client);
void CollideRegister(CollideHandle collider, int chunk);
void CollideUnregister(CollideHandle collider, int chunk);
// Copies the boxes. `prio`: as many as boxes, or null.
void CollideBoxesPrio(CollideHandle collider, int chunk, int count, const bbox3d* boxes, const int* prio = nullptr);

class serialCollideClient : public CBase_serialCollideClient {
 public:
  serialCollideClient(CmiUInt8 function, CmiUInt8 parameter);
  explicit serialCollideClient(CkCallback to) : to_(to) {}
  explicit serialCollideClient(CkMigrateMessage*) {}
  void pup(PUP::er& p) override;
  void collisions(int step, CollisionList& pairs) override;
  void reductionDone(CkReductionMsg* all);

 private:
  CkCallback to_;
  CmiUInt8 function_ = 0, parameter_ = 0;  // addresses on PE 0
};

class distributedCollideClient : public CBase_distributedCollideClient {
 public:
  explicit distributedCollideClient(CkCallback to) : to_(to) {}
  explicit distributedCollideClient(CkMigrateMessage*) {}
  void pup(PUP::er& p) override;
  void collisions(int step, CollisionList& pairs) override;

 private:
  CkCallback to_;
};

class collideMgr : public CBase_collideMgr {
 public:
  collideMgr(CollideGrid3d grid, CkGroupID client, CkArrayID voxels);
  explicit collideMgr(CkMigrateMessage*) {}
  // Between steps. Chunks register anew.
  void pup(PUP::er& p) override;

  void add_chunk(int chunk);
  void remove_chunk(int chunk);
  void give(int chunk, std::vector<bbox3d> boxes, std::vector<int> prio);

  // On PE 0: a PE has all boxes of its chunks for this step, and waits.
  void wake(int step);
  // Boxes are to be counted, when this PE has all of its chunks'.
  void count(int step);
  void counted(CkReductionMsg* counts);
  // A message with boxes has come to a voxel here; the first of the step to it, or a further one.
  void arrived(int step, bool is_first, CkArrayIndex3D voxel);
  // All of them have: the voxels that began the step here are to compare boxes.
  void collide(int step);
  void found(int count, Collision* pairs);

 private:
  struct Counts {
    CmiInt8 given = -1, sent = -1, arrived = -1;  // chunks; messages
  };
  struct Given {
    int chunk;
    std::vector<bbox3d> boxes;
    std::vector<int> prio;
  };
  struct Arrivals {
    CmiInt8 messages = 0;
    std::vector<CkArrayIndex3D> voxels;
  };
  void send_boxes();
  void advance();
  void end_step();

  CollideGrid3d grid_;
  CkGroupID client_;
  CProxy_collideVoxel voxels_;
  int step_ = 1;  // that runs here

  std::map<int, bool> chunks_;  // those that are registered here, and whether each has given its boxes
  int missing_ = 0;             // how many have not
  CmiInt8 given_ = 0, sent_ = 0;
  bool has_woken_ = false;  // PE 0
  int counting_ = 0;        // the step for which this PE is to count; 0: none
  std::map<CollideLoc3d, std::vector<CollideObjRec>> outgoing_;
  std::deque<Given> later_;           // of a chunk that has given its boxes for this step
  std::map<int, Arrivals> arrivals_;  // by step: other PEs may be in the next one

  bool is_colliding_ = false;
  int voxels_missing_ = 0;
  CollisionList found_;

  // On PE 0.
  int counted_step_ = 0;
  Counts counts_;
};

class collideVoxel : public CBase_collideVoxel {
 public:
  collideVoxel() = default;
  explicit collideVoxel(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | boxes_; }
  void add(CkGroupID manager, int step, int count, CollideObjRec* boxes);
  void collide(CkGroupID manager, int pe, int step, CollideGrid3d grid);

 private:
  std::map<int, std::vector<CollideObjRec>> boxes_;  // by step
};
