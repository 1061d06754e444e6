// See lb_topology.h.
#include "runtime/converse/lb_topology.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "runtime/converse/cmi.h"

namespace {
// Hops from one PE to all, by breadth first.
std::vector<int> hops_from(LBTopology& network, int from, int pes) {
  std::vector<int> hops(static_cast<std::size_t>(pes), pes), next;
  std::vector<int> neighbours(static_cast<std::size_t>(std::max(network.max_neighbors(), 1)));
  std::vector<int> round{from};
  hops[static_cast<std::size_t>(from)] = 0;
  for (int distance = 1; !round.empty(); ++distance, round.swap(next), next.clear()) {
    for (const int pe : round) {
      int count = 0;
      network.neighbors(pe, neighbours.data(), count);
      for (int i = 0; i < count; ++i) {
        int& known = hops[static_cast<std::size_t>(neighbours[static_cast<std::size_t>(i)])];
        if (known <= distance) continue;
        known = distance;
        next.push_back(neighbours[static_cast<std::size_t>(i)]);
      }
    }
  }
  return hops;
}

void add_once(int* pes, int& count, int pe, int self) {
  if (pe == self || std::find(pes, pes + count, pe) != pes + count) return;
  pes[count++] = pe;
}

struct Ring : LBTopology {
  using LBTopology::LBTopology;
  int max_neighbors() override { return std::min(npes - 1, 2); }
  void neighbors(int pe, int* pes, int& count) override {
    count = 0;
    add_once(pes, count, (pe + npes - 1) % npes, pe);
    add_once(pes, count, (pe + 1) % npes, pe);
  }
};

// All sides equal; the last coordinate counts fastest, or the first one where `first_is_fast`.
template <int dimensions, bool wraps, bool first_is_fast = false>
class Grid : public LBTopology {
 public:
  explicit Grid(int pes) : LBTopology(pes) {
    while (volume() < pes) ++side_;
  }
  int max_neighbors() override { return 2 * dimensions; }
  int get_dimension() override { return dimensions; }
  bool get_processor_coordinates(int pe, int* coordinates) override {
    for (int k = 0; k < dimensions; ++k, pe /= side_) coordinates[place(k)] = pe % side_;
    return true;
  }
  bool get_processor_id(const int* coordinates, int* pe) override {
    *pe = number(coordinates);
    return *pe >= 0;
  }
  bool coordinate_difference(const int* from, const int* to, int* difference) override {
    for (int d = 0; d < dimensions; ++d) {
      difference[d] = to[d] - from[d];
      if (!wraps) continue;
      if (2 * difference[d] > side_) difference[d] -= side_;
      if (-2 * difference[d] > side_) difference[d] += side_;
    }
    return true;
  }
  bool coordinate_difference(int from, int to, int* difference) override {
    std::array<int, dimensions> a, b;
    get_processor_coordinates(from, a.data());
    get_processor_coordinates(to, b.data());
    return coordinate_difference(a.data(), b.data(), difference);
  }
  void neighbors(int pe, int* pes, int& count) override {
    count = 0;
    std::array<int, dimensions> here;
    get_processor_coordinates(pe, here.data());
    for (const int step : {-1, 1}) {
      for (int d = 0; d < dimensions; ++d) {
        std::array<int, dimensions> there = here;
        int& x = there[static_cast<std::size_t>(d)];
        x += step;
        if (wraps && number(there.data()) < 0) {  // to the other end of the row, which may be short
          x = step > 0 ? 0 : side_ - 1;
          while (number(there.data()) < 0) --x;
        }
        if (const int found = number(there.data()); found >= 0) add_once(pes, count, found, pe);
      }
    }
  }

 private:
  static constexpr int place(int k) { return first_is_fast ? k : dimensions - 1 - k; }
  long volume() const {
    long all = 1;
    for (int d = 0; d < dimensions; ++d) all *= side_;
    return all;
  }
  int number(const int* coordinates) const {
    long pe = 0;
    for (int k = dimensions - 1; k >= 0; --k) {
      const int x = coordinates[place(k)];
      if (x < 0 || x >= side_) return -1;
      pe = pe * side_ + x;
    }
    return pe < npes ? static_cast<int>(pe) : -1;
  }
  int side_ = 1;
};

// Knows the hops of a pair without a search.
struct Told : LBTopology {
  using LBTopology::LBTopology;
  void get_pairwise_hop_count(double** hops) override {
    for (int from = 0; from < npes; ++from)
      for (int to = 0; to < npes; ++to) hops[from][to] = get_hop_count(from, to);
  }
};

struct Complete : Told {
  using Told::Told;
  int max_neighbors() override { return npes - 1; }
  void neighbors(int pe, int* pes, int& count) override {
    count = 0;
    for (int other = 0; other < npes; ++other)
      if (other != pe) pes[count++] = other;
  }
  int get_hop_count(int from, int to) override { return from != to; }
};

template <int k>
struct Tree : LBTopology {
  using LBTopology::LBTopology;
  int max_neighbors() override { return k + 1; }
  void neighbors(int pe, int* pes, int& count) override {
    count = 0;
    if (pe > 0) pes[count++] = (pe - 1) / k;
    for (int i = 1; i <= k && static_cast<long>(pe) * k + i < npes; ++i) pes[count++] = pe * k + i;
  }
};

// Processes of n PEs: the next n PEs are neighbours. As in Charm++ a PE is a hop away from itself.
template <int n>
struct Processes : Told {
  using Told::Told;
  int max_neighbors() override { return std::max(npes - 1, n); }
  void neighbors(int pe, int* pes, int& count) override {
    count = 0;
    for (int i = 1; i <= n; ++i) pes[count++] = (pe + i) % npes;
  }
  int get_hop_count(int from, int to) override { return from / n == to / n ? 1 : 2; }
};

template <class T>
LBTopology* make(int pes) {
  return new T(pes);
}
struct Name {
  const char* name;
  LBtopoFn make;
};
const Name names[] = {{"ring", make<Ring>},
                      {"torus2d", make<Grid<2, true>>},
                      {"torus3d", make<Grid<3, true>>},
                      {"mesh3d", make<Grid<3, false, true>>},
                      {"torus_nd_1", make<Grid<1, true, true>>},
                      {"torus_nd_2", make<Grid<2, true, true>>},
                      {"torus_nd_3", make<Grid<3, true, true>>},
                      {"torus_nd_4", make<Grid<4, true, true>>},
                      {"torus_nd_5", make<Grid<5, true, true>>},
                      {"torus_nd_6", make<Grid<6, true, true>>},
                      {"torus_nd_7", make<Grid<7, true, true>>},
                      {"torus_nd_8", make<Grid<8, true, true>>},
                      {"torus_nd_9", make<Grid<9, true, true>>},
                      {"torus_nd_10", make<Grid<10, true, true>>},
                      {"complete", make<Complete>},
                      {"2_arytree", make<Tree<2>>},
                      {"3_arytree", make<Tree<3>>},
                      {"4_arytree", make<Tree<4>>},
                      {"128_arytree", make<Tree<128>>},
                      {"512_arytree", make<Tree<512>>},
                      {"smp_n_1", make<Processes<1>>},
                      {"smp_n_2", make<Processes<2>>},
                      {"smp_n_3", make<Processes<3>>},
                      {"smp_n_4", make<Processes<4>>},
                      {"smp_n_5", make<Processes<5>>},
                      {"smp_n_6", make<Processes<6>>},
                      {"smp_n_7", make<Processes<7>>},
                      {"smp_n_8", make<Processes<8>>},
                      {"smp_n_9", make<Processes<9>>},
                      {"smp_n_10", make<Processes<10>>}};
}  // namespace

int LBTopology::get_hop_count(int from, int to) { return hops_from(*this, from, npes)[static_cast<std::size_t>(to)]; }
void LBTopology::get_pairwise_hop_count(double** hops) {
  for (int from = 0; from < npes; ++from) {
    const std::vector<int> row = hops_from(*this, from, npes);
    std::copy(row.begin(), row.end(), hops[from]);
  }
}

extern "C" {
LBtopoFn LBTopoLookup(const char* name) {
  for (const Name& known : names)
    if (std::strcmp(known.name, name) == 0) return known.make;
  return nullptr;
}
int getTopoMaxNeighbors(void* topology) { return static_cast<LBTopology*>(topology)->max_neighbors(); }
void getTopoNeighbors(void* topology, int pe, int* pes, int* count) {
  static_cast<LBTopology*>(topology)->neighbors(pe, pes, *count);
}
void printoutTopo() {
  for (const Name& known : names) CmiPrintf("  %s\n", known.name);
}
}
