// Metis: the graph of messages, cut by METIS into parts with the work that each PE has room for and little
// traffic between them. (G. Karypis, V. Kumar, "Multilevel k-way partitioning scheme for irregular graphs", JPDC 48,
// 1998.) The library is opened when it is first needed.
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

Assignment cut_by_metis(const LoadDatabase& database, const StrategyOptions& options) {
  Problem problem(database, Problem::Order::as_recorded);
  auto parts = static_cast<std::int32_t>(problem.available.size());
  PartitionGraph graph(database, options["message_bytes"]);
  if (parts < 2 || graph.vertices() < 2 * parts || !Metis::get().missing.empty()) return place_greedily(database);
  const Capacity capacity = capacity_of(database);
  std::vector<float> shares;
  double room = 0;
  for (int pe : problem.available) room += capacity.work[pe];
  // A part of nothing is more than METIS can do.
  for (int pe : problem.available)
    shares.push_back(room > 0 ? static_cast<float>(std::max(capacity.work[pe] / room, 1e-3 / parts)) : 1.0F / parts);
  const float sum = std::accumulate(shares.begin(), shares.end(), 0.0F);
  for (float& share : shares) share /= sum;
  const bool even = std::all_of(shares.begin(), shares.end(), [&](float s) { return std::abs(s * parts - 1) < 1e-3F; });

  std::int32_t settings[4 * option_count] = {};
  Metis::get().set_defaults(settings);
  settings[option_seed] = 1;
  auto imbalance = static_cast<float>(options["tolerance"]);
  std::int32_t vertices = graph.vertices(), constraints = 1, cut = 0;
  std::vector<std::int32_t> part(graph.objects.size());
  const int result = Metis::get().k_way(&vertices, &constraints, graph.begin.data(), graph.to.data(),
                                        graph.weight.data(), nullptr, graph.bytes.data(), &parts,
                                        even ? nullptr : shares.data(), &imbalance, settings, &cut, part.data());
  return result == done ? place_parts(problem, capacity, graph, part) : place_greedily(database);
}
}  // namespace

StrategyInfo metis() {
  return {.name = "Metis",
          .classic = "MetisLB",
          .summary = "partitions the graph of messages with METIS, where libmetis is installed",
          .solve = cut_by_metis,
          .options = {{"tolerance", 1.03, 1.001, 2, "how far above the average METIS may fill a PE"},
                      {"message_bytes", 1000, 0, 1e9, "how many bytes a message counts as beside its own"}},
          .communication = true,
          .missing = [] { return Metis::get().missing; }};
}

}  // namespace periapt::loadbalance
