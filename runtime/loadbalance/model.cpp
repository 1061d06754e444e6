// See model.h.
#include "runtime/loadbalance/model.h"

#include <algorithm>
#include <cmath>

namespace periapt::loadbalance {

Crossing crossing_of(const LoadDatabase& database, const Assignment& assignment) {
  Crossing crossing;
  for_each_crossing(database, assignment, [&](const Communication& c, int, int) {
    crossing.messages += c.messages;
    crossing.bytes += c.bytes;
  });
  return crossing;
}

double phases_makespan(const LoadDatabase& database, const Assignment& assignment) {
  double makespan = 0;
  for (int phase = 0; phase < PhaseParts::most; ++phase) {
    std::vector<double> loads(database.pes.size());
    for (std::size_t i = 0; i < database.objects.size(); ++i) {
      const int from = database.objects[i].pe, to = assignment[i];
      loads[to] += database.seconds_in(phase, i) * database.pes[from].speed / database.pes[to].speed;
    }
    if (!loads.empty()) makespan += *std::max_element(loads.begin(), loads.end());
  }
  return makespan;
}

std::vector<double> pe_loads(const LoadDatabase& database, const Assignment& assignment) {
  std::vector<double> loads;
  for (const PeLoad& pe : database.pes) loads.push_back(pe.background);
  for (std::size_t i = 0; i < assignment.size(); ++i)
    loads[assignment[i]] += seconds_on(database, database.objects[i], assignment[i]);
  return loads;
}

Balance balance_of(const LoadDatabase& database, const Assignment& assignment) {
  Balance result;
  const std::vector<double> loads = pe_loads(database, assignment);
  int available = 0;
  for (std::size_t pe = 0; pe < loads.size(); ++pe) {
    result.max = std::max(result.max, loads[pe]);
    result.average += loads[pe];
    available += database.pes[pe].available;
  }
  result.average /= std::max(available, 1);
  for (std::size_t i = 0; i < assignment.size(); ++i) result.migrations += assignment[i] != database.objects[i].pe;
  return result;
}

Assignment present(const LoadDatabase& database) {
  Assignment where;
  where.reserve(database.objects.size());
  for (const ObjectLoad& object : database.objects) where.push_back(object.pe);
  return where;
}

double lower_bound(const LoadDatabase& database) {
  double work = 0, speed = 0, fastest = 0, bound = 0;
  std::vector<double> fixed;
  for (const PeLoad& pe : database.pes) {
    fixed.push_back(pe.background);
    if (!pe.available) continue;
    speed += pe.speed;
    work += pe.background * pe.speed;
    fastest = std::max(fastest, pe.speed);
  }
  for (const ObjectLoad& object : database.objects) {
    const PeLoad& pe = database.pes[object.pe];
    if (!object.migratable) fixed[object.pe] += object.seconds;
    if (!object.migratable && !pe.available) continue;
    work += object.seconds * pe.speed;
    if (object.migratable && fastest > 0) bound = std::max(bound, object.seconds * pe.speed / fastest);
  }
  for (double load : fixed) bound = std::max(bound, load);
  return speed > 0 ? std::max(bound, work / speed) : bound;
}

Capacity capacity_of(const LoadDatabase& database) {
  std::vector<double> base;
  for (const PeLoad& pe : database.pes) base.push_back(pe.background);
  double work = 0;
  for (const ObjectLoad& object : database.objects) {
    if (object.migratable)
      work += object.seconds * database.pes[object.pe].speed;
    else
      base[object.pe] += object.seconds;
  }
  // The emptiest PEs take the work, as water finds its level.
  std::vector<std::size_t> order;
  for (std::size_t pe = 0; pe < base.size(); ++pe)
    if (database.pes[pe].available) order.push_back(pe);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return base[a] < base[b]; });
  Capacity capacity{0, std::vector<double>(base.size())};
  double speed = 0, filled = 0;  // of the PEs below the level; speed * base of them
  for (std::size_t k = 0; k < order.size(); ++k) {
    speed += database.pes[order[k]].speed;
    filled += database.pes[order[k]].speed * base[order[k]];
    capacity.level = (work + filled) / speed;
    if (k + 1 < order.size() && capacity.level <= base[order[k + 1]]) break;
  }
  for (std::size_t pe : order) capacity.work[pe] = std::max(0.0, capacity.level - base[pe]) * database.pes[pe].speed;
  return capacity;
}

namespace {
// Within these bounds the sums of any strategy are numbers.
bool is_amount(double value) { return value >= 0 && value <= 1e12; }
}  // namespace

std::string check_part(const LoadDatabase& part, int first, int pes) {
  for (std::size_t i = 0; i < part.pes.size(); ++i) {
    const PeLoad& pe = part.pes[i];
    const auto number = [&] { return std::to_string(static_cast<std::size_t>(first) + i); };
    if (!is_amount(pe.background))
      return "the background of PE " + number() + " is " + std::to_string(pe.background) + " s";
    if (!(pe.speed >= 1e-12 && pe.speed <= 1e12))
      return "the speed of PE " + number() + " is " + std::to_string(pe.speed);
  }
  for (std::size_t i = 0; i < part.objects.size(); ++i) {
    const ObjectLoad& object = part.objects[i];
    const auto name = [&] {
      return "element " + std::to_string(object.element) + " of array " + std::to_string(object.array);
    };
    if (object.pe < 0 || object.pe >= pes)
      return name() + " is on PE " + std::to_string(object.pe) + " of " + std::to_string(pes);
    if (!is_amount(object.seconds)) return "the load of " + name() + " is " + std::to_string(object.seconds) + " s";
    if (i >= part.phases.size()) continue;
    for (const float of_phase : part.phases[i].part)
      if (!is_amount(of_phase))
        return "the load of " + name() + " in a phase is " + std::to_string(of_phase * object.seconds) + " s";
  }
  if (!part.phases.empty() && part.phases.size() != part.objects.size())
    return "phases of " + std::to_string(part.phases.size()) + " objects of " + std::to_string(part.objects.size());
  if (!part.positions.empty() && part.positions.size() != part.objects.size())
    return std::to_string(part.positions.size()) + " positions for " + std::to_string(part.objects.size()) + " objects";
  return "";
}
std::string check_database(const LoadDatabase& database) {
  return check_part(database, 0, static_cast<int>(database.pes.size()));
}

std::string check_assignment(const LoadDatabase& database, const Assignment& assignment) {
  if (assignment.size() != database.objects.size())
    return std::to_string(assignment.size()) + " places for " + std::to_string(database.objects.size()) + " objects";
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    const ObjectLoad& object = database.objects[i];
    const auto name = [i] { return "object " + std::to_string(i); };  // there are many, and mostly none is named
    const int to = assignment[i];
    if (to < 0 || static_cast<std::size_t>(to) >= database.pes.size())
      return name() + " is put on PE " + std::to_string(to) + " of " + std::to_string(database.pes.size());
    if (to != object.pe && !object.migratable) return name() + " cannot migrate, and is put on another PE";
    if (to != object.pe && !database.pes[to].available)
      return name() + " is put on PE " + std::to_string(to) + ", which is not available";
  }
  return "";
}

}  // namespace periapt::loadbalance
