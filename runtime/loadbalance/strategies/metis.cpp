// Metis: the graph of messages, cut by METIS into parts with the work that each PE has room for and little
// traffic between them. (G. Karypis, V. Kumar, "Multilevel k-way partitioning scheme for irregular graphs", JPDC 48,
// 1998.) The library is opened when it is first needed.
#include <cmath>
#include <numeric>

#include "base/loaded_library.h"
#include "runtime/loadbalance/partition.h"
#include "runtime/loadbalance/strategies/greedy.h"

namespace periapt::loadbalance {

namespace {
// As its manual has them, for a library with indices and reals of 32 bits.
using Partitioner = int(std::int32_t* vertices, std::int32_t* constraints, std::int32_t* begin, std::int32_t* to,
                        std::int32_t* weights, std::int32_t* sizes, std::int32_t* edge_weights, std::int32_t* parts,
                        float* shares, float* imbalance, std::int32_t* options, std::int32_t* cut, std::int32_t* part);
using SetDefaults = int(std::int32_t* options);
constexpr int option_seed = 8, option_count = 40, done = 1;

struct Metis {
  LoadedLibrary library{{"libmetis.so.5", "libmetis.so"}};
  Partitioner* k_way = library.find<Partitioner>("METIS_PartGraphKway");
  Partitioner* recursive = library.find<Partitioner>("METIS_PartGraphRecursive");
  SetDefaults* set_defaults = library.find<SetDefaults>("METIS_SetDefaultOptions");
  std::string missing = library.unusable();

  Metis() {
    if (missing.empty() && !has_32_bits()) missing = "libmetis is built for indices or reals of 64 bits";
  }
  static Metis& get() {
    static Metis metis;
    return metis;
  }
  // A line of ten, to be cut nine to one: whatever takes its numbers for others does not come to that.
  bool has_32_bits() const {
    std::int32_t options[4 * option_count] = {};
    set_defaults(options);
    if (options[0] != -1 || options[option_count] != 0) return false;
    std::int32_t vertices = 10, constraints = 1, parts = 2, cut = 0, begin[11], to[18], part[20];
    int edges = 0;
    for (int v = 0; v < 10; ++v) {
      begin[v] = edges;
      if (v > 0) to[edges++] = v - 1;
      if (v < 9) to[edges++] = v + 1;
    }
    begin[10] = edges;
    float shares[4] = {0.9F, 0.1F, 0, 0};
    if (recursive(&vertices, &constraints, begin, to, nullptr, nullptr, nullptr, &parts, shares, nullptr, options, &cut,
                  part) != done)
      return false;
    return std::count(part, part + 10, 0) == 9;
  }
};

// What METIS takes of a graph.
struct Cut {
  std::vector<std::int32_t> weight, begin, to, bytes;  // as in a PartitionGraph
  std::vector<float> shares;                           // of the work, by part
};

// The part of each vertex; false: METIS has failed.
bool cut_at_once(Cut& graph, double tolerance, std::vector<std::int32_t>& part) {
  const float sum = std::accumulate(graph.shares.begin(), graph.shares.end(), 0.0F);
  for (float& share : graph.shares) share /= sum;
  auto parts = static_cast<std::int32_t>(graph.shares.size());
  const bool even = std::all_of(graph.shares.begin(), graph.shares.end(),
                                [&](float s) { return std::abs(s * static_cast<float>(parts) - 1) < 1e-3F; });
  std::int32_t settings[4 * option_count] = {};
  Metis::get().set_defaults(settings);
  settings[option_seed] = 1;
  auto imbalance = static_cast<float>(tolerance);
  auto vertices = static_cast<std::int32_t>(graph.weight.size());
  std::int32_t constraints = 1, cut = 0;
  part.assign(graph.weight.size(), 0);
  if (parts < 2 || vertices < parts) {  // more parts than METIS can fill
    for (std::int32_t v = 0; v < vertices; ++v) part[static_cast<std::size_t>(v)] = v % parts;
    return true;
  }
  return Metis::get().k_way(&vertices, &constraints, graph.begin.data(), graph.to.data(), graph.weight.data(), nullptr,
                            graph.bytes.data(), &parts, even ? nullptr : graph.shares.data(), &imbalance, settings,
                            &cut, part.data()) == done;
}

// The vertices of one group, and the edges between them. `number`: room for a number of each vertex of the whole.
Cut part_of(const Cut& whole, const std::vector<std::int32_t>& vertices, const std::vector<std::int32_t>& group,
            std::vector<std::int32_t>& number) {
  Cut own;
  for (std::size_t i = 0; i < vertices.size(); ++i)
    number[static_cast<std::size_t>(vertices[i])] = static_cast<std::int32_t>(i);
  own.begin.push_back(0);
  for (const std::int32_t v : vertices) {
    own.weight.push_back(whole.weight[static_cast<std::size_t>(v)]);
    for (std::int32_t e = whole.begin[static_cast<std::size_t>(v)]; e < whole.begin[static_cast<std::size_t>(v) + 1];
         ++e) {
      const std::int32_t to = whole.to[static_cast<std::size_t>(e)];
      if (group[static_cast<std::size_t>(to)] != group[static_cast<std::size_t>(v)]) continue;
      own.to.push_back(number[static_cast<std::size_t>(to)]);
      own.bytes.push_back(whole.bytes[static_cast<std::size_t>(e)]);
    }
    own.begin.push_back(static_cast<std::int32_t>(own.to.size()));
  }
  return own;
}

// METIS takes more than linearly long in the number of parts, as it cannot shrink a graph that has few vertices for
// each: so many parts are made in two stages, groups of parts first.
bool cut_in_two_stages(Cut& graph, double tolerance, std::vector<std::int32_t>& part) {
  const std::size_t parts = graph.shares.size();
  const auto groups = static_cast<std::size_t>(std::sqrt(static_cast<double>(parts)));
  const std::vector<float> shares = graph.shares;
  const auto first = [&](std::size_t group) { return group * parts / groups; };
  graph.shares.clear();
  for (std::size_t g = 0; g < groups; ++g)
    graph.shares.push_back(std::accumulate(shares.begin() + static_cast<std::ptrdiff_t>(first(g)),
                                           shares.begin() + static_cast<std::ptrdiff_t>(first(g + 1)), 0.0F));
  std::vector<std::int32_t> group, below, number(graph.weight.size());
  if (!cut_at_once(graph, std::sqrt(tolerance), group)) return false;
  std::vector<std::vector<std::int32_t>> members(groups);
  for (std::size_t v = 0; v < group.size(); ++v)
    members[static_cast<std::size_t>(group[v])].push_back(static_cast<std::int32_t>(v));
  part.assign(group.size(), 0);
  for (std::size_t g = 0; g < groups; ++g) {
    Cut own = part_of(graph, members[g], group, number);
    own.shares.assign(shares.begin() + static_cast<std::ptrdiff_t>(first(g)),
                      shares.begin() + static_cast<std::ptrdiff_t>(first(g + 1)));
    if (!cut_at_once(own, std::sqrt(tolerance), below)) return false;
    for (std::size_t i = 0; i < members[g].size(); ++i)
      part[static_cast<std::size_t>(members[g][i])] = static_cast<std::int32_t>(first(g)) + below[i];
  }
  return true;
}

Assignment cut_by_metis(const LoadDatabase& database, const StrategyOptions& options) {
  Problem problem(database, Problem::Order::as_recorded);
  const auto parts = static_cast<std::int32_t>(problem.available.size());
  PartitionGraph graph(database, options["message_bytes"]);
  if (parts < 2 || graph.vertices() < 2 * parts || !Metis::get().missing.empty()) return place_greedily(database);
  const Capacity capacity = capacity_of(database);
  Cut cut{graph.weight, std::move(graph.begin), std::move(graph.to), std::move(graph.bytes), {}};
  double room = 0;
  for (int pe : problem.available) room += capacity.work[pe];
  // A part of nothing is more than METIS can do.
  for (int pe : problem.available)
    cut.shares.push_back(room > 0 ? static_cast<float>(std::max(capacity.work[pe] / room, 1e-3 / parts))
                                  : 1.0F / static_cast<float>(parts));
  std::vector<std::int32_t> part;
  const double tolerance = options["tolerance"];
  const bool is_cut = static_cast<double>(parts) < options["stages"] ? cut_at_once(cut, tolerance, part)
                                                                     : cut_in_two_stages(cut, tolerance, part);
  return is_cut ? place_parts(problem, capacity, graph, part) : place_greedily(database);
}
}  // namespace

StrategyInfo metis() {
  return {.name = "Metis",
          .classic = "MetisLB",
          .summary = "partitions the graph of messages with METIS, where libmetis is installed",
          .solve = cut_by_metis,
          .options = {{"tolerance", 1.03, 1.001, 2, "how far above the average METIS may fill a PE"},
                      {"message_bytes", 1000, 0, 1e9, "how many bytes a message counts as beside its own"},
                      {"stages", 4096, 2, 1e9, "from how many PEs on they are cut in two stages, which is faster"}},
          .communication = true,
          .missing = [] { return Metis::get().missing; }};
}

}  // namespace periapt::loadbalance
