// Finding the cuts between pieces by counting.
#include "examples/nbody/decompose.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>

namespace periapt::nbody {
namespace {

// A round costs a broadcast and a reduction, so there are few and each asks for many counts, but not for more than
// travel in no time.
constexpr std::size_t counts_a_piece = 32, fewest_a_piece = 4, counts_a_round = 16384;

/// The first place from `at` on where `isBefore` is false: strides that double until they pass it, then halves of the
/// last one, as most places are near.
template <class T, class IsBefore>
std::size_t firstFrom(std::size_t at, std::span<const T> sorted, IsBefore isBefore) {
  std::size_t stride = 1;
  while (at + stride <= sorted.size() && isBefore(sorted[at + stride - 1])) at += stride, stride *= 2;
  const auto rest = sorted.subspan(at, std::min(stride, sorted.size() - at));
  return at + std::size_t(std::ranges::partition_point(rest, isBefore) - rest.begin());
}

std::vector<std::uint64_t> countsOf(std::span<const Filled> filled, std::size_t stretches) {
  std::vector<std::uint64_t> counts(stretches);
  for (const Filled& f : filled) counts.at(f.stretch) = f.count;
  return counts;
}

}  // namespace

Decomposer::Decomposer(int pieces, int bucket)
    : pieces_(pieces), bucket_(bucket), cells_{{Cell{}, 0, 0}}, cuts_(pieces + 1), ranks_(pieces + 1) {
  cuts_.back() = key_end;
  if (pieces < 1)
    throw std::invalid_argument(fmt::format("nbody: {} tree pieces asked for; at least one is needed", pieces));
  ask();
}

void Decomposer::counted(std::span<const Filled> filled) {
  const std::vector<std::uint64_t> counts = countsOf(filled, probes_.size() - 1);
  std::vector<Stretch> next;
  const auto holdsWanted = [&](std::uint64_t before, std::uint64_t count) {
    if (count == 0) return false;
    std::uint64_t p = before * pieces_ / total_;
    while (wanted(p) <= before) ++p;
    return p < pieces_ && wanted(p) < before + count;
  };
  if (edges_.empty()) {  // the first answer
    total_ = std::reduce(counts.begin(), counts.end());
    edges_ = {{0, 0}, {key_end, total_}};
  }
  // Descends into a cell as long as it is no leaf and the counts are known.
  const auto descend = [&](auto& self, Cell cell, std::uint64_t before, int levels, std::size_t first) -> void {
    const std::size_t half = (std::size_t{1} << levels) / 2;
    const auto sum = [&](std::size_t from, std::size_t n) {
      return std::reduce(counts.begin() + from, counts.begin() + from + n);
    };
    const std::uint64_t count = sum(first, std::size_t{1} << levels);
    if (!holdsWanted(before, count)) return;
    if (levels == 0) {
      next.push_back({cell, before, count});
    } else if (count > bucket_) {
      const std::uint64_t left = sum(first, half);
      edges_.push_back({cell.half(1).begin(), before + left});
      self(self, cell.half(0), before, levels - 1, first);
      self(self, cell.half(1), before + left, levels - 1, first + half);
    }
  };
  std::size_t probe = 0;
  for (const Stretch& s : cells_) {
    while (probes_[probe] != s.cell.begin()) ++probe;
    descend(descend, s.cell, s.before, levelsAsked(s.cell), probe);
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
    const Edge& nearest = above->rank - wanted(p) < wanted(p) - below->rank ? *above : *below;
    cuts_[p] = nearest.key, ranks_[p] = nearest.rank;
  }
  ranks_.back() = total_;
  // Edges with nothing between them have the same rank, in any order.
  std::ranges::sort(cuts_);
}

std::vector<std::uint64_t> Decomposer::totals() const {
  std::vector<std::uint64_t> totals;
  for (std::uint64_t p = 0; p < pieces_; ++p) totals.push_back(ranks_[p + 1] - ranks_[p]);
  return totals;
}

/// How often a cell is halved in this round: the fewer cells there are, the more often.
int Decomposer::levelsAsked(Cell cell) const {
  const auto a_piece = std::clamp(counts_a_round / pieces_, fewest_a_piece, counts_a_piece);
  const auto each = a_piece * pieces_ / cells_.size();
  return std::min(int(std::bit_width(each)) - 1, key_bits - cell.level());
}

/// Halves, quarters ... of each cell.
void Decomposer::ask() {
  probes_.push_back(0);
  const auto add = [&](Key key) {
    if (probes_.back() != key) probes_.push_back(key);
  };
  for (const Stretch& s : cells_) {
    const int levels = levelsAsked(s.cell);
    const Key step = (s.cell.end() - s.cell.begin()) >> levels;
    for (Key k = 0; k <= Key{1} << levels; ++k) add(s.cell.begin() + k * step);
  }
  add(key_end);
}

std::vector<Filled> filledBetween(std::span<const Particle> sorted, std::span<const Key> probes) {
  std::vector<Filled> filled;
  if (probes.empty()) return filled;
  const auto firstWith = [&](std::size_t at, Key key) {
    return firstFrom(at, sorted, [&](const Particle& p) { return p.key < key; });
  };
  std::size_t probe = 0;
  for (std::size_t at = firstWith(0, probes[0]); at < sorted.size();) {
    probe = firstFrom(probe, probes, [&](Key key) { return key <= sorted[at].key; }) - 1;
    if (probe + 1 == probes.size()) break;
    const std::size_t next = firstWith(at, probes[probe + 1]);
    filled.push_back({std::uint32_t(probe), std::uint32_t(next - at)});
    at = next;
  }
  return filled;
}

std::vector<Filled> addedUp(std::vector<Filled> several) {
  const auto before = [](const Filled& a, const Filled& b) { return a.stretch < b.stretch; };
  // Each rises, so it is merging of neighbours that puts them in order.
  std::vector<std::vector<Filled>::iterator> ends{several.begin()};
  while (ends.back() != several.end()) ends.push_back(std::is_sorted_until(ends.back(), several.end(), before));
  for (; ends.size() > 2; ends.resize(ends.size() / 2 + 1)) {
    for (std::size_t i = 0; i + 2 < ends.size(); i += 2) {
      std::inplace_merge(ends[i], ends[i + 1], ends[i + 2], before);
      ends[i / 2 + 1] = ends[i + 2];
    }
    ends[ends.size() / 2] = several.end();
  }
  std::size_t sums = 0;
  for (const Filled& f : several) {
    if (sums > 0 && several[sums - 1].stretch == f.stretch) {
      several[sums - 1].count += f.count;
    } else {
      several[sums++] = f;
    }
  }
  several.resize(sums);
  return several;
}

std::vector<std::uint64_t> countBetween(std::span<const Particle> sorted, std::span<const Key> probes) {
  return countsOf(filledBetween(sorted, probes), probes.empty() ? 0 : probes.size() - 1);
}

std::vector<Key> decompose(std::span<const Particle> sorted, int pieces, int bucket) {
  Decomposer decomposer(pieces, bucket);
  while (!decomposer.isDone()) decomposer.counted(filledBetween(sorted, decomposer.probes()));
  return decomposer.cuts();
}

void sortByKey(std::vector<Particle>& particles) {
  struct Place {
    Key key;
    std::uint32_t order, index;
  };
  const auto before = [](const auto& a, const auto& b) { return a.key != b.key ? a.key < b.key : a.order < b.order; };
  if (std::ranges::is_sorted(particles, before)) return;
  std::vector<Place> places;
  places.reserve(particles.size());
  for (const Particle& p : particles) places.push_back({p.key, p.order, std::uint32_t(places.size())});
  std::ranges::sort(places, before);
  std::vector<Particle> sorted;
  sorted.reserve(particles.size());
  for (const Place& p : places) sorted.push_back(particles[p.index]);
  particles.swap(sorted);
}

}  // namespace periapt::nbody
