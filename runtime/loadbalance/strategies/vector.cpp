// Vector: an object weighs in three ways, by its seconds, the seconds of GPUs for it and its bytes of memory, and a PE
// is as full as it is in the fullest of them. The object that weighs most comes first and stays where it is if its PE
// has room, else goes to that PE of those with the least of each and the least full ones which is least full with it;
// its bytes must fit there, or it goes to the one with the least memory in use. (List scheduling of vectors: C.
// Chekuri, S. Khanna, "On multidimensional packing problems", SIAM J. Comput. 33 (2004).)
#include <set>

#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

namespace {
// Seconds, seconds of GPUs, bytes.
struct Weight {
  double seconds = 0, gpu = 0, bytes = 0;
};

class Packing {
 public:
  Packing(const LoadDatabase& database, const StrategyOptions& options)
      : problem_(database, Problem::Order::as_recorded),
        gpu_(database.pes.size()),
        bytes_(database.pes.size()),
        tolerance_(options["tolerance"]) {
    double work = 0, speed = 0;
    Weight all;
    for (int pe : problem_.available) {
      work += problem_.loads[pe] * database.pes[pe].speed;
      speed += database.pes[pe].speed;
      all.gpu += gpu_[pe] = database.pes[pe].background_gpu;
    }
    for (const ObjectLoad& object : database.objects) {
      all.bytes += static_cast<double>(object.bytes);
      all.gpu += object.gpu;
    }
    for (std::size_t i : problem_.movable) work += problem_.work(i);
    const double pes = std::max<double>(1, static_cast<double>(problem_.available.size()));
    full_.seconds = speed > 0 && work > 0 ? work / speed : 1;
    full_.gpu = all.gpu > 0 ? all.gpu / pes : 1;
    full_.bytes = options["memory"] > 0 ? options["memory"] : std::max(all.bytes / pes, 1.0);
    limit_ = options["memory"] > 0 ? full_.bytes : full_.bytes * tolerance_;
  }

  Assignment solve() {
    const LoadDatabase& database = problem_.database;
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i : problem_.movable) order.emplace_back(-fullness({problem_.work(i), gpu(i), bytes(i)}), i);
    std::sort(order.begin(), order.end());
    for (const ObjectLoad& object : database.objects) {
      if (object.migratable) continue;
      bytes_[object.pe] += static_cast<double>(object.bytes);
      gpu_[object.pe] += object.gpu;
    }
    for (int pe : problem_.available) enqueue(pe);
    for (const auto& [_, i] : order) put(i, place_for(i));
    return problem_.assignment;
  }

 private:
  double bytes(std::size_t i) const { return static_cast<double>(problem_.database.objects[i].bytes); }
  double gpu(std::size_t i) const { return problem_.database.objects[i].gpu; }
  double fullness(const Weight& weight) const {
    return std::max({weight.seconds / full_.seconds, weight.gpu / full_.gpu, weight.bytes / full_.bytes});
  }
  Weight on(int pe) const { return {problem_.loads[pe], gpu_[pe], bytes_[pe]}; }
  Weight with(std::size_t i, int pe) const {
    return {problem_.loads[pe] + problem_.seconds(i, pe), gpu_[pe] + gpu(i), bytes_[pe] + bytes(i)};
  }
  bool fits(std::size_t i, int pe) const { return bytes_[pe] + bytes(i) <= limit_; }

  int place_for(std::size_t i) const {
    const int own = problem_.from(i);
    if (problem_.is_available(own) && fits(i, own)) {
      const Weight stays = with(i, own);
      if (stays.seconds <= tolerance_ * full_.seconds && stays.gpu <= tolerance_ * full_.gpu) return own;
    }
    int best = -1;
    double least = 0;
    for (const Queue* const queue : {&by_fullness_, &by_seconds_, &by_gpu_, &by_bytes_}) {
      int looks = 4;
      for (auto at = queue->begin(); at != queue->end() && looks-- > 0; ++at) {
        const int pe = at->second;
        const double full = fullness(with(i, pe));
        if (!fits(i, pe) || (best >= 0 && full >= least)) continue;
        best = pe;
        least = full;
      }
    }
    return best >= 0 ? best : by_bytes_.begin()->second;
  }

  using Queue = std::set<std::pair<double, int>>;
  void enqueue(int pe) {
    by_fullness_.emplace(fullness(on(pe)), pe);
    by_seconds_.emplace(problem_.loads[pe], pe);
    by_gpu_.emplace(gpu_[pe], pe);
    by_bytes_.emplace(bytes_[pe], pe);
  }
  void put(std::size_t i, int pe) {
    by_fullness_.erase({fullness(on(pe)), pe});
    by_seconds_.erase({problem_.loads[pe], pe});
    by_gpu_.erase({gpu_[pe], pe});
    by_bytes_.erase({bytes_[pe], pe});
    problem_.put(i, pe);
    gpu_[pe] += gpu(i);
    bytes_[pe] += bytes(i);
    enqueue(pe);
  }

  Problem problem_;
  std::vector<double> gpu_, bytes_;  // by PE, of what has its place
  const double tolerance_;
  Weight full_;
  double limit_;
  Queue by_fullness_, by_seconds_, by_gpu_, by_bytes_;  // the available PEs
};
}  // namespace

StrategyInfo vector() {
  return {
      .name = "Vector",
      .classic = "VectorLB",
      .summary = "balances seconds, those of GPUs and memory together, or keeps memory below a limit",
      .solve = [](const LoadDatabase& database,
                  const StrategyOptions& options) { return Packing(database, options).solve(); },
      .options = {{"tolerance", 1.05, 1, 100, "how full a PE may be before objects leave it, in times of the average"},
                  {"memory", 0, 0, 1e18, "how many bytes of objects fit on a PE; 0: as much as on any other"}},
      .sizes = true};
}

}  // namespace periapt::loadbalance
