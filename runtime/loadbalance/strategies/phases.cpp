// Phases: all PEs wait for each other after each phase, so a step takes what the fullest PE has in each of them, added
// up, and an even sum of all phases is worth little. Objects say what they have to do in each (setObjPhases()). They
// are placed once to see how even each phase can become, and then again, largest first: each stays where it is as long
// as its PE has room in all phases, or goes to another PE of its process, or else to where it makes phases the least
// longer. (Rungs of time steps one by one: P. Jetley and others, "Massively parallel cosmological simulations with
// ChaNGa", IPDPS 2008.)
#include <algorithm>

#include "runtime/loadbalance/strategies/phase_loads.h"
#include "runtime/loadbalance/strategies/sfc.h"

namespace periapt::loadbalance {

namespace {
class PhasePacking {
 public:
  explicit PhasePacking(const LoadDatabase& database)
      : problem_(database, Problem::Order::as_recorded), empty_(problem_), loads_(empty_) {
    for (std::size_t k = 0; k < loads_.phases(); ++k) {
      reach_.push_back(loads_.average(k));
      for (std::size_t pe = 0; pe < database.pes.size(); ++pe)
        reach_[k] = std::max(reach_[k], loads_.load(static_cast<int>(pe), k));
    }
    for (const std::size_t i : problem_.movable) {
      const std::size_t k = loads_.main_phase(i);
      order_.emplace_back(-loads_.of(i, k) / loads_.average(k), i);
    }
    std::ranges::sort(order_);
  }

  Assignment solve(double tolerance) {
    const LoadDatabase& d = problem_.database;
    place_all(false);
    const Assignment evenest = problem_.assignment;
    for (double& reach : reach_) reach *= tolerance;
    place_all(true);
    const double even = phases_makespan(d, evenest), reached = phases_makespan(d, problem_.assignment);
    const Assignment now = present(d);
    const bool may_stay =
        std::ranges::all_of(problem_.movable, [&](std::size_t i) { return problem_.is_available(problem_.from(i)); });
    if (may_stay && phases_makespan(d, now) <= tolerance * std::min(even, reached)) return now;
    return reached <= tolerance * even ? problem_.assignment : evenest;
  }

 private:
  void place_all(bool may_stay) {
    loads_ = empty_;
    for (const auto& [_, i] : order_) {
      const int own = problem_.from(i);
      if (may_stay && problem_.is_available(own) && excess(i, own) <= 0) {
        put(i, own);
        continue;
      }
      const auto near = near_.find(problem_.database.pes[static_cast<std::size_t>(own)].process);
      int to = may_stay && near != near_.end() ? best(i, near->second) : -1;
      if (to < 0 || excess(i, to) > 0) to = best(i, problem_.available);
      put(i, to);
    }
  }
  void put(std::size_t i, int pe) {
    problem_.assignment[i] = pe;
    loads_.put(i, pe);
    for (std::size_t k = 0; k < reach_.size(); ++k) reach_[k] = std::max(reach_[k], loads_.load(pe, k));
  }
  // By how much the phases become longer with it there.
  double excess(std::size_t i, int pe) const {
    double sum = 0;
    for (std::size_t k = 0; k < reach_.size(); ++k)
      sum += std::max(0.0, loads_.load(pe, k) + loads_.of(i, k) / loads_.speed(pe) - reach_[k]);
    return sum;
  }
  // How much there will be of what it brings most of.
  double crowd(std::size_t i, int pe) const {
    double sum = 0;
    for (std::size_t k = 0; k < reach_.size(); ++k) {
      const double then = loads_.load(pe, k) + loads_.of(i, k) / loads_.speed(pe);
      sum += loads_.of(i, k) * then / (loads_.average(k) * loads_.average(k));
    }
    return sum;
  }
  int best(std::size_t i, const std::vector<int>& pes) const {
    int best = -1;
    std::pair<double, double> least;
    for (const int pe : pes) {
      const std::pair<double, double> now{excess(i, pe), crowd(i, pe)};
      if (best < 0 || now < least) best = pe, least = now;
    }
    return best;
  }

  Problem problem_;
  const PhaseLoads empty_;  // of what cannot move
  PhaseLoads loads_;
  std::vector<double> reach_;  // by phase: what the fullest PE has, or may have
  std::vector<std::pair<double, std::size_t>> order_;
  const std::map<std::int32_t, std::vector<int>> near_ = problem_.available_by_process();
};

// Of the objects that go to process `part`. Those that come from another one are spread over its PEs to begin with.
void pack_within(const LoadDatabase& database, const std::vector<int>& pes, const std::vector<std::size_t>& objects,
                 double tolerance, Assignment& assignment) {
  LoadDatabase own;
  own.step = database.step;
  std::map<int, int> place;
  for (const int pe : pes) {
    place[pe] = static_cast<int>(own.pes.size());
    own.pes.push_back(database.pes[static_cast<std::size_t>(pe)]);
  }
  std::size_t arrivals = 0;
  for (const std::size_t i : objects) {
    own.objects.push_back(database.objects[i]);
    ObjectLoad& object = own.objects.back();
    const auto here = place.find(object.pe);
    const int to = here != place.end() ? here->second : static_cast<int>(arrivals++ % pes.size());
    object.seconds = seconds_on(database, object, pes[static_cast<std::size_t>(to)]);
    object.pe = to;
    if (!database.phases.empty()) own.phases.push_back(database.phases[i]);
  }
  const Assignment to = PhasePacking(own).solve(tolerance);
  for (std::size_t k = 0; k < objects.size(); ++k) assignment[objects[k]] = pes[static_cast<std::size_t>(to[k])];
}

// A process as one PE that is as fast as all of its available ones.
LoadDatabase of_processes(const LoadDatabase& database, const std::vector<std::vector<int>>& pes,
                          const std::vector<int>& process) {
  LoadDatabase all;
  all.step = database.step;
  all.positions = database.positions;
  all.phases = database.phases;
  for (const std::vector<int>& part : pes) {
    PeLoad sum;
    sum.speed = sum.background = 0;
    sum.available = false;
    for (const int pe : part) {
      const PeLoad& one = database.pes[static_cast<std::size_t>(pe)];
      if (!one.available) continue;
      sum.available = true;
      sum.speed += one.speed;
      sum.background += one.background * one.speed;
    }
    if (sum.speed > 0) sum.background /= sum.speed;
    if (!sum.available) sum.speed = 1;
    all.pes.push_back(sum);
  }
  for (const ObjectLoad& object : database.objects) {
    all.objects.push_back(object);
    ObjectLoad& whole = all.objects.back();
    whole.pe = process[static_cast<std::size_t>(object.pe)];
    whole.seconds *=
        database.pes[static_cast<std::size_t>(object.pe)].speed / all.pes[static_cast<std::size_t>(whole.pe)].speed;
  }
  return all;
}

Assignment solve(const LoadDatabase& database, const StrategyOptions& options) {
  const double tolerance = options["tolerance"];
  std::map<std::int32_t, std::vector<int>> by_process;
  for (std::size_t pe = 0; pe < database.pes.size(); ++pe)
    by_process[database.pes[pe].process].push_back(static_cast<int>(pe));
  if (by_process.size() < 2 || database.positions.empty()) return PhasePacking(database).solve(tolerance);
  std::vector<std::vector<int>> pes;
  std::vector<int> process(database.pes.size());
  for (const auto& [_, part] : by_process) {
    for (const int pe : part) process[static_cast<std::size_t>(pe)] = static_cast<int>(pes.size());
    pes.push_back(part);
  }
  const StrategyInfo curve = sfc();
  const Assignment to = curve.solve(of_processes(database, pes, process), StrategyOptions(curve.options));
  std::vector<std::vector<std::size_t>> objects(pes.size());
  for (std::size_t i = 0; i < to.size(); ++i) objects[static_cast<std::size_t>(to[i])].push_back(i);
  Assignment assignment = present(database);
  for (std::size_t part = 0; part < pes.size(); ++part)
    pack_within(database, pes[part], objects[part], tolerance, assignment);
  return assignment;
}
}  // namespace

StrategyInfo phases() {
  return {.name = "Phases",
          .classic = "PhasesLB",
          .summary = "makes each phase even, where objects say what they do in each (setObjPhases())",
          .solve = solve,
          .options = {{"tolerance", 1.03, 1, 100, "how full a PE may be in a phase, in times of what is within reach"}},
          .phases = true};
}

}  // namespace periapt::loadbalance
