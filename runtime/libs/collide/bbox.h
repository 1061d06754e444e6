// Intervals and boxes along the axes. C++17: programs include it.
//
// An interval has its ends (closed), or not (open), or the lower one alone (half-open), as the function says. One whose
// upper end lies below the lower one is empty. What is made by `seg1dT()` or `bbox3d()` has no values yet.
#pragma once
#include <algorithm>
#include <limits>

#include "runtime/containers/vector3d.h"

template <class T>
class seg1dT {
 public:
  seg1dT() = default;
  seg1dT(T min, T max) : min_(min), max_(max) {}
  // The least interval that has all three.
  void init(T a, T b, T c) {
    min_ = std::min({a, b, c});
    max_ = std::max({a, b, c});
  }
  T getMin() const { return min_; }
  T getMax() const { return max_; }
  void setMin(T min) { min_ = min; }
  void setMax(T max) { max_ = max; }

  seg1dT& empty() { return *this = seg1dT(std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest()); }
  seg1dT& infinity() { return *this = seg1dT(std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()); }
  bool isEmpty() const { return max_ < min_; }
  seg1dT& set(T point) { return *this = seg1dT(point, point); }
  seg1dT& set(T a, T b) { return *this = seg1dT(std::min(a, b), std::max(a, b)); }
  void expandMin(T point) { min_ = std::min(min_, point); }
  void expandMax(T point) { max_ = std::max(max_, point); }
  seg1dT& add(T point) { return add(seg1dT(point, point)); }
  seg1dT& add(const seg1dT& o) { return *this = getUnion(o); }
  seg1dT getIntersection(const seg1dT& o) const { return {std::max(min_, o.min_), std::min(max_, o.max_)}; }
  seg1dT getUnion(const seg1dT& o) const { return {std::min(min_, o.min_), std::max(max_, o.max_)}; }

  bool contains(T point) const { return min_ <= point && point <= max_; }
  bool containsOpen(T point) const { return min_ < point && point < max_; }
  bool containsHalf(T point) const { return min_ <= point && point < max_; }
  bool intersects(const seg1dT& o) const { return min_ <= o.max_ && o.min_ <= max_; }
  bool intersectsOpen(const seg1dT& o) const { return min_ < o.max_ && o.min_ < max_; }
  bool intersectsHalf(const seg1dT& o) const { return containsHalf(o.min_) || o.containsHalf(min_); }

  void pup(PUP::er& p) {
    p | min_;
    p | max_;
  }

 private:
  T min_, max_;
};
typedef seg1dT<double> rSeg1d;
typedef seg1dT<int> iSeg1d;

class bbox3d {
 public:
  bbox3d() = default;
  bbox3d(const rSeg1d& x, const rSeg1d& y, const rSeg1d& z) : axes_{x, y, z} {}
  // The least box that has the three points.
  bbox3d(const CkVector3d& a, const CkVector3d& b, const CkVector3d& c) {
    for (int i = 0; i < 3; ++i) axes_[i].init(a[i], b[i], c[i]);
  }
  void print(const char* name = nullptr) const;

  rSeg1d& axis(int i) { return axes_[i]; }
  const rSeg1d& axis(int i) const { return axes_[i]; }
  CkVector3d getSmallest() const { return {axes_[0].getMin(), axes_[1].getMin(), axes_[2].getMin()}; }

  void empty() {
    for (rSeg1d& axis : axes_) axis.empty();
  }
  void infinity() {
    for (rSeg1d& axis : axes_) axis.infinity();
  }
  bool isEmpty() const { return axes_[0].isEmpty() || axes_[1].isEmpty() || axes_[2].isEmpty(); }
  void add(const CkVector3d& point) {
    for (int i = 0; i < 3; ++i) axes_[i].add(point[i]);
  }
  void add(const bbox3d& o) { *this = getUnion(o); }
  bbox3d getUnion(const bbox3d& o) const {
    return {axes_[0].getUnion(o.axes_[0]), axes_[1].getUnion(o.axes_[1]), axes_[2].getUnion(o.axes_[2])};
  }
  bbox3d getIntersection(const bbox3d& o) const {
    return {axes_[0].getIntersection(o.axes_[0]), axes_[1].getIntersection(o.axes_[1]),
            axes_[2].getIntersection(o.axes_[2])};
  }

  bool intersects(const bbox3d& o) const {
    return axes_[0].intersects(o.axes_[0]) && axes_[1].intersects(o.axes_[1]) && axes_[2].intersects(o.axes_[2]);
  }
  bool intersectsOpen(const bbox3d& o) const {
    return axes_[0].intersectsOpen(o.axes_[0]) && axes_[1].intersectsOpen(o.axes_[1]) &&
           axes_[2].intersectsOpen(o.axes_[2]);
  }
  bool contains(const CkVector3d& p) const {
    return axes_[0].contains(p.x) && axes_[1].contains(p.y) && axes_[2].contains(p.z);
  }
  bool containsOpen(const CkVector3d& p) const {
    return axes_[0].containsOpen(p.x) && axes_[1].containsOpen(p.y) && axes_[2].containsOpen(p.z);
  }
  bool containsHalf(const CkVector3d& p) const {
    return axes_[0].containsHalf(p.x) && axes_[1].containsHalf(p.y) && axes_[2].containsHalf(p.z);
  }

  void pup(PUP::er& p) {
    for (rSeg1d& axis : axes_) p | axis;
  }

 private:
  rSeg1d axes_[3];
};
