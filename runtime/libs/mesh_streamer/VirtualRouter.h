// The grid of PEs over which a streamer sends (NDMeshStreamer.h): PE p has coordinates in `dimensions` directions, the
// last one running fastest. An item goes along one direction after the other, the last one first, so a PE has a buffer
// for those PEs only that differ from it in one coordinate: its peers. C++17: programs include it.
#pragma once
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
    long product = dimensions > 0 ? 1 : 0;
    for (const int size : sizes_) product *= size;
    if (product != CkNumPes()) refuse();
    strides_.resize(sizes_.size());
    first_peer_.resize(sizes_.size());
    int stride = 1;
    for (std::size_t d = sizes_.size(); d-- > 0; stride *= sizes_[d]) strides_[d] = stride;
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      first_peer_[d] = static_cast<int>(peers_.size());
      for (int k = 0; k < sizes_[d]; ++k) peers_.push_back(CkMyPe() + (k - coordinate(CkMyPe(), d)) * strides_[d]);
    }
  }

  int peers() const { return static_cast<int>(peers_.size()); }
  int pe_of(int peer) const { return peers_[static_cast<std::size_t>(peer)]; }
  // Where an item for another PE goes next.
  Hop toward(int pe) const {
    std::size_t d = sizes_.size() - 1;
    while (coordinate(pe, d) == coordinate(CkMyPe(), d)) --d;
    const int peer = first_peer_[d] + coordinate(pe, d);
    return {peer, pe_of(peer) == pe};
  }
  void pup(PUP::er& p) {
    p | sizes_;
    p | strides_;
    p | first_peer_;
    p | peers_;
  }

 private:
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
