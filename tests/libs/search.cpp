// Counts the ways to put queens on a board, or fills a knapsack: search_steps SIZE LEVEL. Compiled twice, as a count
// and, with KNAPSACK, with a lower bound.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "searchEngine.h"
#include "search_steps.decl.h"

/*readonly*/ int size;
/*readonly*/ int grain;

namespace {
#ifdef KNAPSACK
// Weights and values of the things, and what the sack holds: by rules, so that all PEs know them.
int weight_of(int thing) { return 5 + thing * 7 % 11; }
int value_of(int thing) { return 3 + thing * 13 % 17; }
int room() { return 4 * size; }

struct Sack : StateBase {
  int next, weight, value;  // thing to decide on
};
// The least cost is the greatest value, with its sign turned: no more can come than all that is left.
double bound(StateBase* state) {
  const auto* sack = static_cast<Sack*>(state);
  int most = sack->value;
  for (int thing = sack->next; thing < size; ++thing) most += value_of(thing);
  return -most;
}
void add(Solver* solver, const Sack& from, bool take, bool process) {
  auto* child = static_cast<Sack*>(solver->registerState(sizeof(Sack), take, 2));
  *child = from;
  child->next = from.next + 1;
  child->weight += take ? weight_of(from.next) : 0;
  child->value += take ? value_of(from.next) : 0;
  if (process) solver->process(child);
}
void children(StateBase* of, Solver* solver, bool parallel) {
  const Sack sack = *static_cast<Sack*>(of);
  if (sack.next == size) return solver->updateCost(-sack.value);
  add(solver, sack, false, parallel);
  if (sack.weight + weight_of(sack.next) <= room()) add(solver, sack, true, parallel);
}
void first(Solver* solver) {
  auto* root = static_cast<Sack*>(solver->registerRootState(sizeof(Sack), 0, 1));
  *root = {};
  solver->setPriority(root, -1);
  solver->process(root);
}
#else
struct Board : StateBase {
  int row;
  unsigned columns, falling, rising;  // that are taken
};
void children(StateBase* of, Solver* solver, bool parallel) {
  const Board board = *static_cast<Board*>(of);
  if (board.row == size) return solver->reportSolution();
  const unsigned all = (1u << size) - 1;
  for (unsigned free = all & ~(board.columns | board.falling | board.rising); free != 0; free &= free - 1) {
    const unsigned queen = free & -free;
    auto* child = static_cast<Board*>(solver->registerState(sizeof(Board) + 8 * queen % 64, 0, size));
    child->row = board.row + 1;
    child->columns = board.columns | queen;
    child->falling = (board.falling | queen) >> 1;
    child->rising = (board.rising | queen) << 1;
    if (queen == 4) {  // a change of mind
      solver->deleteState(child);
      auto* again = static_cast<Board*>(solver->registerState(sizeof(Board), 0, size));
      *again = {{}, board.row + 1, board.columns | queen, (board.falling | queen) >> 1, (board.rising | queen) << 1};
      child = again;
    }
    if (parallel) solver->process(child);
  }
}
void first(Solver* solver) {
  auto* root = static_cast<Board*>(solver->registerRootState(sizeof(Board), 0, 1));
  *root = {};
  solver->process(root);
}
#endif
int parallel_level() { return grain; }
int depth_limit() { return 2; }
}  // namespace

#ifdef KNAPSACK
SE_Register(Sack, first, children, parallel_level, depth_limit, bound)
#else
SE_Register(Board, first, children, parallel_level, depth_limit)
#endif

    class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    size = std::atoi(m->argv[1]);
    grain = std::atoi(m->argv[2]);
    delete m;
    searchEngineProxy.start();
  }
};

#include "search_steps.def.h"
