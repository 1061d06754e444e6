// RecBipart: recursive bisection of the graph of messages. One half grows from an object at the rim, always by
// the object that exchanges most with it, until it has the work that half of the PEs have room for; then objects at the
// border change sides where that saves traffic. It grows in several manners, and the best half is taken. (H. D. Simon,
// "Partitioning of unstructured problems for parallel processing", Computing Systems in Engineering 2, 1991; G.
// Karypis, V. Kumar, SIAM J. Sci. Comput. 20, 1998: greedy growing; C. M. Fiduccia, R. M. Mattheyses, DAC 1982:
// changing sides.)
#include <tuple>

#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

namespace {
class Bipartition {
 public:
  Bipartition(const LoadDatabase& database, const StrategyOptions& options)
      : problem_(database),
        capacity_(capacity_of(database)),
        partners_(database),
        objects_(problem_.movable),
        region_(database.objects.size(), -1),
        inside_(database.objects.size()),
        tie_(database.objects.size()),
        ring_(database.objects.size()),
        seen_(database.objects.size()),
        slack_(options["tolerance"] - 1) {}

  Assignment solve() {
    halve(0, objects_.size(), 0, problem_.available.size());
    return std::move(problem_.assignment);
  }

 private:
  using Heap = std::priority_queue<std::pair<double, std::size_t>>;
  // What is next where several are as near: what is nearest to the first one, or any; or that before all else.
  enum class Growth { round, any, in_rings };

  // Objects [first, last) go to the available PEs [low, high).
  void halve(std::size_t first, std::size_t last, std::size_t low, std::size_t high) {
    if (first == last) return;
    if (high - low == 1) {
      for (std::size_t k = first; k < last; ++k) problem_.put(objects_[k], problem_.available[low]);
      return;
    }
    first_ = first;
    last_ = last;
    const int region = regions_++;
    double total = 0;
    for (std::size_t k = first; k < last; ++k) {
      region_[objects_[k]] = region;
      total += weight(objects_[k]);
    }
    const std::size_t middle = low + (high - low) / 2;
    cut_best(total * share(low, middle, high), slack_ * total);
    const auto begin = objects_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = objects_.begin() + static_cast<std::ptrdiff_t>(last);
    const auto cut = std::stable_partition(begin, end, [&](std::size_t i) { return inside_[i] != 0; });
    const auto at = static_cast<std::size_t>(cut - objects_.begin());
    halve(first, at, low, middle);
    halve(at, last, middle, high);
  }

  void cut_best(double wanted, double slack) {
    double least = -1;
    std::vector<char> best(last_ - first_);
    for (const Growth growth : {Growth::round, Growth::any, Growth::in_rings}) {
      for (std::size_t k = first_; k < last_; ++k) inside_[objects_[k]] = false;
      change_sides(wanted, grow(wanted, growth), slack);
      const double cut = crossing();
      if (least >= 0 && cut >= least) continue;
      least = cut;
      for (std::size_t k = first_; k < last_; ++k) best[k - first_] = inside_[objects_[k]];
    }
    for (std::size_t k = first_; k < last_; ++k) inside_[objects_[k]] = best[k - first_];
  }
  double crossing() const {
    double sum = 0;
    for (std::size_t k = first_; k < last_; ++k)
      if (inside_[objects_[k]])
        for_each_near(objects_[k], [&](const Partner& p) { sum += inside_[p.object] ? 0 : exchange(p); });
    return sum;
  }

  // Objects without load are to be spread as well.
  double weight(std::size_t i) const { return problem_.work(i) + 1e-12; }
  double share(std::size_t low, std::size_t middle, std::size_t high) const {
    double front = 0, all = 0;
    for (std::size_t k = low; k < high; ++k) {
      const double room = capacity_.work[problem_.available[k]] + 1e-12;
      all += room;
      if (k < middle) front += room;
    }
    return front / all;
  }
  static double exchange(const Partner& partner) {
    return static_cast<double>(partner.bytes) + 1000.0 * partner.messages;
  }

  // visit(partner) for each that is in the part that is being halved.
  template <class Visit>
  void for_each_near(std::size_t i, Visit visit) const {
    for (const Partner& partner : partners_[i])
      if (region_[partner.object] == region_[i]) visit(partner);
  }

  // The last one that a search in rings comes to.
  std::size_t at_the_rim(std::size_t from) {
    std::vector<std::size_t> line{from};
    seen_[from] = true;
    for (std::size_t k = 0; k < line.size(); ++k)
      for_each_near(line[k], [&](const Partner& partner) {
        if (seen_[partner.object]) return;
        seen_[partner.object] = true;
        line.push_back(partner.object);
      });
    for (std::size_t i : line) seen_[i] = false;
    return line.back();
  }

  struct Candidate {
    double first, second;
    std::size_t object;
    double tie;  // when it was made: an older one is void
    bool operator<(const Candidate& o) const {
      return std::tie(first, second, object) < std::tie(o.first, o.second, o.object);
    }
  };
  Candidate candidate(std::size_t i, Growth growth) const {
    if (growth == Growth::in_rings) return {-ring_[i], tie_[i], i, tie_[i]};
    return {tie_[i], growth == Growth::round ? -ring_[i] : 0, i, tie_[i]};
  }

  // Returns the work of what is inside then.
  double grow(double wanted, Growth growth) {
    std::priority_queue<Candidate> rim;
    for (std::size_t k = first_; k < last_; ++k) tie_[objects_[k]] = ring_[objects_[k]] = 0;
    double grown = 0;
    for (std::size_t next = first_; grown < wanted;) {
      std::size_t i;
      if (!rim.empty()) {
        const Candidate best = rim.top();
        rim.pop();
        if (inside_[best.object] || best.tie != tie_[best.object]) continue;
        i = best.object;
      } else {
        while (next < last_ && inside_[objects_[next]]) ++next;
        if (next == last_) break;
        i = at_the_rim(objects_[next]);
        if (inside_[i]) i = objects_[next];
      }
      if (grown > 0 && grown + weight(i) / 2 > wanted) break;
      inside_[i] = true;
      grown += weight(i);
      for_each_near(i, [&](const Partner& partner) {
        if (inside_[partner.object]) return;
        if (tie_[partner.object] == 0) ring_[partner.object] = ring_[i] + 1;
        tie_[partner.object] += exchange(partner);
        rim.push(candidate(partner.object, growth));
      });
    }
    return grown;
  }

  // Each object once at most, best gain first.
  void change_sides(double wanted, double inside, double slack) {
    Heap heap;
    auto gain = [&](std::size_t i) {
      double away = 0;
      for_each_near(i, [&](const Partner& p) { away += inside_[p.object] == inside_[i] ? -exchange(p) : exchange(p); });
      return away;
    };
    for (std::size_t k = first_; k < last_; ++k)
      if (const double g = gain(objects_[k]); g > 0) heap.push({g, objects_[k]});
    while (!heap.empty()) {
      const auto [value, i] = heap.top();
      heap.pop();
      if (gain(i) != value) continue;
      const double after = inside_[i] ? inside - weight(i) : inside + weight(i);
      if (std::abs(after - wanted) > std::max(slack, std::abs(inside - wanted))) continue;
      inside = after;
      inside_[i] = !inside_[i];
      for_each_near(i, [&](const Partner& p) {
        if (const double g = gain(p.object); g > 0) heap.push({g, p.object});
      });
    }
  }

  Problem problem_;
  const Capacity capacity_;
  const Partners partners_;
  std::vector<std::size_t> objects_;
  std::vector<int> region_;   // by object: which part of a halving it is in
  std::vector<char> inside_;  // by object: in the front half
  std::vector<double> tie_;   // by object: what it exchanges with the front half while that grows
  std::vector<double> ring_;  // by object: how many steps from the one that it grew from
  std::vector<char> seen_;
  const double slack_;  // of a half, in parts of what is halved
  std::size_t first_ = 0, last_ = 0;
  int regions_ = 0;
};
}  // namespace

StrategyInfo rec_bipart() {
  return {.name = "RecBipart",
          .classic = "RecBipartLB",
          .summary = "halves the graph of messages again and again: little traffic between PEs",
          .solve = [](const LoadDatabase& database,
                      const StrategyOptions& options) { return Bipartition(database, options).solve(); },
          .options = {{"tolerance", 1.005, 1, 2, "how far a half may be from its part, to save traffic"}},
          .communication = true};
}

}  // namespace periapt::loadbalance
