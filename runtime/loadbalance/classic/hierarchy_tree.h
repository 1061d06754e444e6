// Trees of PEs, as balancers over HybridBaseLB choose them. Level 0 is all PEs; at each level above, some PEs are roots
// and have children of the level below, and the last level has one root. C++17: reached from HybridBaseLB.h.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

int CkNumPes();

// What a tree of the program's own is derived from.
class MyHierarchyTree {
 public:
  virtual ~MyHierarchyTree() = default;
  const char* name() const { return myname; }
  virtual int numLevels() const { return nLevels; }
  // The root that a root of this level (at level 0: a PE) belongs to; -1: it is the last.
  virtual int parent(int pe, int level) = 0;
  virtual bool isroot(int pe, int level) = 0;
  virtual int numChildren(int pe, int level) = 0;
  virtual void getChildren(int pe, int level, int* children, int& count) = 0;
  // Roots at a level, by spans: those of trees whose parts are equally large.
  virtual int numNodes(int level) {
    int pes = 1;
    for (int i = 0; i < level; ++i) pes *= span[i];
    return CkNumPes() / pes;
  }

 protected:
  MyHierarchyTree() = default;
  int* span = nullptr;  // how many children a root of level i + 1 has; of the tree's own
  int nLevels = 0;
  const char* myname = nullptr;
};

namespace periapt::loadbalance {
// Trees whose roots are the first PEs of their parts. `spans` from level 1 up.
class SpannedTree : public MyHierarchyTree {
 public:
  int parent(int pe, int level) override {
    if (level + 1 >= nLevels) return -1;
    const int size = pes_below(level + 1);
    return pe / size * size;
  }
  bool isroot(int pe, int level) override { return level > 0 && level < nLevels && pe % pes_below(level) == 0; }
  int numChildren(int pe, int level) override { return isroot(pe, level) ? span[level - 1] : 0; }
  void getChildren(int pe, int level, int* children, int& count) override {
    count = numChildren(pe, level);
    for (int i = 0; i < count; ++i) children[i] = pe + i * pes_below(level - 1);
  }

 protected:
  SpannedTree(const char* name, std::vector<int> spans) : spans_(std::move(spans)) {
    myname = name;
    span = spans_.data();
    nLevels = static_cast<int>(spans_.size()) + 1;
  }

 private:
  int pes_below(int level) const {
    int pes = 1;
    for (int i = 0; i < level; ++i) pes *= spans_[static_cast<std::size_t>(i)];
    return pes;
  }
  std::vector<int> spans_;
};
}  // namespace periapt::loadbalance

// One root over all PEs.
class TwoLevelTree : public periapt::loadbalance::SpannedTree {
 public:
  explicit TwoLevelTree(int pes = CkNumPes()) : SpannedTree("TwoLevelTree", {pes}) {}
};

// Groups of equally many PEs, and a root over them. `groupsize` is halved until there are two groups, and then made
// smaller until it divides the PEs; where nothing does, the smallest number from 2 on that does.
class ThreeLevelTree : public periapt::loadbalance::SpannedTree {
 public:
  explicit ThreeLevelTree(int groupsize = 512, int pes = CkNumPes())
      : SpannedTree("ThreeLevelTree", {size(groupsize, pes), pes / size(groupsize, pes)}) {}

 private:
  static int size(int groupsize, int pes) {
    if (pes < 2) return 1;
    int size = std::max(groupsize, 1);
    while (size > 1 && pes / size < 2) size /= 2;
    while (pes % size != 0) --size;
    if (size > 1) return size;
    for (size = 2; pes % size != 0;) ++size;
    return size;
  }
};

// `levels` levels of equal spans; the program ends where the PEs are no such power.
class KLevelTree : public periapt::loadbalance::SpannedTree {
 public:
  explicit KLevelTree(int levels) : SpannedTree("KLevelTree", spans_of(levels)) {}

 private:
  static std::vector<int> spans_of(int levels);
};
