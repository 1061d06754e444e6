// What strategies start from: loads of the PEs with what cannot leave them, and the rest by weight.
#pragma once
#include <algorithm>
#include <map>
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
    movable.reserve(database.objects.size());
    for (std::size_t i = 0; i < database.objects.size(); ++i) {
      const ObjectLoad& object = database.objects[i];
      if (object.migratable && !available.empty())
        movable.push_back(i);
      else
        loads[object.pe] += object.seconds;
    }
    if (order == Order::largest_first) sort_by_work();
  }
  double work(std::size_t i) const {
    const ObjectLoad& object = database.objects[i];
    return object.seconds * database.pes[object.pe].speed;
  }
  double seconds(std::size_t i, int pe) const { return seconds_on(database, database.objects[i], pe); }
  int from(std::size_t i) const { return database.objects[i].pe; }
  bool is_available(int pe) const { return database.pes[pe].available; }
  void put(std::size_t i, int pe) {
    assignment[i] = pe;
    loads[pe] += seconds(i, pe);
  }
  // Of one that has its place.
  void move(std::size_t i, int pe) {
    loads[assignment[i]] -= seconds(i, assignment[i]);
    put(i, pe);
  }
  // Available PEs by process: what moves within one stays near what it works with.
  std::map<std::int32_t, std::vector<int>> available_by_process() const {
    std::map<std::int32_t, std::vector<int>> pes;
    for (int pe : available) pes[database.pes[pe].process].push_back(pe);
    return pes;
  }
  double max_load() const { return loads.empty() ? 0 : *std::max_element(loads.begin(), loads.end()); }
  // Of available PEs. In proportion to their speeds: what each would have if all could be spread at will.
  double average() const {
    double work = 0, speed = 0;
    for (int pe : available) {
      work += loads[pe] * database.pes[pe].speed;
      speed += database.pes[pe].speed;
    }
    return speed > 0 ? work / speed : 0;
  }

  const LoadDatabase& database;
  Assignment assignment;
  std::vector<double> loads;  // by PE, of what has its place
  std::vector<int> available;
  std::vector<std::size_t> movable;  // without a place yet, largest work first unless another order was asked for

 private:
  // Of equal work in the order of the database, so that the result is the same each time.
  void sort_by_work() {
    std::vector<std::pair<double, std::size_t>> keys;
    keys.reserve(movable.size());
    for (std::size_t i : movable) keys.emplace_back(-work(i), i);
    std::sort(keys.begin(), keys.end());
    for (std::size_t k = 0; k < keys.size(); ++k) movable[k] = keys[k].second;
  }
};

// Available PEs, all or some, the one with the least load first.
class LeastLoadedQueue {
 public:
  explicit LeastLoadedQueue(const Problem& problem) : LeastLoadedQueue(problem, problem.available) {}
  LeastLoadedQueue(const Problem& problem, const std::vector<int>& pes) : problem_(problem) {
    std::vector<Entry> all;
    for (int pe : pes) all.push_back({problem.loads[pe], pe});
    heap_ = Heap(std::greater<Entry>(), std::move(all));
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
  // A PE whose load may have fallen has to be named.
  void lowered(int pe) { heap_.push({problem_.loads[pe], pe}); }

 private:
  using Entry = std::pair<double, int>;
  using Heap = std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>>;
  const Problem& problem_;
  Heap heap_;
};

// All where they are, or where another strategy has put them, largest first on each PE; what is on PEs that are not
// available goes to the emptiest. From here strategies that improve what there is go on.
struct Standing {
  explicit Standing(const LoadDatabase& database) : Standing(database, present(database)) {}
  Standing(const LoadDatabase& database, const Assignment& start) : problem(database), on(database.pes.size()) {
    std::vector<std::size_t> homeless;
    for (std::size_t i : problem.movable) {
      if (!problem.is_available(start[i])) {
        homeless.push_back(i);
        continue;
      }
      problem.put(i, start[i]);
      on[start[i]].push_back(i);
    }
    if (homeless.empty()) return;
    LeastLoadedQueue least_loaded(problem);
    for (std::size_t i : homeless) {
      const int pe = least_loaded.pe();
      problem.put(i, pe);
      insert(i, pe);
    }
  }
  void move(std::size_t i, int to) {
    auto& here = on[problem.assignment[i]];
    here.erase(std::find(here.begin(), here.end(), i));
    problem.move(i, to);
    insert(i, to);
  }

  // After many moves that problem.move() made: a list of each PE in one go.
  void list_again() {
    for (auto& list : on) list.clear();
    for (std::size_t i : problem.movable) on[problem.assignment[i]].push_back(i);
  }

  Problem problem;
  std::vector<std::vector<std::size_t>> on;  // by PE: objects that may move, largest first

 private:
  void insert(std::size_t i, int pe) {
    auto larger = [&](std::size_t a, std::size_t b) { return problem.work(a) > problem.work(b); };
    on[pe].insert(std::upper_bound(on[pe].begin(), on[pe].end(), i, larger), i);
  }
};

// splitmix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014), from
// the step's number: a run can be repeated.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed) {}
  std::uint64_t number() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t bound) { return number() % bound; }
  double fraction() { return static_cast<double>(number() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace periapt::loadbalance
