// What strategies start from: loads of the PEs with what cannot leave them, and the rest by weight.
#pragma once
#include <algorithm>
#include <queue>

#include "runtime/loadbalance/model.h"
#include "runtime/loadbalance/strategy.h"

namespace periapt::loadbalance {

struct Problem {
  enum class Order { largest_first, as_recorded };

  explicit Problem(const LoadDatabase& database, Order order = Order::largest_first)
      : database(database), assignment(present(database)) {
    for (std::size_t pe = 0; pe < database.pes.size(); ++pe) {
      loads.push_back(database.pes[pe].background);
      if (database.pes[pe].available) available.push_back(static_cast<int>(pe));
    }
    for (std::size_t i = 0; i < database.objects.size(); ++i) {
      const ObjectLoad& object = database.objects[i];
      if (object.migratable && !available.empty())
        movable.push_back(i);
      else
        loads[object.pe] += object.seconds;
    }
    if (order == Order::as_recorded) return;
    // Of equal work in the order of the database, so that the result is the same each time.
    std::stable_sort(movable.begin(), movable.end(), [&](std::size_t a, std::size_t b) { return work(a) > work(b); });
  }
  double work(std::size_t i) const {
    const ObjectLoad& object = database.objects[i];
    return object.seconds * database.pes[object.pe].speed;
  }
  double seconds(std::size_t i, int pe) const { return seconds_on(database, database.objects[i], pe); }
  int from(std::size_t i) const { return database.objects[i].pe; }
  void put(std::size_t i, int pe) {
    assignment[i] = pe;
    loads[pe] += seconds(i, pe);
  }
  double max_load() const { return loads.empty() ? 0 : *std::max_element(loads.begin(), loads.end()); }

  const LoadDatabase& database;
  Assignment assignment;
  std::vector<double> loads;  // by PE, of what has its place
  std::vector<int> available;
  std::vector<std::size_t> movable;  // without a place yet, largest work first unless another order was asked for
};

// The available PE with the least load.
class Emptiest {
 public:
  explicit Emptiest(const Problem& problem) : problem_(problem) {
    for (int pe : problem.available) heap_.push({problem.loads[pe], pe});
  }
  int pe() {
    // Entries of PEs that were filled behind our back are brought up to date when they come to the top.
    while (heap_.top().first != problem_.loads[heap_.top().second]) {
      const int pe = heap_.top().second;
      heap_.pop();
      heap_.push({problem_.loads[pe], pe});
    }
    return heap_.top().second;
  }

 private:
  using Entry = std::pair<double, int>;
  const Problem& problem_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> heap_;
};

}  // namespace periapt::loadbalance
