// Sfc: objects along a Hilbert curve in as many dimensions as they differ in, and the curve cut into as many pieces as
// there are PEs, so that the fullest PE is nearly as empty as cuts can make it; those that can stay do. (J. Skilling,
// "Programming the Hilbert curve", AIP Conf. Proc. 707, 2004; A. Pinar, C. Aykanat, "Fast optimal load balancing
// algorithms for 1D partitioning", JPDC 64, 2004: probing.)
#include "runtime/loadbalance/strategies/sfc.h"

#include <algorithm>
#include <array>
#include <span>

#include "runtime/loadbalance/strategies/phase_loads.h"
#include "runtime/loadbalance/strategies/places.h"

namespace periapt::loadbalance {

namespace {
constexpr int bits = 21;  // of each coordinate: 63 of a key

std::uint64_t hilbert_key(std::span<std::uint32_t> x) {
  for (std::uint32_t q = 1u << (bits - 1); q > 1; q >>= 1) {  // undo excess work
    const std::uint32_t p = q - 1;
    for (std::uint32_t& axis : x) {
      if (axis & q) {
        x[0] ^= p;
      } else {
        const std::uint32_t t = (x[0] ^ axis) & p;
        x[0] ^= t;
        axis ^= t;
      }
    }
  }
  for (std::size_t axis = 1; axis < x.size(); ++axis) x[axis] ^= x[axis - 1];  // Gray encode
  std::uint32_t t = 0;
  for (std::uint32_t q = 1u << (bits - 1); q > 1; q >>= 1)
    if (x.back() & q) t ^= q - 1;
  std::uint64_t key = 0;
  for (int bit = bits - 1; bit >= 0; --bit)
    for (const std::uint32_t axis : x) key = key << 1 | ((axis ^ t) >> bit & 1);
  return key;
}

void order_along_curve(Places& places) {
  std::array<double, 3> least{}, most{};
  for (int axis = 0; axis < 3; ++axis) {
    least[axis] = most[axis] = places.at(places.objects[0])[axis];
    for (std::size_t i : places.objects) {
      least[axis] = std::min<double>(least[axis], places.at(i)[axis]);
      most[axis] = std::max<double>(most[axis], places.at(i)[axis]);
    }
  }
  const double side = std::max({most[0] - least[0], most[1] - least[1], most[2] - least[2]});
  std::vector<std::pair<std::uint64_t, std::size_t>> keys;
  keys.reserve(places.objects.size());
  for (std::size_t i : places.objects) {
    std::array<std::uint32_t, 3> x;
    std::size_t axes = 0;  // in which they differ
    for (int axis = 0; axis < 3; ++axis) {
      if (most[axis] == least[axis]) continue;
      x[axes++] = static_cast<std::uint32_t>((places.at(i)[axis] - least[axis]) / side * ((1u << bits) - 1));
    }
    keys.emplace_back(axes == 0 ? 0 : hilbert_key({x.data(), axes}), i);
  }
  std::sort(keys.begin(), keys.end());
  for (std::size_t k = 0; k < keys.size(); ++k) places.objects[k] = keys[k].second;
}

// Cuts of a part of the curve: PE k of the available ones has objects [ends[k - 1], ends[k]) of those that are given.
// Loads are measured in times of `full`, which there is for each phase.
class Cuts {
 public:
  Cuts(const Places& places, const PhaseLoads& loads, const std::vector<std::size_t>& objects,
       const std::vector<double>& full)
      : places_(places), loads_(loads), objects_(objects), full_(full), ends_(places.problem.available.size()) {
    before_.resize(loads.phases(), {0});
    for (std::size_t k = 0; k < before_.size(); ++k) {
      double total = 0;
      for (const std::size_t i : objects) total += loads.of(i, k);
      // Where nothing was measured all count alike.
      const double same = total > 0 || before_.size() > 1 ? 0 : 1;
      for (const std::size_t i : objects) before_[k].push_back(before_[k].back() + loads.of(i, k) + same);
    }
  }

  // The least load that no PE has to be above.
  double least() {
    double low = 0, high = 1;
    while (!fits_below(high)) low = high, high = 2 * high;
    for (int round = 0; round < 40 && high - low > 1e-6 * high; ++round) {
      const double middle = (low + high) / 2;
      (fits_below(middle) ? high : low) = middle;
    }
    return high;
  }

  // With no PE above that load, each cut as near as can be to where it is: the places that it may have end where the
  // PEs before it are full, and begin where those behind it are.
  const std::vector<std::size_t>& nearest(double load) {
    std::vector<std::size_t> earliest(ends_.size(), objects_.size());
    for (std::size_t pe = ends_.size() - 1; pe > 0; --pe) {
      earliest[pe - 1] = 0;
      for (std::size_t k = 0; k < before_.size(); ++k) {
        const double from = before_[k][earliest[pe]] - room(pe, k, load);
        const auto place = std::lower_bound(before_[k].begin(), before_[k].end(), from) - before_[k].begin();
        earliest[pe - 1] = std::max(earliest[pe - 1], static_cast<std::size_t>(place));
      }
    }
    const std::vector<std::size_t> now = present_ends();
    for (std::size_t pe = 0, begin = 0; pe < ends_.size(); begin = ends_[pe++])
      ends_[pe] = std::max(earliest[pe], std::min(now[pe], furthest(begin, pe, load)));
    return ends_;
  }

 private:
  double room(std::size_t place, std::size_t k, double load) const {
    const int pe = places_.problem.available[place];
    return std::max(0.0, load * full_[k] - loads_.load(pe, k)) * loads_.speed(pe);
  }
  std::size_t furthest(std::size_t begin, std::size_t pe, double load) const {
    std::size_t end = objects_.size();
    for (std::size_t k = 0; k < before_.size(); ++k) {
      const auto first = before_[k].begin() + static_cast<std::ptrdiff_t>(begin);
      const auto full = std::upper_bound(first + 1, before_[k].end(), *first + room(pe, k, load));
      end = std::min(end, begin + static_cast<std::size_t>(full - first) - 1);
    }
    return end;
  }
  // PEs in their order take what fits. False: it is not enough for all.
  bool fits_below(double load) const {
    std::size_t begin = 0;
    for (std::size_t pe = 0; pe < ends_.size(); ++pe) begin = furthest(begin, pe, load);
    return begin == objects_.size();
  }
  std::vector<std::size_t> present_ends() const {
    std::vector<std::size_t> on(places_.problem.database.pes.size()), ends;
    for (std::size_t i : objects_) ++on[static_cast<std::size_t>(places_.problem.from(i))];
    for (int pe : places_.problem.available)
      ends.push_back((ends.empty() ? 0 : ends.back()) + on[static_cast<std::size_t>(pe)]);
    return ends;
  }

  const Places& places_;
  const PhaseLoads& loads_;
  const std::vector<std::size_t>& objects_;  // in their order along the curve
  const std::vector<double>& full_;
  std::vector<std::vector<double>> before_;  // by phase: work before each object
  std::vector<std::size_t> ends_;
};

// What matters in the same phase is cut along the curve by itself, the fewest objects first: what there is of each
// phase may lie together, and it is to be on all PEs.
Assignment along_the_curve(const LoadDatabase& database, const StrategyOptions& options) {
  Places places(database);
  if (places.objects.empty()) return places.finish();
  order_along_curve(places);
  PhaseLoads loads(places.problem);
  std::vector<std::vector<std::size_t>> groups(loads.phases());
  for (const std::size_t i : places.objects) groups[loads.main_phase(i)].push_back(i);
  std::ranges::stable_sort(groups, {}, [](const auto& group) { return group.size(); });
  for (const std::vector<std::size_t>& group : groups) {
    std::vector<double> full;
    for (std::size_t k = 0; k < loads.phases(); ++k) {
      full.push_back(loads.average(k));
      for (const int pe : places.problem.available) full[k] = std::max(full[k], loads.load(pe, k));
    }
    Cuts cuts(places, loads, group, full);
    const std::vector<std::size_t>& ends = cuts.nearest(options["tolerance"] * cuts.least());
    std::size_t object = 0;
    for (std::size_t k = 0; k < ends.size(); ++k) {
      for (; object < ends[k]; ++object) {
        places.problem.put(group[object], places.problem.available[k]);
        loads.put(group[object], places.problem.available[k]);
      }
    }
  }
  return places.finish();
}
}  // namespace

StrategyInfo sfc() {
  return {.name = "Sfc",
          .classic = "SfcLB",
          .summary = "cuts a space-filling curve: near objects on near PEs (they say setObjPosition())",
          .solve = along_the_curve,
          .options = {{"tolerance", 1.02, 1, 100, "how full a PE may be, in times of what the best cuts reach"}},
          .positions = true,
          .phases = true};
}

}  // namespace periapt::loadbalance
