// TopoManager: where PEs are, for programs that place objects by it. C++17, and its functions plain C: reached from
// TopoManager.h.
//
// The machine is seen as hosts in a row (X) with the PEs of each (T): dimensions (hosts, 1, 1, PEs of a host). Any two
// hosts are one hop apart and the PEs of a host none; no network's own topology is known. On a simulated machine it is:
// its hops are those of its routes, and a torus of up to three dimensions has its own coordinates.
#pragma once
#include <stdio.h>

#ifdef __cplusplus
#include <cstdio>
#include <vector>

namespace periapt::sim {
class Topology;
}

class TopoManager {
 public:
  TopoManager();
  // A made-up machine.
  TopoManager(int nx, int ny, int nz, int nt);
  static TopoManager* getTopoManager();

  // In hosts; NT in PEs of a host.
  int getDimNX() const { return nx_; }
  int getDimNY() const { return ny_; }
  int getDimNZ() const { return nz_; }
  int getDimNT() const { return nt_; }
  // In PEs.
  int getDimX() const { return nx_ * nt_; }
  int getDimY() const { return ny_; }
  int getDimZ() const { return nz_; }
  int getNumDims() const { return 3; }
  int getDimSize(unsigned i) const { return i == 0 ? nx_ : i == 1 ? ny_ : i == 2 ? nz_ : -1; }
  bool haveTopologyInfo() const { return network_ != nullptr; }
  int getProcsPerNode() const { return nt_; }
  bool hasMultipleProcsPerNode() const { return nt_ > 1; }

  void rankToCoordinates(int pe, std::vector<int>& coordinates) const;  // x, y, z, t
  void rankToCoordinates(int pe, int& x, int& y, int& z, int& t) const;
  void rankToCoordinates(int pe, int& x, int& y, int& z) const;  // in PEs
  // -1 when there is no such PE.
  int coordinatesToRank(int x, int y, int z, int t) const;
  int coordinatesToRank(int x, int y, int z) const;  // in PEs
  int getHopsBetweenRanks(int pe1, int pe2) const;
  // Hops between hosts that are so far apart in one dimension: on a torus, the shorter way around.
  int absX(int x) const { return apart(x, nx_); }
  int absY(int y) const { return apart(y, ny_); }
  int absZ(int z) const { return apart(z, nz_); }
  // From the host with the coordinates x, y, z.
  int getHopsBetweenRanks(int* coordinates, int pe) const;
  // idx: the numbers 0 to n - 1 in order of the distance of pes[idx[i]].
  void sortRanksByHops(int pe, int* pes, int* idx, int n) const;
  void sortRanksByHops(int* coordinates, int* pes, int* idx, int n) const;
  // The number i for which pes[i] is nearest.
  int pickClosestRank(int pe, int* pes, int n) const;
  int areNeighbors(int pe1, int pe2, int pe3, int distance) const;
  void printAllocation(std::FILE* to) const;

 private:
  int apart(int distance, int size) const {
    const int way = distance < 0 ? -distance : distance;
    return is_torus_ && size - way < way ? size - way : way;
  }
  int pes() const { return nx_ * ny_ * nz_ * nt_; }
  int host_of(int pe) const { return pe / nt_; }
  template <class Hops>
  void sort_by(Hops hops, int* pes, int* idx, int n) const;
  int nx_, ny_, nz_, nt_;
  const periapt::sim::Topology* network_ = nullptr;  // a simulated one
  bool is_torus_ = false;                            // ... with coordinates of its own
};

extern "C" {
#endif
void TopoManager_init(void);
void TopoManager_reset(void);
void TopoManager_free(void);
void TopoManager_printAllocation(FILE* to);
void TopoManager_getDimCount(int* dimensions);
void TopoManager_getDims(int* sizes);
void TopoManager_getCoordinates(int host, int* coordinates);
void TopoManager_getPeCoordinates(int pe, int* coordinates);
void TopoManager_getRanks(int* count, int* hosts, int* coordinates);
void TopoManager_getPeRank(int* pe, int* coordinates);
void TopoManager_getHopsBetweenPeRanks(int pe1, int pe2, int* hops);
#ifdef __cplusplus
}
#endif
