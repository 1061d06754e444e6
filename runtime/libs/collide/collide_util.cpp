// See collide_util.h and bbox.h. In a voxel, boxes are sorted along one axis and swept: each is compared with those
// before it that have not ended yet (D. Baraff, "Dynamic simulation of non-penetrating rigid bodies", 1992).
#include "collide_util.h"

#include <limits>

#include "runtime/converse/ck.h"

namespace {

constexpr double voxels_max = 1 << 20;  // of one box: more are a mistake of the grid's sizes
constexpr double index_max = 1 << 30;

// The axis along which lower ends differ most: there the fewest boxes are open at a time.
int widest_axis(const std::vector<CollideObjRec>& boxes) {
  int widest = 0;
  double most = -1;
  for (int axis = 0; axis < 3; ++axis) {
    double sum = 0, squares = 0;
    for (const CollideObjRec& o : boxes) {
      const double from_first = o.box.axis(axis).getMin() - boxes.front().box.axis(axis).getMin();
      sum += from_first;
      squares += from_first * from_first;
    }
    const double variance = squares - sum * sum / static_cast<double>(boxes.size());
    if (variance > most) {
      most = variance;
      widest = axis;
    }
  }
  return widest;
}

int cell_of(const CollideGrid3d& grid, int axis, double at) {
  return static_cast<int>(std::floor(grid.world2grid(axis, at)));
}

bool tells_of(const CollideGrid3d& grid, const CollideLoc3d& here, const bbox3d& a, const bbox3d& b) {
  const bbox3d both = a.getIntersection(b);
  return cell_of(grid, 0, both.axis(0).getMin()) == here.x && cell_of(grid, 1, both.axis(1).getMin()) == here.y &&
         cell_of(grid, 2, both.axis(2).getMin()) == here.z;
}

}  // namespace

void bbox3d::print(const char* name) const {
  CkPrintf("%s: (%g to %g, %g to %g, %g to %g)\n", name != nullptr ? name : "box", axes_[0].getMin(), axes_[0].getMax(),
           axes_[1].getMin(), axes_[1].getMax(), axes_[2].getMin(), axes_[2].getMax());
}

void CollideGrid3d::init(const vector3d& origin, const vector3d& size) {
  for (int axis = 0; axis < 3; ++axis)
    if (!std::isfinite(origin[axis]) || !std::isfinite(size[axis]) || size[axis] <= 0)
      CkAbort("CollideGrid3d with an origin of (%g, %g, %g) and voxels of %g x %g x %g: sizes above 0 are wanted",
              origin.x, origin.y, origin.z, size.x, size.y, size.z);
  origin_ = origin;
  size_ = size;
}

void CollideGrid3d::print(const CollideLoc3d& voxel) const {
  CkPrintf("voxel (%d, %d, %d) from (%g, %g, %g)\n", voxel.x, voxel.y, voxel.z, grid2world(0, voxel.x),
           grid2world(1, voxel.y), grid2world(2, voxel.z));
}

namespace periapt {
namespace collide {

// Two boxes that meet share the voxel of max(a.min, b.min), which lies below both upper ends: so a box's last voxel is
// that of the number before its upper end, and a voxel that it only touches is not one of its.
Voxels voxels_of(const CollideGrid3d& grid, const bbox3d& box, const CollideObjID& what) {
  double first[3], last[3], count = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const rSeg1d& ends = box.axis(axis);
    const double below_end = std::nextafter(ends.getMax(), -std::numeric_limits<double>::infinity());
    first[axis] = std::floor(grid.world2grid(axis, ends.getMin()));
    last[axis] = std::max(first[axis], std::floor(grid.world2grid(axis, below_end)));
    count *= last[axis] - first[axis] + 1;
    const bool is_number = ends.getMin() <= ends.getMax();
    if (!is_number || first[axis] < -index_max || last[axis] > index_max)
      CkAbort("CollideBoxesPrio(): box %d of chunk %d reaches from %g to %g on axis %d, which is outside of the grid",
              what.number, what.chunk, ends.getMin(), ends.getMax(), axis);
  }
  if (count > voxels_max)
    CkAbort("CollideBoxesPrio(): box %d of chunk %d lies in %.0f voxels of the grid, which has too small ones for it",
            what.number, what.chunk, count);
  const auto at = [](const double* cell) {
    return CollideLoc3d(static_cast<int>(cell[0]), static_cast<int>(cell[1]), static_cast<int>(cell[2]));
  };
  return {at(first), at(last)};
}

void find(const CollideGrid3d& grid, const CollideLoc3d& here, std::vector<CollideObjRec>& boxes,
          CollisionList& found) {
  const int along = widest_axis(boxes);
  std::sort(boxes.begin(), boxes.end(), [along](const CollideObjRec& a, const CollideObjRec& b) {
    return a.box.axis(along).getMin() < b.box.axis(along).getMin();
  });
  std::vector<const CollideObjRec*> open;
  for (const CollideObjRec& next : boxes) {
    const double from = next.box.axis(along).getMin();
    open.erase(std::remove_if(open.begin(), open.end(),
                              [&](const CollideObjRec* o) { return o->box.axis(along).getMax() <= from; }),
               open.end());
    for (const CollideObjRec* other : open) {
      if (other->id.prio == next.id.prio || !other->box.intersectsOpen(next.box)) continue;
      if (!tells_of(grid, here, other->box, next.box)) continue;
      if (other->id.shouldCollide(next.id))
        found.add(other->id, next.id);
      else
        found.add(next.id, other->id);
    }
    open.push_back(&next);
  }
}

}  // namespace collide
}  // namespace periapt
