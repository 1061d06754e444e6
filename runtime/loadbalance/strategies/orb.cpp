// Orb: orthogonal recursive bisection. The PEs are halved, and the objects by a plane across the longest side of the
// box around them, so that each half has the work that its PEs have room for; then each half likewise. What is near in
// space is near in the machine. (M. J. Berger, S. H. Bokhari, "A partitioning strategy for nonuniform problems on
// multiprocessors", IEEE Trans. Computers 36, 1987.)
#include "runtime/loadbalance/strategies/places.h"

namespace periapt::loadbalance {

namespace {
class Bisection {
 public:
  explicit Bisection(const LoadDatabase& database) : places_(database) {}

  Assignment solve() {
    halve(0, places_.objects.size(), 0, places_.problem.available.size());
    return places_.finish();
  }

 private:
  using Objects = std::vector<std::size_t>;

  // Objects [first, last) go to the available PEs [low, high).
  void halve(std::size_t first, std::size_t last, std::size_t low, std::size_t high) {
    Objects& objects = places_.objects;
    if (first == last) return;
    if (high - low == 1) {
      for (std::size_t k = first; k < last; ++k) places_.problem.put(objects[k], places_.problem.available[low]);
      return;
    }
    const std::size_t middle = low + (high - low) / 2;
    const int axis = longest_side(first, last);
    const auto begin = objects.begin();
    std::sort(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last),
              [&](std::size_t a, std::size_t b) {
                return std::pair(places_.at(a)[axis], a) < std::pair(places_.at(b)[axis], b);
              });
    const std::size_t cut = places_.cut(first, last, places_.share(low, middle, high));
    halve(first, cut, low, middle);
    halve(cut, last, middle, high);
  }

  int longest_side(std::size_t first, std::size_t last) const {
    float least[3], most[3];
    for (int axis = 0; axis < 3; ++axis) {
      least[axis] = most[axis] = places_.at(places_.objects[first])[axis];
      for (std::size_t k = first; k < last; ++k) {
        least[axis] = std::min(least[axis], places_.at(places_.objects[k])[axis]);
        most[axis] = std::max(most[axis], places_.at(places_.objects[k])[axis]);
      }
    }
    int longest = 0;
    for (int axis = 1; axis < 3; ++axis)
      if (most[axis] - least[axis] > most[longest] - least[longest]) longest = axis;
    return longest;
  }

  Places places_;
};
}  // namespace

StrategyInfo orb() {
  return {.name = "Orb",
          .classic = "OrbLB",
          .summary = "halves space again and again: near objects on near PEs (they say setObjPosition())",
          .solve = [](const LoadDatabase& database, const StrategyOptions&) { return Bisection(database).solve(); },
          .positions = true};
}

}  // namespace periapt::loadbalance
