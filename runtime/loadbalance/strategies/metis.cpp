// Metis: the graph of messages, cut by METIS into parts with the work that each PE has room for and little
// traffic between them. (G. Karypis, V. Kumar, "Multilevel k-way partitioning scheme for irregular graphs", JPDC 48,
// 1998.) The library is opened when it is first needed.
#include <cmath>
#include <numeric>

#include "base/loaded_library.h"
#include "runtime/loadbalance/partition.h"
#include "runtime/loadbalance/strategies/greedy.h"
#include "runtime/loadbalance/strategies/refine_comm.h"

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

// Objects of more work than a PE's share count as one share: where they counted in full, METIS would have parts to make
// of no object at all, and say so on the program's output.
void cap(std::vector<std::int32_t>& weights, std::int32_t parts) {
  std::vector<std::int32_t> sorted = weights;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  auto rest = std::accumulate(sorted.begin(), sorted.end(), std::int64_t{0});
  for (const std::int32_t weight : sorted) {
    if (std::int64_t{weight} * parts <= rest) break;
    rest -= weight;  // it has a PE for itself
    --parts;
  }
  for (std::int32_t& weight : weights) weight = std::min(weight, static_cast<std::int32_t>(rest / parts));
}

// The part of each vertex; empty: METIS has failed.
std::vector<std::int32_t> cut(PartitionGraph& graph, std::vector<float> shares, const StrategyOptions& options) {
  auto parts = static_cast<std::int32_t>(shares.size()), vertices = graph.vertices();
  const bool even = std::all_of(shares.begin(), shares.end(), [&](float s) { return std::abs(s * parts - 1) < 1e-3F; });
  std::int32_t settings[4 * option_count] = {};
  Metis::get().set_defaults(settings);
  settings[option_seed] = 1;
  auto imbalance = static_cast<float>(options["tolerance"]);
  std::int32_t constraints = 1, crossing = 0;
  std::vector<std::int32_t> part(graph.weight.size()), capped = graph.weight;
  cap(capped, parts);
  Partitioner* const partition = parts < options["halves"] ? Metis::get().k_way : Metis::get().recursive;
  if (partition(&vertices, &constraints, graph.begin.data(), graph.to.data(), capped.data(), nullptr,
                graph.bytes.data(), &parts, even ? nullptr : shares.data(), &imbalance, settings, &crossing,
                part.data()) != done)
    part.clear();
  return part;
}

Assignment cut_by_metis(const LoadDatabase& database, const StrategyOptions& options) {
  Problem problem(database, Problem::Order::as_recorded);
  const std::size_t parts = problem.available.size();
  const Partners partners(database);
  PartitionGraph graph(database, partners, options["message_bytes"]);
  if (parts < 2 || graph.objects.size() < 2 * parts || !Metis::get().missing.empty()) return place_greedily(database);
  const Capacity capacity = capacity_of(database);
  // A part of nothing is more than METIS can do.
  const double room = std::accumulate(capacity.work.begin(), capacity.work.end(), 0.0);
  const double least = 1e-3 / static_cast<double>(parts);
  std::vector<double> wanted;
  for (int pe : problem.available) wanted.push_back(room > 0 ? std::max(capacity.work[pe] / room, least) : 1);
  const double sum = std::accumulate(wanted.begin(), wanted.end(), 0.0);
  std::vector<float> shares;
  for (const double w : wanted) shares.push_back(static_cast<float>(w / sum));
  const std::vector<std::int32_t> part = cut(graph, std::move(shares), options);
  if (part.empty()) return place_greedily(database);
  // METIS fills PEs further than it may where they have few objects each.
  return refine_by_messages(database, place_parts(problem, capacity, graph, part), partners, options["tolerance"],
                            options["message_bytes"]);
}
}  // namespace

StrategyInfo metis() {
  return {
      .name = "Metis",
      .classic = "MetisLB",
      .summary = "partitions the graph of messages with METIS, where libmetis is installed",
      .solve = cut_by_metis,
      .options = {{"tolerance", 1.03, 1.001, 2, "how far above the average METIS may fill a PE"},
                  {"message_bytes", 1000, 0, 1e9, "how many bytes a message counts as beside its own"},
                  {"halves", 1000, 2, 1e9, "from how many PEs on it cuts in halves again and again, which is faster"}},
      .communication = true,
      .missing = [] { return Metis::get().missing; }};
}

}  // namespace periapt::loadbalance
