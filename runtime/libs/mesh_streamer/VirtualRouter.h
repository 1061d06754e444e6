// The grid of PEs over which a streamer sends (NDMeshStreamer.h): PE p has coordinates in `dimensions` directions, the
// last one running fastest. An item goes along one direction after the other, the last one first, so a PE has a buffer
// for those PEs only that differ from it in one coordinate: its peers. C++17: programs include it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/converse/ck.h"
#include "runtime/pup/stl.h"

class SimpleMeshRouter {
 public:
  // A peer: its number among this PE's, whether the item is there then, and its PE.
  struct Hop {
    int peer;
    bool last;
  };

  SimpleMeshRouter() = default;
  SimpleMeshRouter(int dimensions, const int* sizes) : sizes_(sizes, sizes + (dimensions > 0 ? dimensions : 0)) {
    if (!is_of_all_pes()) refuse();
    find_peers();
  }

  int peers() const { return static_cast<int>(peers_.size()); }
  int pe_of(int peer) const { return peers_[static_cast<std::size_t>(peer)]; }
  // Where an item goes next; one for this PE to this PE, which is among its own peers.
  Hop toward(int pe) const {
    std::size_t d = sizes_.size() - 1;
    while (d > 0 && coordinate(pe, d) == coordinate(CkMyPe(), d)) --d;
    const int peer = first_peer_[d] + coordinate(pe, d);
    return {peer, pe_of(peer) == pe};
  }
  // After a restart on another number of PEs the grid has as many directions, and another PE has other peers.
  void pup(PUP::er& p) {
    p | sizes_;
    if (!p.isUnpacking()) return;
    if (!is_of_all_pes()) fit();
    find_peers();
  }

 private:
  bool is_of_all_pes() const {
    long product = sizes_.empty() ? 0 : 1;
    for (const int size : sizes_) product *= size;
    return product == CkNumPes();
  }
  // Each prime factor goes to the direction that is the shortest then, the smallest one last.
  void fit() {
    std::vector<int> factors;
    int rest = CkNumPes();
    for (int factor = 2; rest > 1; ++factor)
      for (; rest % factor == 0; rest /= factor) factors.push_back(factor);
    sizes_.assign(sizes_.size(), 1);
    for (std::size_t i = factors.size(); i-- > 0;) *std::min_element(sizes_.begin(), sizes_.end()) *= factors[i];
  }
  void find_peers() {
    strides_.assign(sizes_.size(), 0);
    first_peer_.assign(sizes_.size(), 0);
    peers_.clear();
    int stride = 1;
    for (std::size_t d = sizes_.size(); d-- > 0; stride *= sizes_[d]) strides_[d] = stride;
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      first_peer_[d] = static_cast<int>(peers_.size());
      for (int k = 0; k < sizes_[d]; ++k) peers_.push_back(CkMyPe() + (k - coordinate(CkMyPe(), d)) * strides_[d]);
    }
  }
  int coordinate(int pe, std::size_t d) const { return pe / strides_[d] % sizes_[d]; }
  [[noreturn]] void refuse() const {
    std::string grid;
    for (const int size : sizes_) grid += (grid.empty() ? "" : " x ") + std::to_string(size);
    CkAbort("MeshStreamer: a grid of %s PEs is asked for, and there are %d", grid.empty() ? "0" : grid.c_str(),
            CkNumPes());
  }

  std::vector<int> sizes_, strides_, first_peer_;  // by direction
  std::vector<int> peers_;                         // their PEs
};

// In Charm++ it spares messages between the PEs of a host; here these pass through memory that they share.
class NodeAwareMeshRouter : public SimpleMeshRouter {
 public:
  using SimpleMeshRouter::SimpleMeshRouter;
};
