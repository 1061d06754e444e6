// Search of a space of states (-module searchEngine): from the first states on, the children of each state are made, on
// all PEs, until there are none. C++17: programs include it.
//
// A program gives functions that make the first states and the children of one, and starts the search:
//
//   struct Queens : StateBase { int row; ... };      // plain data: it is copied as bytes
//   void children(StateBase* of, Solver* solver, bool parallel) {
//     auto* child = static_cast<Queens*>(solver->registerState(sizeof(Queens), which, of_how_many));
//     ...                                            // or solver->reportSolution();
//     if (parallel) solver->process(child);
//   }
//   SE_Register(Queens, first, children, parallelLevel, depthLimit)      // or with a lower bound of a state behind
//   searchEngineProxy.start();
//
// States of a level below parallelLevel() are a chare each. Deeper ones are searched where they are, depth first; when
// that has taken 2 ms what is left there is given to other PEs. When all has been searched the number of solutions is
// printed, and the run ends; without any the search begins anew, as often as searchDepthLimit() says. A program that is
// compiled with -DONESOLUTION ends with its first solution. With a lower bound the search is for the least cost:
// updateCost() says that a solution of that cost has been found, and states whose bound is no less are left out.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/api/array_map.h"
#include "runtime/api/objects.h"

class SearchNodeMsg;
class StateBase {};

// What makes states. Memory of a state is the solver's, and stays until the function that makes children returns.
class Solver {
 public:
  virtual ~Solver() = default;
  // `child` of `children`: which of its parent's it is.
  virtual StateBase* registerRootState(std::size_t bytes, unsigned int child, unsigned int children) = 0;
  virtual StateBase* registerState(std::size_t bytes, unsigned int child, unsigned int children) = 0;
  virtual void process(StateBase* state) = 0;
  virtual void deleteState(StateBase* state) = 0;
  virtual void setPriority(StateBase* state, int priority) = 0;
  void reportSolution();
  void updateCost(double cost);
};

typedef void (*SE_createInitialChildrenFn)(Solver* solver);
typedef void (*SE_createChildrenFn)(StateBase* parent, Solver* solver, bool parallel);
typedef int (*SE_parallelLevelFn)();
typedef int (*SE_searchDepthLimitFn)();
typedef double (*SE_lowerBoundFn)(StateBase* state);

// `ends_with_first`: the first solution ends the run.
void SE_register(SE_createInitialChildrenFn first, SE_createChildrenFn children, SE_parallelLevelFn parallel_level,
                 SE_searchDepthLimitFn depth_limit, SE_lowerBoundFn bound = nullptr, bool ends_with_first = false);
void registerSE();

#ifdef ONESOLUTION
constexpr bool se_ends_with_first = true;
#else
constexpr bool se_ends_with_first = false;
#endif
#define SE_Register(state, first, children, parallel_level, ...) \
  void registerSE() { SE_register_as(first, children, parallel_level, __VA_ARGS__); }
static inline void SE_register_as(SE_createInitialChildrenFn first, SE_createChildrenFn children,
                                  SE_parallelLevelFn parallel_level, SE_searchDepthLimitFn depth_limit,
                                  SE_lowerBoundFn bound = nullptr) {
  SE_register(first, children, parallel_level, depth_limit, bound, se_ends_with_first);
}

#include "searchEngine.decl.h"

extern CProxy_SearchConductor searchEngineProxy;
extern int se_statesize;  // for programs that keep it there; the solver has no use for it

class SearchNodeMsg : public CMessage_SearchNodeMsg {
 public:
  int level;
  std::size_t bytes;
  char* state;
  SearchNodeMsg(int level, std::size_t bytes) : level(level), bytes(bytes) {}
};

class SearchConductor : public CBase_SearchConductor {
 public:
  explicit SearchConductor(CkArgMsg* m);
  explicit SearchConductor(CkMigrateMessage* m) : CBase_SearchConductor(m) {}
  void start();
  void fire();
  void searched();
  void counted(CmiInt8 solutions);

 private:
  int depth_ = 1;  // which search it is
  double began_ = 0;
};

class SearchGroup : public CBase_SearchGroup {
 public:
  SearchGroup() = default;
  explicit SearchGroup(CkMigrateMessage* m) : CBase_SearchGroup(m) {}
  void begin();
  void count();
  void improve(double cost);
  void found();
  void found(double cost);
  int parallel_level() const { return parallel_level_; }
  double least_cost() const { return least_cost_; }

 private:
  int parallel_level_ = 0;
  CmiInt8 solutions_ = 0;
  double least_cost_ = 1e300;
  double began_ = 0;
};

class SearchNode : public CBase_SearchNode {
 public:
  explicit SearchNode(SearchNodeMsg* m);
  explicit SearchNode(CkMigrateMessage* m) : CBase_SearchNode(m) {}
};
