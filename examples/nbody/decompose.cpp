// Finding the cuts between pieces by counting.
#include "examples/nbody/decompose.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace periapt::nbody {
namespace {

constexpr int levels_a_round = 4;  // of halving: each round asks for 16 counts a cell

}  // namespace

Decomposer::Decomposer(int pieces, int bucket)
    : pieces_(pieces), bucket_(bucket), probes_{0, key_end}, cuts_(pieces + 1) {
  cuts_.back() = key_end;
  if (pieces < 1)
    throw std::invalid_argument(fmt::format("nbody: {} tree pieces asked for; at least one is needed", pieces));
}

void Decomposer::counted(std::span<const std::uint64_t> counts) {
  std::vector<Stretch> next;
  const auto holdsWanted = [&](std::uint64_t before, std::uint64_t count) {
    if (count == 0) return false;
    std::uint64_t p = before * pieces_ / total_;
    while (wanted(p) <= before) ++p;
    return p < pieces_ && wanted(p) < before + count;
  };
  if (cells_.empty()) {  // the first answer: all particles
    total_ = counts[0];
    edges_ = {{0, 0}, {key_end, total_}};
    next.push_back({Cell{}, 0, total_});
  } else {
    // Descends into a cell as long as it is no leaf and the counts are known.
    const auto descend = [&](auto& self, Cell cell, std::uint64_t before, int levels,
                             std::size_t first) -> std::uint64_t {
      if (levels == 0) {
        if (holdsWanted(before, counts[first])) next.push_back({cell, before, counts[first]});
        return counts[first];
      }
      std::uint64_t count = 0;
      const std::size_t half = std::size_t{1} << (levels - 1);
      for (std::size_t i = first; i < first + 2 * half; ++i) count += counts[i];
      if (count <= bucket_ || !holdsWanted(before, count)) return count;
      std::uint64_t left = 0;
      for (std::size_t i = first; i < first + half; ++i) left += counts[i];
      edges_.push_back({cell.half(1).begin(), before + left});
      self(self, cell.half(0), before, levels - 1, first);
      self(self, cell.half(1), before + left, levels - 1, first + half);
      return count;
    };
    std::size_t probe = 0;
    for (const Stretch& s : cells_) {
      while (probes_[probe] != s.cell.begin()) ++probe;
      descend(descend, s.cell, s.before, std::min(levels_a_round, key_bits - s.cell.level()), probe);
    }
  }
  cells_ = std::move(next);
  std::erase_if(cells_, [&](const Stretch& s) {
    return s.count <= bucket_ || s.cell.level() == key_bits || !holdsWanted(s.before, s.count);
  });
  probes_.clear();
  cells_.empty() ? choose() : ask();
}

/// Each cut at the edge whose rank is nearest to the even share.
void Decomposer::choose() {
  std::ranges::sort(edges_, {}, &Edge::rank);
  for (std::uint64_t p = 1; p < pieces_; ++p) {
    const auto above = std::ranges::lower_bound(edges_, wanted(p), {}, &Edge::rank);
    const auto below = above == edges_.begin() ? above : above - 1;
    cuts_[p] = above->rank - wanted(p) < wanted(p) - below->rank ? above->key : below->key;
  }
  // Edges with nothing between them have the same rank, in any order.
  std::ranges::sort(cuts_);
}

/// Halves, quarters ... of each cell.
void Decomposer::ask() {
  probes_.push_back(0);
  const auto add = [&](Key key) {
    if (probes_.back() != key) probes_.push_back(key);
  };
  for (const Stretch& s : cells_) {
    const int levels = std::min(levels_a_round, key_bits - s.cell.level());
    const Key step = (s.cell.end() - s.cell.begin()) >> levels;
    for (Key k = 0; k <= Key{1} << levels; ++k) add(s.cell.begin() + k * step);
  }
  add(key_end);
}

std::vector<std::uint64_t> countBetween(std::span<const Particle> sorted, std::span<const Key> probes) {
  std::vector<std::uint64_t> counts;
  const auto rank = [&](Key key) {
    return std::uint64_t(std::ranges::partition_point(sorted, [&](const Particle& p) { return p.key < key; }) -
                         sorted.begin());
  };
  for (std::size_t i = 0; i + 1 < probes.size(); ++i) counts.push_back(rank(probes[i + 1]) - rank(probes[i]));
  return counts;
}

std::vector<Key> decompose(std::span<const Particle> sorted, int pieces, int bucket) {
  Decomposer decomposer(pieces, bucket);
  while (!decomposer.isDone()) decomposer.counted(countBetween(sorted, decomposer.probes()));
  return decomposer.cuts();
}

void sortByKey(std::vector<Particle>& particles, const Box& box) {
  setKeys(particles, box);
  const auto before = [](const Particle& a, const Particle& b) {
    return a.key != b.key ? a.key < b.key : a.order < b.order;
  };
  if (std::ranges::is_sorted(particles, before)) return;
  struct Place {
    Key key;
    std::uint32_t order, index;
  };
  std::vector<Place> places;
  places.reserve(particles.size());
  for (const Particle& p : particles) places.push_back({p.key, p.order, std::uint32_t(places.size())});
  std::ranges::sort(places,
                    [](const Place& a, const Place& b) { return a.key != b.key ? a.key < b.key : a.order < b.order; });
  std::vector<Particle> sorted;
  sorted.reserve(particles.size());
  for (const Place& p : places) sorted.push_back(particles[p.index]);
  particles.swap(sorted);
}

}  // namespace periapt::nbody
