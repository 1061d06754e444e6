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

/// Cells that cover the curve and hold at most one of the keys each, but for their edges.
void coverUpTo(std::span<const Key> keys, Cell cell, std::vector<Cell>& cover) {
  const auto first = std::ranges::upper_bound(keys, cell.begin()), last = std::ranges::lower_bound(keys, cell.end());
  if (last - first <= 1) {
    cover.push_back(cell);
    return;
  }
  for (const int which : {0, 1}) coverUpTo({first, last}, cell.half(which), cover);
}

}  // namespace

Decomposer::Decomposer(int pieces, int bucket, std::vector<Key> near)
    : pieces_(pieces), bucket_(bucket), cells_{Cell{}}, cuts_(pieces + 1), ranks_(pieces + 1) {
  cuts_.back() = key_end;
  if (pieces < 1)
    throw std::invalid_argument(fmt::format("nbody: {} tree pieces asked for; at least one is needed", pieces));
  near.erase(std::unique(near.begin(), near.end()), near.end());
  std::vector<Cell> cover;
  coverUpTo(near, Cell{}, cover);
  ask(cover);
}

void Decomposer::counted(std::span<const Filled> filled) {
  std::vector<std::uint64_t> before(probes_.size());  // particles before each probe
  for (const Filled& f : filled) before.at(f.stretch + 1) = f.count;
  std::partial_sum(before.begin(), before.end(), before.begin());
  total_ = before.back();
  if (edges_.empty()) edges_ = {{0, 0}, {key_end, total_}};
  const auto holdsWanted = [&](std::uint64_t from, std::uint64_t to) {
    std::uint64_t p = from * pieces_ / total_;
    while (wanted(p) <= from) ++p;
    return p < pieces_ && wanted(p) < to;
  };
  std::vector<Cell> next;
  // Descends into a cell as long as it is no leaf and its middle was a probe, from probe `first` to `last`.
  const auto descend = [&](auto& self, Cell cell, std::size_t first, std::size_t last) -> void {
    if (before[last] - before[first] <= bucket_ || cell.level() == key_bits) return;
    if (!holdsWanted(before[first], before[last])) return;
    const std::size_t middle = probeAt(cell.half(1).begin(), first, last);
    if (probes_[middle] != cell.half(1).begin()) {
      next.push_back(cell);
      return;
    }
    edges_.push_back({probes_[middle], before[middle]});
    self(self, cell.half(0), first, middle);
    self(self, cell.half(1), middle, last);
  };
  std::size_t probe = 0;
  for (const Cell cell : cells_) {
    probe = probeAt(cell.begin(), probe, probes_.size() - 1);
    descend(descend, cell, probe, probeAt(cell.end(), probe, probes_.size() - 1));
  }
  cells_ = std::move(next);
  probes_.clear();
  cells_.empty() ? choose() : ask(cells_);
}

/// Each cut at the edge whose rank is nearest to the even share.
void Decomposer::choose() {
  std::ranges::sort(edges_, {}, [](const Edge& e) { return std::pair(e.rank, e.key); });
  for (std::uint64_t p = 1; p < pieces_; ++p) {
    const auto above = std::ranges::lower_bound(edges_, wanted(p), {}, &Edge::rank);
    const auto below = above == edges_.begin() ? above : above - 1;
    const Edge& nearest = above->rank - wanted(p) < wanted(p) - below->rank ? *above : *below;
    cuts_[p] = nearest.key, ranks_[p] = nearest.rank;
  }
  ranks_.back() = total_;
}

std::vector<std::uint64_t> Decomposer::totals() const {
  std::vector<std::uint64_t> totals;
  for (std::uint64_t p = 0; p < pieces_; ++p) totals.push_back(ranks_[p + 1] - ranks_[p]);
  return totals;
}

/// The first of these probes that is not below the key.
std::size_t Decomposer::probeAt(Key key, std::size_t first, std::size_t last) const {
  const auto begin = probes_.begin();
  return std::size_t(std::lower_bound(begin + std::ptrdiff_t(first), begin + std::ptrdiff_t(last), key) - begin);
}

/// Halves, quarters ... of each cell: the fewer cells there are, the more often they are halved.
void Decomposer::ask(std::span<const Cell> cells) {
  const auto a_piece = std::clamp(counts_a_round / pieces_, fewest_a_piece, counts_a_piece);
  const int halvings = int(std::bit_width(std::max<std::size_t>(a_piece * pieces_ / cells.size(), 1))) - 1;
  const auto add = [&](Key key) {
    if (probes_.back() != key) probes_.push_back(key);
  };
  probes_.push_back(0);
  for (const Cell cell : cells) {
    const int levels = std::min(halvings, key_bits - cell.level());
    const Key step = (cell.end() - cell.begin()) >> levels;
    for (Key k = 0; k <= Key{1} << levels; ++k) add(cell.begin() + k * step);
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
  std::vector<std::uint64_t> counts(probes.empty() ? 0 : probes.size() - 1);
  for (const Filled& f : filledBetween(sorted, probes)) counts.at(f.stretch) = f.count;
  return counts;
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
