// Scotch: like Metis, with the library SCOTCH. (F. Pellegrini, J. Roman, "SCOTCH: a software package for static mapping
// by dual recursive bipartitioning of process and architecture graphs", HPCN 1996.) The library is opened when it is
// first needed.
#include <cstdlib>
#include <optional>

#include "base/loaded_library.h"
#include "runtime/loadbalance/partition.h"
#include "runtime/loadbalance/strategies/greedy.h"

namespace periapt::loadbalance {

namespace {
using Number = std::int32_t;  // of a library with indices of 32 bits
struct Context;
struct Graph;
struct Arch;
struct Strat;

struct Scotch {
  LoadedLibrary errors{{"libscotcherr-7.0.so", "libscotcherr.so.7.0", "libscotcherr-6.1.so", "libscotcherr.so"},
                       LoadedLibrary::Names::shared};  // libscotch finds its names in it
  LoadedLibrary library{{"libscotch-7.0.so", "libscotch.so.7.0", "libscotch-6.1.so", "libscotch.so"}};
  int (*size_of_number)() = library.find<int()>("SCOTCH_numSizeof");
  void (*random_reset)() = library.find<void()>("SCOTCH_randomReset");
  Graph* (*graph_alloc)() = library.find<Graph*()>("SCOTCH_graphAlloc");
  int (*graph_init)(Graph*) = library.find<int(Graph*)>("SCOTCH_graphInit");
  void (*graph_exit)(Graph*) = library.find<void(Graph*)>("SCOTCH_graphExit");
  using Build = int(Graph*, Number base, Number vertices, const Number* begin, const Number* end, const Number* weights,
                    const Number* labels, Number edges, const Number* to, const Number* edge_weights);
  Build* graph_build = library.find<Build>("SCOTCH_graphBuild");
  Arch* (*arch_alloc)() = library.find<Arch*()>("SCOTCH_archAlloc");
  int (*arch_init)(Arch*) = library.find<int(Arch*)>("SCOTCH_archInit");
  void (*arch_exit)(Arch*) = library.find<void(Arch*)>("SCOTCH_archExit");
  int (*arch_weighted)(Arch*, Number,
                       const Number*) = library.find<int(Arch*, Number, const Number*)>("SCOTCH_archCmpltw");
  Strat* (*strat_alloc)() = library.find<Strat*()>("SCOTCH_stratAlloc");
  int (*strat_init)(Strat*) = library.find<int(Strat*)>("SCOTCH_stratInit");
  void (*strat_exit)(Strat*) = library.find<void(Strat*)>("SCOTCH_stratExit");
  int (*strat_build)(Strat*, Number flags, Number parts,
                     double imbalance) = library.find<int(Strat*, Number, Number, double)>("SCOTCH_stratGraphMapBuild");
  int (*graph_map)(Graph*, const Arch*, Strat*,
                   Number*) = library.find<int(Graph*, const Arch*, Strat*, Number*)>("SCOTCH_graphMap");
  std::string missing = library.unusable();
  // From version 7 on: its threads, whose number and order would change what it answers.
  Context* (*context_alloc)() = library.find_if_there<Context*()>("SCOTCH_contextAlloc");
  int (*context_init)(Context*) = library.find_if_there<int(Context*)>("SCOTCH_contextInit");
  void (*context_exit)(Context*) = library.find_if_there<void(Context*)>("SCOTCH_contextExit");
  int (*context_spawn)(Context*, int,
                       const int*) = library.find_if_there<int(Context*, int, const int*)>("SCOTCH_contextThreadSpawn");
  int (*context_bind)(Context*, const Graph*,
                      Graph*) = library.find_if_there<int(Context*, const Graph*, Graph*)>("SCOTCH_contextBindGraph");

  Scotch() {
    if (missing.empty() && size_of_number() != sizeof(Number)) missing = "libscotch is built for indices of 64 bits";
  }
  static Scotch& get() {
    static Scotch scotch;
    return scotch;
  }
};

// A thing of the library's, made by alloc and init, ended by exit.
template <class T>
struct Held {
  Held(T* (*alloc)(), int (*init)(T*), void (*exit)(T*)) : thing(alloc()), end(exit) { init(thing); }
  ~Held() {
    end(thing);
    std::free(thing);
  }
  Held(const Held&) = delete;
  T* thing;
  void (*end)(T*);
};

// Graphs that are worked on by this thread alone, so that equal questions get equal answers.
class OneThread {
 public:
  explicit OneThread(Scotch& scotch) : scotch_(scotch) {
    if (!scotch.context_bind) return;
    context_.emplace(scotch.context_alloc, scotch.context_init, scotch.context_exit);
    graph_.emplace(scotch.graph_alloc, scotch.graph_init, scotch.graph_exit);
    scotch.context_spawn(context_->thing, 1, nullptr);
  }
  Graph* use(Graph* graph) const {
    if (!graph_) return graph;
    return scotch_.context_bind(context_->thing, graph, graph_->thing) == 0 ? graph_->thing : graph;
  }

 private:
  Scotch& scotch_;
  std::optional<Held<Context>> context_;
  std::optional<Held<Graph>> graph_;  // another one in that context
};

Assignment cut_by_scotch(const LoadDatabase& database, const StrategyOptions& options) {
  Problem problem(database, Problem::Order::as_recorded);
  const auto parts = static_cast<Number>(problem.available.size());
  const PartitionGraph graph(database, Partners(database), options["message_bytes"]);
  Scotch& scotch = Scotch::get();
  if (parts < 2 || graph.vertices() < 2 * parts || !scotch.missing.empty()) return place_greedily(database);
  const Capacity capacity = capacity_of(database);
  double room = 0;
  for (int pe : problem.available) room += capacity.work[pe];
  std::vector<Number> shares;
  for (int pe : problem.available)
    shares.push_back(room > 0 ? 1 + static_cast<Number>(1e4 * parts * (capacity.work[pe] / room)) : 1);

  scotch.random_reset();
  const OneThread one_thread(scotch);
  Held<Graph> held(scotch.graph_alloc, scotch.graph_init, scotch.graph_exit);
  Held<Arch> arch(scotch.arch_alloc, scotch.arch_init, scotch.arch_exit);
  Held<Strat> strat(scotch.strat_alloc, scotch.strat_init, scotch.strat_exit);
  std::vector<Number> part(graph.objects.size());
  const bool mapped =
      scotch.graph_build(held.thing, 0, graph.vertices(), graph.begin.data(), nullptr, graph.weight.data(), nullptr,
                         static_cast<Number>(graph.to.size()), graph.to.data(), graph.bytes.data()) == 0 &&
      scotch.arch_weighted(arch.thing, parts, shares.data()) == 0 &&
      scotch.strat_build(strat.thing, 0, parts, options["tolerance"] - 1) == 0 &&
      scotch.graph_map(one_thread.use(held.thing), arch.thing, strat.thing, part.data()) == 0;
  return mapped ? place_parts(problem, capacity, graph, part) : place_greedily(database);
}
}  // namespace

StrategyInfo scotch() {
  return {.name = "Scotch",
          .classic = "ScotchLB",
          .summary = "partitions the graph of messages with SCOTCH, where libscotch is installed",
          .solve = cut_by_scotch,
          .options = {{"tolerance", 1.03, 1.001, 2, "how far above the average SCOTCH may fill a PE"},
                      {"message_bytes", 1000, 0, 1e9, "how many bytes a message counts as beside its own"}},
          .communication = true,
          .missing = [] { return Scotch::get().missing; }};
}

}  // namespace periapt::loadbalance
