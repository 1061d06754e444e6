// Made-up networks by name, for programs that ask which PEs are neighbours in one: rings, grids, trees. C++17, and its
// functions plain C: reached from topology.h.
//
//   LBTopology* ring = LBTopoLookup("ring")(CkNumPes());
//   int n, pes[2]; ring->neighbors(CkMyPe(), pes, n);
//
// Names: ring, torus2d, torus3d, mesh3d, torus_nd_1 to _10, complete, 2_arytree, 3_arytree, 4_arytree, 128_arytree,
// 512_arytree, smp_n_1 to smp_n_10. The sides of a torus or mesh are as even as they can be, and its last rows may be
// short: what would be past the end is skipped.
#pragma once

#define HOP_LINK_DELAY 10e-6
#define HOP_PROC_DELAY 10e-6

#ifdef __cplusplus
class LBTopology {
 protected:
  int npes;

 public:
  explicit LBTopology(int p) : npes(p) {}
  virtual ~LBTopology() = default;
  virtual int max_neighbors() = 0;
  // Of `pe`: into pes, which has room for max_neighbors().
  virtual void neighbors(int pe, int* pes, int& count) = 0;
  // False, and -1 dimensions, where the network has no coordinates.
  virtual int get_dimension() { return -1; }
  virtual bool get_processor_coordinates(int /*pe*/, int* /*coordinates*/) { return false; }
  virtual bool get_processor_id(const int* /*coordinates*/, int* /*pe*/) { return false; }
  virtual bool coordinate_difference(const int* /*from*/, const int* /*to*/, int* /*difference*/) { return false; }
  virtual bool coordinate_difference(int /*from*/, int /*to*/, int* /*difference*/) { return false; }
  // On the shortest way; npes where there is none.
  virtual int get_hop_count(int from, int to);
  virtual double per_hop_delay(int last_hop) { return last_hop ? HOP_LINK_DELAY : HOP_LINK_DELAY + HOP_PROC_DELAY; }
  // hops[i][j] of all pairs.
  virtual void get_pairwise_hop_count(double** hops);
};
typedef LBTopology* (*LBtopoFn)(int pes);
#else
typedef void* (*LBtopoFn)();
#endif

#ifdef __cplusplus
extern "C" {
#endif
// What makes a network of that name; null where there is none.
LBtopoFn LBTopoLookup(const char* name);
int getTopoMaxNeighbors(void* topology);
void getTopoNeighbors(void* topology, int pe, int* pes, int* count);
// The names, to the terminal.
void printoutTopo(void);
#ifdef __cplusplus
}
#endif
