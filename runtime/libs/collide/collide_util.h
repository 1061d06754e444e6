// What collisions are made of: boxes with their names, lists of those that meet, and the grid that space is cut into.
// C++17: programs include it.
#pragma once
#include <cmath>
#include <vector>

#include "bbox.h"

typedef CkVector3d vector3d;
typedef double real;

// A box's name in the whole run.
struct CollideObjID {
  int chunk = 0, number = 0;  // which box of which chunk
  int prio = 0;               // boxes of the same prio don't collide
  int pe = 0;                 // where the chunk gave the box
  CollideObjID() = default;
  CollideObjID(int chunk, int number, int prio, int pe) : chunk(chunk), number(number), prio(prio), pe(pe) {}
  // Whether this one is A, and `b` is B, where they meet.
  int shouldCollide(const CollideObjID& b) const { return prio < b.prio ? 1 : 0; }
};
PUPbytes(CollideObjID);

// Two boxes that meet. A has the lower prio.
class Collision {
 public:
  CollideObjID A, B;
  Collision() = default;
  Collision(const CollideObjID& a, const CollideObjID& b) : A(a), B(b) {}
};
PUPbytes(Collision);

class CollisionList {
 public:
  void add(const CollideObjID& a, const CollideObjID& b) { push_back(Collision(a, b)); }
  void push_back(const Collision& collision) { all_.push_back(collision); }
  int length() const { return static_cast<int>(all_.size()); }
  int size() const { return length(); }
  Collision& operator[](int i) { return all_[static_cast<std::size_t>(i)]; }
  const Collision& operator[](int i) const { return all_[static_cast<std::size_t>(i)]; }
  Collision* getData() { return all_.data(); }
  const Collision* getData() const { return all_.data(); }
  void empty() { all_.clear(); }  // leaves none

 private:
  std::vector<Collision> all_;
};

struct CollideObjRec {
  CollideObjID id;
  bbox3d box;
  CollideObjRec() = default;
  CollideObjRec(const CollideObjID& id, const bbox3d& box) : id(id), box(box) {}
  const bbox3d& getBbox() const { return box; }
};
PUPbytes(CollideObjRec);

// A voxel: a cell of the grid.
class CollideLoc3d {
 public:
  int x, y, z;
  CollideLoc3d() = default;
  CollideLoc3d(int x, int y, int z) : x(x), y(y), z(z) {}
  int getX() const { return x; }
  int getY() const { return y; }
  int getZ() const { return z; }
  int compare(const CollideLoc3d& o) const { return x == o.x && y == o.y && z == o.z; }  // 1: the same
  bool operator<(const CollideLoc3d& o) const { return x != o.x ? x < o.x : y != o.y ? y < o.y : z < o.z; }
};

// Space in cells of equal size, without end in any direction. Voxel (i, j, k) begins at origin + (i, j, k) * size.
class CollideGrid3d {
 public:
  CollideGrid3d() = default;
  CollideGrid3d(const vector3d& origin, const vector3d& size) { init(origin, size); }
  // Sizes that are not above 0, or no numbers, end the run with a sentence.
  void init(const vector3d& origin, const vector3d& size);
  void pup(PUP::er& p) {
    p | origin_;
    p | size_;
  }

  double world2grid(int axis, double x) const { return (x - origin_[axis]) / size_[axis]; }
  // The voxels from the first end up to, and without, the second one.
  iSeg1d world2grid(int axis, const rSeg1d& s) const {
    return {static_cast<int>(std::floor(world2grid(axis, s.getMin()))),
            static_cast<int>(std::ceil(world2grid(axis, s.getMax())))};
  }
  double grid2world(int axis, double at) const { return at * size_[axis] + origin_[axis]; }
  rSeg1d grid2world(int axis, const rSeg1d& s) const {
    return {grid2world(axis, s.getMin()), grid2world(axis, s.getMax())};
  }
  void print(const CollideLoc3d& voxel) const;

 private:
  vector3d origin_ = vector3d(0, 0, 0), size_ = vector3d(1, 1, 1);
};

namespace periapt {
namespace collide {

// The voxels of a box, `first` to `last` on each axis with both. `what` names the box where it cannot have any.
struct Voxels {
  CollideLoc3d first, last;
};
Voxels voxels_of(const CollideGrid3d& grid, const bbox3d& box, const CollideObjID& what);

// Adds to `found` those pairs of `boxes` that voxel `here` tells of: of all voxels that both boxes lie in, the one with
// the lowest corner of their intersection does. Sorts the boxes.
void find(const CollideGrid3d& grid, const CollideLoc3d& here, std::vector<CollideObjRec>& boxes, CollisionList& found);

}  // namespace collide
}  // namespace periapt
