#include "runtime/converse/topo_manager.h"

#include <algorithm>
#include <numeric>

#include "machine/sim/machine.h"
#include "runtime/converse/cmi.h"
#include "runtime/scheduler/process.h"

TopoManager::TopoManager() : TopoManager(CmiNumPhysicalNodes(), 1, 1, 1) {
  for (int host = 0; host < nx_; ++host) nt_ = std::max(nt_, CmiNumPesOnPhysicalNode(host));
  const periapt::Process* process = periapt::Process::current();
  if (!process || !process->is_simulated()) return;
  const periapt::sim::Machine& machine = *process->simulated();
  network_ = &machine.model().topology();
  std::vector<int> sizes = network_->dimensions();
  if (sizes.size() > 3 || network_->nodes() != nx_) return;
  sizes.resize(3, 1);
  nx_ = sizes[0], ny_ = sizes[1], nz_ = sizes[2];
  is_torus_ = network_->describe().find("torus") != std::string::npos;
}
TopoManager::TopoManager(int nx, int ny, int nz, int nt) : nx_(nx), ny_(ny), nz_(nz), nt_(nt) {}
TopoManager* TopoManager::getTopoManager() {
  static TopoManager manager;
  return &manager;
}

void TopoManager::rankToCoordinates(int pe, int& x, int& y, int& z, int& t) const {
  t = pe % nt_;
  const int host = host_of(pe);
  x = host % nx_;
  y = host / nx_ % ny_;
  z = host / (nx_ * ny_);
}
void TopoManager::rankToCoordinates(int pe, std::vector<int>& coordinates) const {
  coordinates.resize(4);
  rankToCoordinates(pe, coordinates[0], coordinates[1], coordinates[2], coordinates[3]);
}
void TopoManager::rankToCoordinates(int pe, int& x, int& y, int& z) const {
  int t;
  rankToCoordinates(pe, x, y, z, t);
  x = x * nt_ + t;
}
int TopoManager::coordinatesToRank(int x, int y, int z, int t) const {
  if (x < 0 || x >= nx_ || y < 0 || y >= ny_ || z < 0 || z >= nz_ || t < 0 || t >= nt_) return -1;
  return ((z * ny_ + y) * nx_ + x) * nt_ + t;
}
int TopoManager::coordinatesToRank(int x, int y, int z) const { return coordinatesToRank(x / nt_, y, z, x % nt_); }

int TopoManager::getHopsBetweenRanks(int pe1, int pe2) const {
  if (network_) return network_->hops(host_of(pe1), host_of(pe2));
  return host_of(pe1) != host_of(pe2);
}
int TopoManager::getHopsBetweenRanks(int* coordinates, int pe) const {
  return getHopsBetweenRanks(coordinatesToRank(coordinates[0], coordinates[1], coordinates[2], 0), pe);
}
template <class Hops>
void TopoManager::sort_by(Hops hops, int* pes, int* idx, int n) const {
  std::iota(idx, idx + n, 0);
  std::stable_sort(idx, idx + n, [&](int a, int b) { return hops(pes[a]) < hops(pes[b]); });
}
void TopoManager::sortRanksByHops(int pe, int* pes, int* idx, int n) const {
  sort_by([&](int other) { return getHopsBetweenRanks(pe, other); }, pes, idx, n);
}
void TopoManager::sortRanksByHops(int* coordinates, int* pes, int* idx, int n) const {
  sort_by([&](int other) { return getHopsBetweenRanks(coordinates, other); }, pes, idx, n);
}
int TopoManager::pickClosestRank(int pe, int* pes, int n) const {
  return static_cast<int>(
      std::min_element(pes, pes + n,
                       [&](int a, int b) { return getHopsBetweenRanks(pe, a) < getHopsBetweenRanks(pe, b); }) -
      pes);
}
int TopoManager::areNeighbors(int pe1, int pe2, int pe3, int distance) const {
  return getHopsBetweenRanks(pe1, pe2) + getHopsBetweenRanks(pe2, pe3) <= distance;
}
void TopoManager::printAllocation(std::FILE* to) const {
  for (int pe = 0; pe < pes(); ++pe) {
    int x, y, z, t;
    rankToCoordinates(pe, x, y, z, t);
    std::fprintf(to, "PE %d: %d %d %d %d\n", pe, x, y, z, t);
  }
}

extern "C" {
void TopoManager_init() { TopoManager::getTopoManager(); }
void TopoManager_reset() { *TopoManager::getTopoManager() = TopoManager(); }
void TopoManager_free() {}
void TopoManager_printAllocation(std::FILE* to) { TopoManager::getTopoManager()->printAllocation(to); }
void TopoManager_getDimCount(int* dimensions) { *dimensions = 3; }
void TopoManager_getDims(int* sizes) {
  const TopoManager& t = *TopoManager::getTopoManager();
  sizes[0] = t.getDimNX();
  sizes[1] = t.getDimNY();
  sizes[2] = t.getDimNZ();
  sizes[3] = t.getDimNT();
}
void TopoManager_getCoordinates(int host, int* coordinates) {
  const TopoManager& t = *TopoManager::getTopoManager();
  int unused;
  t.rankToCoordinates(host * t.getDimNT(), coordinates[0], coordinates[1], coordinates[2], unused);
}
void TopoManager_getPeCoordinates(int pe, int* coordinates) {
  TopoManager::getTopoManager()->rankToCoordinates(pe, coordinates[0], coordinates[1], coordinates[2], coordinates[3]);
}
void TopoManager_getRanks(int* count, int* hosts, int* coordinates) {
  const TopoManager& t = *TopoManager::getTopoManager();
  const int pe = t.coordinatesToRank(coordinates[0], coordinates[1], coordinates[2], 0);
  *count = pe >= 0;
  if (pe >= 0) hosts[0] = pe / t.getDimNT();
}
void TopoManager_getPeRank(int* pe, int* coordinates) {
  *pe =
      TopoManager::getTopoManager()->coordinatesToRank(coordinates[0], coordinates[1], coordinates[2], coordinates[3]);
}
void TopoManager_getHopsBetweenPeRanks(int pe1, int pe2, int* hops) {
  *hops = TopoManager::getTopoManager()->getHopsBetweenRanks(pe1, pe2);
}
}
