// Tree: neighbouring PEs form groups, and groups larger ones. At the top, groups are balanced as if they were PEs, with
// all the speed and the load of theirs; then each group likewise, down to PEs. At each level GreedyRefine decides, on
// what it takes for the whole machine. (G. Zheng, A. Bhatele, E. Meneses, L. V. Kale, "Periodic hierarchical load
// balancing for large supercomputers", IJHPCA 25, 2011.)
#include "runtime/loadbalance/strategies/tree.h"

#include <algorithm>
#include <cmath>

#include "runtime/loadbalance/model.h"
#include "runtime/loadbalance/strategies/greedy_refine.h"
#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

namespace {
class Tree {
 public:
  Tree(const LoadDatabase& database, const StrategyOptions& options)
      : database_(database), result_(present(database)), levels_(static_cast<int>(options["levels"])) {
    // Between groups a little less is allowed, as what is lost there cannot be won again.
    inside_.options["tolerance"] = options["tolerance"];
    between_.options["tolerance"] = 1 + (options["tolerance"] - 1) / 3;
  }

  Assignment solve() {
    std::vector<std::size_t> objects(database_.objects.size());
    for (std::size_t i = 0; i < objects.size(); ++i) objects[i] = i;
    const auto pes = static_cast<int>(database_.pes.size());
    const int levels = levels_ > 0 ? levels_ : pes < 64 ? 2 : pes < 8192 ? 3 : 4;
    if (pes > 0) balance(objects, 0, pes, levels);
    return gains() ? std::move(result_) : present(database_);
  }

 private:
  // Groups may be made even for nothing, where the fullest PE has one object. What has to leave a PE leaves it.
  bool gains() const {
    const bool all_may_stay =
        std::all_of(database_.objects.begin(), database_.objects.end(),
                    [&](const ObjectLoad& object) { return !object.migratable || database_.pes[object.pe].available; });
    return !all_may_stay || balance_of(database_, result_).max < balance_of(database_, present(database_)).max;
  }

  static constexpr int few = 8;  // PEs: nothing is gained by groups of them

  // Objects that are on PEs [low, high) now, by result_, or come there from elsewhere.
  void balance(const std::vector<std::size_t>& objects, int low, int high, int levels) {
    const int pes = high - low;
    const bool leaf = levels <= 2 || pes < few;
    const int groups = leaf ? pes : static_cast<int>(std::ceil(std::pow(pes, 1.0 / (levels - 1))));
    const int size = (pes + groups - 1) / groups;
    const LoadDatabase part = grouped(objects, low, high, size);
    const Assignment to = (leaf ? inside_ : between_).solve(part);
    if (leaf) {
      for (std::size_t k = 0; k < objects.size(); ++k) result_[objects[k]] = low + to[k];
      return;
    }
    std::vector<std::vector<std::size_t>> stay(part.pes.size()), come(part.pes.size());
    for (std::size_t k = 0; k < objects.size(); ++k)
      (to[k] == part.objects[k].pe ? stay : come)[to[k]].push_back(objects[k]);
    for (std::size_t g = 0; g < part.pes.size(); ++g) {
      const int first = low + static_cast<int>(g) * size, last = std::min(first + size, high);
      receive(stay[g], come[g], first, last);
      stay[g].insert(stay[g].end(), come[g].begin(), come[g].end());
      balance(stay[g], first, last, levels - 1);
      stay[g] = {};
    }
  }

  // PEs [low, high) as a machine whose PEs are groups of `size` of them.
  LoadDatabase grouped(const std::vector<std::size_t>& objects, int low, int high, int size) const {
    LoadDatabase part;
    part.step = database_.step;
    for (int first = low; first < high; first += size) {
      PeLoad group{.speed = 0, .available = false};
      double background = 0, all = 0;
      for (int pe = first; pe < std::min(first + size, high); ++pe) {
        const PeLoad& load = database_.pes[pe];
        all += load.speed;
        background += load.background * load.speed;
        if (load.available) group.speed += load.speed;
        group.available |= load.available;
      }
      if (!group.available) group.speed = all;
      group.background = background / group.speed;
      part.pes.push_back(group);
    }
    part.objects.reserve(objects.size());
    for (std::size_t i : objects) {
      ObjectLoad object = database_.objects[i];
      const double work = object.seconds * database_.pes[object.pe].speed;
      object.pe = (result_[i] - low) / size;
      object.seconds = work / part.pes[object.pe].speed;
      part.objects.push_back(object);
    }
    return part;
  }

  // Those that come are put where there is room, so that they don't drive away what is there.
  void receive(const std::vector<std::size_t>& stay, const std::vector<std::size_t>& come, int first, int last) {
    if (come.empty()) return;
    LoadDatabase group;
    group.pes.assign(database_.pes.begin() + first, database_.pes.begin() + last);
    auto seconds = [&](std::size_t i, int pe) {
      return database_.objects[i].seconds * database_.pes[database_.objects[i].pe].speed / database_.pes[pe].speed;
    };
    for (std::size_t i : stay) group.pes[result_[i] - first].background += seconds(i, result_[i]);
    Problem problem(group);
    LeastLoadedQueue least_loaded(problem);
    for (std::size_t i : come) {
      const int pe = least_loaded.pe();
      problem.loads[pe] += seconds(i, first + pe);
      result_[i] = first + pe;
    }
  }

  const LoadDatabase& database_;
  Assignment result_;
  const int levels_;
  StrategyInfo info_ = greedy_refine();
  Strategy inside_{info_}, between_{info_};
};
}  // namespace

StrategyInfo tree() {
  return {
      .name = "Tree",
      .classic = "TreeLB",
      .summary = "groups of PEs, then PEs within each: GreedyRefine on two to four levels",
      .solve = [](const LoadDatabase& database,
                  const StrategyOptions& options) { return Tree(database, options).solve(); },
      .options = {{"levels", 0, 0, 4, "2: PEs only, 3: groups of PEs, 4: groups of groups; 0: by the number of PEs"},
                  {"tolerance", 1.03, 1, 100, "how full a PE may be, in times of what Greedy reaches"}}};
}

}  // namespace periapt::loadbalance
