// See model.h.
#include "runtime/loadbalance/model.h"

#include <algorithm>
#include <unordered_map>

namespace periapt::loadbalance {

namespace {
// visit(object that sends, object that receives, of which communication)
template <class Visit>
void for_each_pair(const LoadDatabase& database, Visit visit) {
  if (database.communication.empty()) return;
  std::unordered_map<ElementName, std::size_t> objects;
  for (std::size_t i = 0; i < database.objects.size(); ++i)
    objects[{database.objects[i].array, database.objects[i].element}] = i;
  for (const Communication& c : database.communication) {
    const auto from = objects.find(c.from), to = objects.find(c.to);
    if (from != objects.end() && to != objects.end() && from != to) visit(from->second, to->second, c);
  }
}
}  // namespace

std::vector<std::vector<Partner>> partners_of(const LoadDatabase& database) {
  std::vector<std::vector<Partner>> all(database.objects.size());
  for_each_pair(database, [&](std::size_t from, std::size_t to, const Communication& c) {
    all[from].push_back({to, c.messages, c.bytes});
    all[to].push_back({from, c.messages, c.bytes});
  });
  // One entry for each partner.
  for (std::vector<Partner>& partners : all) {
    std::sort(partners.begin(), partners.end(), [](const Partner& a, const Partner& b) { return a.object < b.object; });
    std::size_t kept = 0;
    for (const Partner& partner : partners) {
      if (kept > 0 && partners[kept - 1].object == partner.object) {
        partners[kept - 1].messages += partner.messages;
        partners[kept - 1].bytes += partner.bytes;
      } else {
        partners[kept++] = partner;
      }
    }
    partners.resize(kept);
  }
  return all;
}

Crossing crossing_of(const LoadDatabase& database, const Assignment& assignment) {
  Crossing crossing;
  for_each_pair(database, [&](std::size_t from, std::size_t to, const Communication& c) {
    if (assignment[from] == assignment[to]) return;
    crossing.messages += c.messages;
    crossing.bytes += c.bytes;
  });
  return crossing;
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

std::string check_assignment(const LoadDatabase& database, const Assignment& assignment) {
  if (assignment.size() != database.objects.size())
    return std::to_string(assignment.size()) + " places for " + std::to_string(database.objects.size()) + " objects";
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    const ObjectLoad& object = database.objects[i];
    const std::string name = "object " + std::to_string(i);
    const int to = assignment[i];
    if (to < 0 || static_cast<std::size_t>(to) >= database.pes.size())
      return name + " is put on PE " + std::to_string(to) + " of " + std::to_string(database.pes.size());
    if (to != object.pe && !object.migratable) return name + " cannot migrate, and is put on another PE";
    if (to != object.pe && !database.pes[to].available)
      return name + " is put on PE " + std::to_string(to) + ", which is not available";
  }
  return "";
}

}  // namespace periapt::loadbalance
