// Sfc: objects along a Hilbert curve through space, and the curve cut into as many pieces as there are PEs, so that the
// fullest PE is as empty as cuts can make it. (J. Skilling, "Programming the Hilbert curve", AIP Conf. Proc. 707, 2004;
// A. Pinar, C. Aykanat, "Fast optimal load balancing algorithms for 1D partitioning", JPDC 64, 2004: probing.)
#include <array>

#include "runtime/loadbalance/strategies/places.h"

namespace periapt::loadbalance {

namespace {
constexpr int bits = 21;  // of each coordinate: 63 of a key

std::uint64_t hilbert_key(std::array<std::uint32_t, 3> x) {
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
  x[1] ^= x[0];  // Gray encode
  x[2] ^= x[1];
  std::uint32_t t = 0;
  for (std::uint32_t q = 1u << (bits - 1); q > 1; q >>= 1)
    if (x[2] & q) t ^= q - 1;
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
    std::array<std::uint32_t, 3> x{};
    for (int axis = 0; axis < 3 && side > 0; ++axis)
      x[axis] = static_cast<std::uint32_t>((places.at(i)[axis] - least[axis]) / side * ((1u << bits) - 1));
    keys.emplace_back(hilbert_key(x), i);
  }
  std::sort(keys.begin(), keys.end());
  for (std::size_t k = 0; k < keys.size(); ++k) places.objects[k] = keys[k].second;
}

// Where each PE's piece ends when none may be above that load: PEs in their order take what fits. False: it is not
// enough for all.
bool cuts_below(const Places& places, const std::vector<double>& before, double load, std::vector<std::size_t>& ends) {
  const Problem& problem = places.problem;
  std::size_t begin = 0;
  for (std::size_t k = 0; k < problem.available.size(); ++k) {
    const int pe = problem.available[k];
    const double room = std::max(0.0, load - problem.loads[pe]) * problem.database.pes[pe].speed;
    const auto first = before.begin() + static_cast<std::ptrdiff_t>(begin);
    begin += static_cast<std::size_t>(std::upper_bound(first + 1, before.end(), *first + room) - first) - 1;
    ends[k] = begin;
  }
  return begin == places.objects.size();
}

Assignment along_the_curve(const LoadDatabase& database, const StrategyOptions&) {
  Places places(database);
  if (places.objects.empty()) return places.finish();
  order_along_curve(places);
  const double same = places.total_work() > 0 ? 0 : 1;  // where nothing was measured all count alike
  std::vector<double> before{0};                        // work before each object
  for (std::size_t i : places.objects) before.push_back(before.back() + places.problem.work(i) + same);
  std::vector<std::size_t> ends(places.problem.available.size());
  double low = places.capacity.level, high = low;
  while (!cuts_below(places, before, high, ends)) high = 2 * high + 1e-9;
  for (int round = 0; round < 40 && high - low > 1e-6 * high; ++round) {
    const double middle = (low + high) / 2;
    (cuts_below(places, before, middle, ends) ? high : low) = middle;
  }
  cuts_below(places, before, high, ends);
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
          .positions = true};
}

}  // namespace periapt::loadbalance
