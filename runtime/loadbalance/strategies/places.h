// What strategies that know where objects are have in common: those that have said it, and PEs in their order with the
// work that each has room for.
#pragma once
#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

struct Places {
  explicit Places(const LoadDatabase& database) : problem(database), capacity(capacity_of(database)) {
    for (std::size_t i : problem.movable) {
      const bool given = i < database.positions.size() && database.positions[i].given();
      (given ? objects : elsewhere).push_back(i);
    }
    room_before.push_back(0);
    for (int pe : problem.available) room_before.push_back(room_before.back() + capacity.work[pe]);
  }
  const Position& at(std::size_t object) const { return problem.database.positions[object]; }

  double total_work() const {
    double total = 0;
    for (std::size_t i : objects) total += problem.work(i);
    return total;
  }

  // The part of the room of available PEs [low, high) that [low, middle) has.
  double share(std::size_t low, std::size_t middle, std::size_t high) const {
    const double room = room_before[high] - room_before[low];
    if (room <= 0) return static_cast<double>(middle - low) / static_cast<double>(high - low);
    return (room_before[middle] - room_before[low]) / room;
  }
  // Where objects [first, last) are to be cut so that the front has that share of their work: the place nearest to it.
  std::size_t cut(std::size_t first, std::size_t last, double share) const {
    double total = 0;
    for (std::size_t k = first; k < last; ++k) total += problem.work(objects[k]);
    const double wanted = share * total;
    double before = 0;
    for (std::size_t k = first; k < last; ++k) {
      const double work = problem.work(objects[k]);
      if (before + work / 2 > wanted) return k;
      before += work;
    }
    if (total > 0) return last;
    return first + static_cast<std::size_t>(share * static_cast<double>(last - first));
  }
  // Objects without a position go where there is room.
  Assignment finish() {
    if (!elsewhere.empty()) {
      LeastLoadedQueue least_loaded(problem);
      for (std::size_t i : elsewhere) problem.put(i, least_loaded.pe());
    }
    return std::move(problem.assignment);
  }

  Problem problem;
  Capacity capacity;
  std::vector<std::size_t> objects;    // those with a position
  std::vector<std::size_t> elsewhere;  // those without, largest first
  std::vector<double> room_before;     // of the available PEs before each
};

}  // namespace periapt::loadbalance
