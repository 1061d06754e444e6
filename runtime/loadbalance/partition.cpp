// See partition.h.
#include "runtime/loadbalance/partition.h"

#include <map>
#include <tuple>

namespace periapt::loadbalance {

namespace {
constexpr double sum_of_weights = 1e9;

// By object, the number of its vertex.
std::vector<std::int32_t> number_vertices(const LoadDatabase& database, std::vector<std::size_t>& objects) {
  std::vector<std::int32_t> vertex(database.objects.size(), -1);
  for (std::size_t i = 0; i < database.objects.size(); ++i) {
    if (!database.objects[i].migratable) continue;
    vertex[i] = static_cast<std::int32_t>(objects.size());
    objects.push_back(i);
  }
  return vertex;
}
}  // namespace

PartitionGraph::PartitionGraph(const LoadDatabase& database, const Partners& partners, double message_bytes) {
  const std::vector<std::int32_t> vertex = number_vertices(database, objects);
  double work = 0;
  auto work_of = [&](std::size_t i) {
    return database.objects[i].seconds * database.pes[database.objects[i].pe].speed;
  };
  for (std::size_t i : objects) work += work_of(i);
  for (std::size_t i : objects)
    weight.push_back(1 + static_cast<std::int32_t>(work > 0 ? work_of(i) / work * sum_of_weights : 0));

  auto exchanged = [&](const Partner& p) { return static_cast<double>(p.bytes) + message_bytes * p.messages; };
  double traffic = 0;
  for (std::size_t i : objects)
    for (const Partner& p : partners[i]) traffic += exchanged(p);
  begin.push_back(0);
  to.reserve(partners.size());
  bytes.reserve(partners.size());
  for (std::size_t i : objects) {
    for (const Partner& p : partners[i]) {
      if (vertex[p.object] < 0) continue;
      to.push_back(vertex[p.object]);
      bytes.push_back(1 + static_cast<std::int32_t>(traffic > 0 ? exchanged(p) / traffic * sum_of_weights : 0));
    }
    begin.push_back(static_cast<std::int32_t>(to.size()));
  }
}

Assignment place_parts(Problem& problem, const Capacity& capacity, const PartitionGraph& graph,
                       const std::vector<std::int32_t>& part) {
  const std::size_t parts = problem.available.size();
  std::vector<int> rank(problem.database.pes.size(), -1);  // of a PE among those available
  for (std::size_t k = 0; k < parts; ++k) rank[problem.available[k]] = static_cast<int>(k);
  std::map<std::pair<std::int32_t, int>, double> common;  // work of part and PE
  for (std::size_t v = 0; v < graph.objects.size(); ++v)
    if (const int k = rank[problem.from(graph.objects[v])]; k >= 0) common[{part[v], k}] += graph.weight[v];
  std::vector<std::tuple<double, std::int32_t, int>> pairs;
  for (const auto& [who, work] : common) pairs.emplace_back(-work, who.first, who.second);
  std::sort(pairs.begin(), pairs.end());

  auto room = [&](std::size_t k) { return capacity.work[problem.available[k]]; };
  std::vector<int> place(parts, -1);
  std::vector<char> taken(parts);
  for (const auto& [work, p, k] : pairs) {
    if (place[p] >= 0 || taken[k] || std::abs(room(p) - room(k)) > 0.01 * room(p)) continue;
    place[p] = k;
    taken[k] = true;
  }
  // The others among what is left, fullest to where there is most room.
  std::vector<std::size_t> parts_left, pes_left;
  for (std::size_t k = 0; k < parts; ++k) {
    if (place[k] < 0) parts_left.push_back(k);
    if (!taken[k]) pes_left.push_back(k);
  }
  auto larger = [&](std::size_t a, std::size_t b) { return room(a) > room(b); };
  std::stable_sort(parts_left.begin(), parts_left.end(), larger);
  std::stable_sort(pes_left.begin(), pes_left.end(), larger);
  for (std::size_t k = 0; k < parts_left.size(); ++k) place[parts_left[k]] = static_cast<int>(pes_left[k]);
  for (std::size_t v = 0; v < graph.objects.size(); ++v)
    problem.put(graph.objects[v], problem.available[place[part[v]]]);
  return std::move(problem.assignment);
}

}  // namespace periapt::loadbalance
