// See hybrid_base_lb.h.
#include "runtime/loadbalance/classic/hybrid_base_lb.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "runtime/loadbalance/classic/statistics.h"
#include "runtime/loadbalance/model.h"

using periapt::loadbalance::LoadDatabase;

namespace {
constexpr int one_group_max = 4;  // so few PEs are one group

std::unique_ptr<MyHierarchyTree> usual_tree(int pes) {
  if (pes <= one_group_max) return std::make_unique<TwoLevelTree>(pes);
  return std::make_unique<ThreeLevelTree>(512, pes);
}

BaseLB::ProcStats sum(const std::vector<BaseLB::ProcStats>& pes, int root, const std::vector<int>& members) {
  BaseLB::ProcStats all;
  all.pe = root;
  all.pe_speed = 0;
  for (const int pe : members) {
    all.n_objs += pes[pe].n_objs;
    all.pe_speed += pes[pe].pe_speed;
    all.total_walltime += pes[pe].total_walltime;
    all.idletime += pes[pe].idletime;
    all.bg_walltime += pes[pe].bg_walltime;
    all.total_cputime += pes[pe].total_cputime;
    all.bg_cputime += pes[pe].bg_cputime;
  }
  return all;
}
}  // namespace

std::vector<int> KLevelTree::spans_of(int levels) {
  const int spans = std::max(levels, 2) - 1, pes = CkNumPes();
  int span = 1, reached = 1;
  while (reached < pes) {
    ++span;
    reached = 1;
    for (int i = 0; i < spans; ++i) reached *= span;
  }
  if (reached != pes || levels < 2)
    CkAbort("KLevelTree(%d): %d PEs are no whole number to the power of %d\n", levels, pes, levels - 1);
  return std::vector<int>(static_cast<std::size_t>(spans), span);
}

HybridBaseLB::HybridBaseLB(const CkLBOptions& options) : BaseLB(options), tree(usual_tree(CkNumPes()).release()) {
  lbname = "HybridBaseLB";
  periapt::loadbalance::balancer_is_made(thisgroup);
}
HybridBaseLB::HybridBaseLB(CkMigrateMessage* m) : BaseLB(m) {
  lbname = "HybridBaseLB";
  periapt::loadbalance::balancer_is_made(thisgroup);
}
HybridBaseLB::~HybridBaseLB() { delete tree; }

CLBStatsMsg* HybridBaseLB::AssembleStats() {
  const ProcStats& pe = all_->procs[leaf_];
  auto* message = new CLBStatsMsg;
  message->from_pe = leaf_;
  message->total_walltime = pe.total_walltime;
  message->idletime = pe.idletime;
  message->bg_walltime = pe.bg_walltime;
  message->total_cputime = pe.total_cputime;
  message->bg_cputime = pe.bg_cputime;
  for (std::size_t i = 0; i < all_->objData.size(); ++i)
    if (all_->from_proc[i] == leaf_) message->objData.push_back(all_->objData[i]);
  return message;
}

// What each PE says of itself, by AssembleStats().
HybridBaseLB::LDStats HybridBaseLB::gather(const LoadDatabase& database) {
  LDStats measured = periapt::loadbalance::statistics_of(database);
  LDStats stats = measured;
  all_ = &measured;
  std::vector<LDObjData> said;
  for (leaf_ = 0; leaf_ < static_cast<int>(measured.nprocs()); ++leaf_) {
    const std::unique_ptr<CLBStatsMsg> message(AssembleStats());
    stats.procs[leaf_].total_walltime = message->total_walltime;
    stats.procs[leaf_].idletime = message->idletime;
    stats.procs[leaf_].bg_walltime = message->bg_walltime;
    stats.procs[leaf_].total_cputime = message->total_cputime;
    stats.procs[leaf_].bg_cputime = message->bg_cputime;
    for (LDObjData& data : message->objData) said.push_back(std::move(data));
  }
  all_ = nullptr;
  for (LDObjData& data : said)
    if (const int i = measured.getHash(data.objID(), data.omID()); i >= 0) stats.objData[i] = std::move(data);
  stats.deleteCommHash();
  return stats;
}

// Lets the balancer decide at one level. Objects that it leaves nowhere go where there is room.
void HybridBaseLB::decide(LDStats& stats, int level, const std::vector<int>& children) {
  std::vector<LevelData> levels(level + 1);
  levelData.clear();
  for (LevelData& data : levels) levelData.push_back(&data);
  levels[level].children = children;
  levels[level].nChildren = static_cast<int>(children.size());
  levels[level].statsData = &stats;
  currentLevel = level;
  delete Strategy(&stats);
  levelData.clear();
  const LoadDatabase placed = periapt::loadbalance::database_of(stats, stats.to_proc.data());
  for (std::size_t i = 0; i < stats.to_proc.size(); ++i) stats.to_proc[i] = placed.objects[i].pe;
}

// One way down the tree: which part each object belongs to.
struct HybridBaseLB::Descent {
  MyHierarchyTree& tree;
  LDStats& all;
  std::vector<std::vector<int>> above;  // by level and PE: the root that it is under; at level 0 itself
  std::vector<int> part{};              // by object: the root that it is under now

  Descent(MyHierarchyTree& tree, LDStats& all) : tree(tree), all(all), above(1, std::vector<int>(all.nprocs())) {
    std::iota(above[0].begin(), above[0].end(), 0);
    for (int level = 0; level + 1 < tree.numLevels(); ++level) {
      above.emplace_back();
      for (const int pe : above[static_cast<std::size_t>(level)])
        above.back().push_back(checked(tree.parent(pe, level), "the parent", pe, level));
    }
    for (const int pe : all.from_proc) part.push_back(above.back()[static_cast<std::size_t>(pe)]);
  }
  // What a tree of the program's own has said; an exception costs the step, and no more.
  int checked(int said, const char* what, int of, int level) const {
    if (said >= 0 && said < static_cast<int>(all.nprocs())) return said;
    throw std::out_of_range(
        fmt::format("its tree says that {} of PE {} at level {} is {}: no PE has that number", what, of, level, said));
  }
  std::vector<int> roots(int level) const {
    std::vector<int> all_of = above[static_cast<std::size_t>(level)];
    std::sort(all_of.begin(), all_of.end());
    all_of.erase(std::unique(all_of.begin(), all_of.end()), all_of.end());
    return all_of;
  }
  std::vector<int> children(int root, int level) const {
    std::vector<int> children(static_cast<std::size_t>(tree.numChildren(root, level)));
    int count = static_cast<int>(children.size());
    tree.getChildren(root, level, children.data(), count);
    for (const int child : children) checked(child, "a child", root, level);
    return children;
  }
  std::vector<int> pes(int root, int level) const {
    std::vector<int> pes;
    for (int pe : above[0])
      if (above[static_cast<std::size_t>(level)][static_cast<std::size_t>(pe)] == root) pes.push_back(pe);
    return pes;
  }
};

std::vector<int> HybridBaseLB::impl_solve(const LoadDatabase& database) {
  LDStats all = gather(database);
  const int pes = static_cast<int>(all.nprocs());
  // Steps that are tried for another number of PEs (+LBSimProcs) are nothing that the balancer's tree knows.
  const std::unique_ptr<MyHierarchyTree> usual = tree && pes == CkNumPes() ? nullptr : usual_tree(pes);
  Descent descent(usual ? *usual : *tree, all);
  for (int level = descent.tree.numLevels() - 1; level > 0; --level) {
    const std::vector<int> parts = descent.part;
    for (const int root : descent.roots(level)) {
      const std::vector<int> children = descent.children(root, level);
      LDStats stats(0);
      for (const int child : children)
        stats.procs.push_back(level == 1 ? all.procs[static_cast<std::size_t>(child)]
                                         : sum(all.procs, child, descent.pes(child, level - 1)));
      std::vector<std::size_t> members;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i] != root) continue;
        members.push_back(i);
        stats.objData.push_back(all.objData[i]);
        stats.objData.back().handle.handle = static_cast<int>(members.size()) - 1;
        stats.n_migrateobjs += all.objData[i].migratable;
        const int below =
            descent.above[static_cast<std::size_t>(level - 1)][static_cast<std::size_t>(all.from_proc[i])];
        stats.from_proc.push_back(
            static_cast<int>(std::find(children.begin(), children.end(), below) - children.begin()));
      }
      stats.to_proc = stats.from_proc;
      if (level + 1 == descent.tree.numLevels()) stats.commData = all.commData;
      const std::vector<int> places = stats.from_proc;
      decide(stats, level, children);
      // The balancer may have taken objects out of its list: those stay where they are.
      for (std::size_t k = 0; k < members.size(); ++k)
        descent.part[members[k]] = children[static_cast<std::size_t>(places[k]) % children.size()];
      for (std::size_t k = 0; k < stats.objData.size(); ++k) {
        const auto place = static_cast<std::size_t>(stats.objData[k].handle.handle);
        descent.part[members.at(place)] = children[static_cast<std::size_t>(stats.to_proc[k])];
      }
    }
  }
  const bool migrates = QueryMigrateStep(static_cast<int>(database.step) - 1);
  return migrates ? descent.part : periapt::loadbalance::present(database);
}
