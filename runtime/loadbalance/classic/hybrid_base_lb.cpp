// See hybrid_base_lb.h.
#include "runtime/loadbalance/classic/hybrid_base_lb.h"

#include <algorithm>
#include <numeric>

#include "runtime/loadbalance/classic/statistics.h"

using periapt::loadbalance::LoadDatabase;

namespace {
constexpr int one_group_max = 4;  // so few PEs are one group
constexpr int group_size_max = 512;

// PEs a group: the largest divisor that makes two groups or more of up to 512 PEs; of a prime number, all PEs.
int group_size(int pes) {
  if (pes <= one_group_max) return pes;
  for (int size = std::min(group_size_max, pes / 2); size > 1; --size)
    if (pes % size == 0) return size;
  return pes;
}

BaseLB::ProcStats sum(const std::vector<BaseLB::ProcStats>& pes, int first, int count) {
  BaseLB::ProcStats all;
  all.pe = first;
  all.pe_speed = 0;
  for (int pe = first; pe < first + count; ++pe) {
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

std::vector<int> HybridBaseLB::impl_solve(const LoadDatabase& database) {
  LDStats all = gather(database);
  const int pes = static_cast<int>(all.nprocs()), size = group_size(pes), groups = size > 0 ? pes / size : 0;
  std::vector<int> group(all.objData.size());
  for (std::size_t i = 0; i < group.size(); ++i) group[i] = all.from_proc[i] / size;
  if (groups > 1) {
    LDStats top = all;
    top.procs.clear();
    std::vector<int> roots;
    for (int g = 0; g < groups; ++g) {
      top.procs.push_back(sum(all.procs, g * size, size));
      roots.push_back(g * size);
    }
    top.from_proc = top.to_proc = group;
    decide(top, 2, roots);
    group = top.to_proc;
  }
  std::vector<int> assignment = all.from_proc;
  for (int g = 0; g < groups; ++g) {
    LDStats part(0);
    part.procs.assign(all.procs.begin() + g * size, all.procs.begin() + (g + 1) * size);
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (group[i] != g) continue;
      const bool own = all.from_proc[i] / size == g;
      members.push_back(i);
      part.objData.push_back(all.objData[i]);
      part.from_proc.push_back(own ? all.from_proc[i] - g * size : size);
      part.n_migrateobjs += all.objData[i].migratable;
    }
    part.to_proc = part.from_proc;
    std::vector<int> children(size);
    std::iota(children.begin(), children.end(), g * size);
    decide(part, 1, children);
    for (std::size_t k = 0; k < members.size(); ++k) assignment[members[k]] = g * size + part.to_proc[k];
  }
  return assignment;
}
