// Sfc: objects along a Hilbert curve in as many dimensions as they differ in, and the curve cut into as many pieces as
// there are PEs, so that the fullest PE is nearly as empty as cuts can make it; those that can stay do. (J. Skilling,
// "Programming the Hilbert curve", AIP Conf. Proc. 707, 2004; A. Pinar, C. Aykanat, "Fast optimal load balancing
// algorithms for 1D partitioning", JPDC 64, 2004: probing.)
#include <array>
#include <span>

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

// Cuts of the curve: PE k of the available ones has objects [ends[k - 1], ends[k]).
class Cuts {
 public:
  explicit Cuts(const Places& places) : places_(places), ends_(places.problem.available.size()) {
    const double same = places.total_work() > 0 ? 0 : 1;  // where nothing was measured all count alike
    for (std::size_t i : places.objects) before_.push_back(before_.back() + places.problem.work(i) + same);
  }

  // The least load that no PE has to be above.
  double least() {
    double low = places_.capacity.level, high = low;
    while (!fits_below(high)) high = 2 * high + 1e-9;
    for (int round = 0; round < 40 && high - low > 1e-6 * high; ++round) {
      const double middle = (low + high) / 2;
      (fits_below(middle) ? high : low) = middle;
    }
    return high;
  }

  // With no PE above that load, each cut as near as can be to where it is: the places that it may have end where the
  // PEs before it are full, and begin where those behind it are.
  const std::vector<std::size_t>& nearest(double load) {
    std::vector<std::size_t> earliest(ends_.size(), places_.objects.size());
    for (std::size_t k = ends_.size() - 1; k > 0; --k) {
      const double from = before_[earliest[k]] - room(k, load);
      earliest[k - 1] =
          static_cast<std::size_t>(std::lower_bound(before_.begin(), before_.end(), from) - before_.begin());
    }
    const std::vector<std::size_t> now = present_ends();
    for (std::size_t k = 0, begin = 0; k < ends_.size(); begin = ends_[k++])
      ends_[k] = std::max(earliest[k], std::min(now[k], furthest(begin, k, load)));
    return ends_;
  }

 private:
  double room(std::size_t k, double load) const {
    const int pe = places_.problem.available[k];
    return std::max(0.0, load - places_.problem.loads[pe]) * places_.problem.database.pes[pe].speed;
  }
  std::size_t furthest(std::size_t begin, std::size_t k, double load) const {
    const auto first = before_.begin() + static_cast<std::ptrdiff_t>(begin);
    return begin +
           static_cast<std::size_t>(std::upper_bound(first + 1, before_.end(), *first + room(k, load)) - first) - 1;
  }
  // PEs in their order take what fits. False: it is not enough for all.
  bool fits_below(double load) const {
    std::size_t begin = 0;
    for (std::size_t k = 0; k < ends_.size(); ++k) begin = furthest(begin, k, load);
    return begin == places_.objects.size();
  }
  std::vector<std::size_t> present_ends() const {
    std::vector<std::size_t> on(places_.problem.database.pes.size()), ends;
    for (std::size_t i : places_.objects) ++on[places_.problem.from(i)];
    for (int pe : places_.problem.available) ends.push_back((ends.empty() ? 0 : ends.back()) + on[pe]);
    return ends;
  }

  const Places& places_;
  std::vector<double> before_{0};  // work before each object
  std::vector<std::size_t> ends_;
};

Assignment along_the_curve(const LoadDatabase& database, const StrategyOptions& options) {
  Places places(database);
  if (places.objects.empty()) return places.finish();
  order_along_curve(places);
  Cuts cuts(places);
  const std::vector<std::size_t>& ends = cuts.nearest(options["tolerance"] * cuts.least());
  std::size_t object = 0;
  for (std::size_t k = 0; k < ends.size(); ++k)
    for (; object < ends[k]; ++object) places.problem.put(places.objects[object], places.problem.available[k]);
  return places.finish();
}
}  // namespace

StrategyInfo sfc() {
  return {.name = "Sfc",
          .classic = "SfcLB",
          .summary = "cuts a space-filling curve: near objects on near PEs (they say setObjPosition())",
          .solve = along_the_curve,
          .options = {{"tolerance", 1.02, 1, 100, "how full a PE may be, in times of what the best cuts reach"}},
          .positions = true};
}

}  // namespace periapt::loadbalance
