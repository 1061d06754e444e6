// See searchEngine.h.
#include "searchEngine.h"

#include <algorithm>
#include <cstring>

int se_statesize;
CProxy_SearchConductor searchEngineProxy;
CProxy_SearchGroup searchGroupProxy;

namespace {
struct Program {
  SE_createInitialChildrenFn first = nullptr;
  SE_createChildrenFn children = nullptr;
  SE_parallelLevelFn parallel_level = nullptr;
  SE_searchDepthLimitFn depth_limit = nullptr;
  SE_lowerBoundFn bound = nullptr;
  bool ends_with_first = false;
} program;

constexpr double longest_s = 0.002;  // of a search where the state is, before what is left is given away

SearchGroup& group() { return *searchGroupProxy.ckLocalBranch(); }
// No better solution can come of it.
bool is_hopeless(StateBase* state) { return program.bound && program.bound(state) >= group().least_cost(); }

// Each state is a message, and with process() a chare.
class ParallelSolver final : public Solver {
 public:
  explicit ParallelSolver(int level) : level_(level) {}
  ~ParallelSolver() override {
    for (SearchNodeMsg* message : made_) delete message;
  }
  StateBase* registerRootState(std::size_t bytes, unsigned int child, unsigned int children) override {
    return registerState(bytes, child, children);
  }
  StateBase* registerState(std::size_t bytes, unsigned int, unsigned int) override {
    made_.push_back(new (static_cast<int>(bytes), 8 * static_cast<int>(sizeof(int))) SearchNodeMsg(level_, bytes));
    return state_of(made_.back());
  }
  void process(StateBase* state) override {
    SearchNodeMsg* message = take(state);
    if (is_hopeless(state)) return delete message;
    CProxy_SearchNode::ckNew(message);
  }
  void deleteState(StateBase* state) override { delete take(state); }
  void setPriority(StateBase* state, int priority) override {
    SearchNodeMsg* message = *find(state);
    CkSetQueueing(message, CK_QUEUEING_ILIFO);
    *static_cast<int*>(CkPriorityPtr(message)) = priority;
  }

 private:
  static StateBase* state_of(SearchNodeMsg* message) { return reinterpret_cast<StateBase*>(message->state); }
  // Mostly the last.
  std::vector<SearchNodeMsg*>::iterator find(StateBase* state) {
    const auto found =
        std::find_if(made_.rbegin(), made_.rend(), [&](SearchNodeMsg* message) { return state_of(message) == state; });
    if (found == made_.rend())
      CkAbort(
          "searchEngine: a state is processed, deleted or given a priority that this solver has not made, or twice");
    return std::prev(found.base());
  }
  SearchNodeMsg* take(StateBase* state) {
    const auto place = find(state);
    SearchNodeMsg* message = *place;
    made_.erase(place);
    return message;
  }

  int level_;
  std::vector<SearchNodeMsg*> made_;  // and not processed
};

// A stack of states, in blocks that do not move. One that is searched stays below its children until they are gone:
// programs read it while they make them, and some have addresses in it.
class StateStack {
 public:
  char* push(std::size_t bytes) {
    constexpr std::size_t alignment = alignof(std::max_align_t);
    const std::size_t room = (bytes + alignment - 1) / alignment * alignment;
    while (block_ < blocks_.size() && used_ + room > blocks_[block_].bytes) {
      ++block_;
      used_ = 0;
    }
    if (block_ == blocks_.size())
      blocks_.push_back({std::make_unique<char[]>(std::max(room, usual)), std::max(room, usual)});
    states_.push_back({block_, used_, bytes, false});
    used_ += room;
    return at(states_.back());
  }
  void pop() {
    block_ = states_.back().block;
    used_ = states_.back().begin;
    states_.pop_back();
  }
  // The uppermost that is to be searched, which now is; null when there is none.
  char* next() {
    while (!states_.empty() && states_.back().searched) pop();
    if (states_.empty()) return nullptr;
    states_.back().searched = true;
    return at(states_.back());
  }
  // visit(data, bytes) of those that are to be searched.
  template <class Visit>
  void for_each_left(Visit visit) {
    for (auto state = states_.rbegin(); state != states_.rend(); ++state)
      if (!state->searched) visit(at(*state), state->bytes);
  }

 private:
  static constexpr std::size_t usual = 64 << 10;
  struct Block {
    std::unique_ptr<char[]> memory;
    std::size_t bytes;
  };
  struct State {
    std::size_t block, begin, bytes;
    bool searched;
  };
  char* at(const State& state) { return blocks_[state.block].memory.get() + state.begin; }

  std::vector<Block> blocks_;
  std::vector<State> states_;
  std::size_t block_ = 0, used_ = 0;  // where the next goes
};

// Searches depth first.
class SequentialSolver final : public Solver {
 public:
  StateBase* registerRootState(std::size_t bytes, unsigned int child, unsigned int children) override {
    return registerState(bytes, child, children);
  }
  StateBase* registerState(std::size_t bytes, unsigned int, unsigned int) override {
    return reinterpret_cast<StateBase*>(stack_.push(bytes));
  }
  // What lies on the stack is processed in its turn.
  void process(StateBase*) override {}
  // The one that was made last.
  void deleteState(StateBase*) override { stack_.pop(); }
  void setPriority(StateBase*, int) override {}

  void search(SearchNodeMsg& message) {
    const double begin = CkWallTimer();
    program.children(reinterpret_cast<StateBase*>(message.state), this, false);
    // A clock is read now and then.
    unsigned searched = 0;
    while (char* next = stack_.next()) {
      auto* parent = reinterpret_cast<StateBase*>(next);
      if (is_hopeless(parent)) continue;
      program.children(parent, this, false);
      if (++searched % 16 == 0 && CkWallTimer() - begin > longest_s) return give_away(message.level);
    }
  }

 private:
  void give_away(int level) {
    stack_.for_each_left([level](const char* state, std::size_t bytes) {
      auto* message = new (static_cast<int>(bytes), 0) SearchNodeMsg(level, bytes);
      std::memcpy(message->state, state, bytes);
      CProxy_SearchNode::ckNew(message);
    });
  }

  StateStack stack_;
};
}  // namespace

void SE_register(SE_createInitialChildrenFn first, SE_createChildrenFn children, SE_parallelLevelFn parallel_level,
                 SE_searchDepthLimitFn depth_limit, SE_lowerBoundFn bound, bool ends_with_first) {
  program = {first, children, parallel_level, depth_limit, bound, ends_with_first};
}

void Solver::reportSolution() { group().found(); }
void Solver::updateCost(double cost) { group().found(cost); }

// --- a search --------------------------------------------------------------------------------------------------------

SearchConductor::SearchConductor(CkArgMsg* m) {
  delete m;
  searchEngineProxy = thisProxy;
  searchGroupProxy = CProxy_SearchGroup::ckNew();
}
void SearchConductor::start() { searchGroupProxy.begin(); }
void SearchConductor::fire() {
  if (depth_ == 1) began_ = CkWallTimer();
  ParallelSolver solver(0);
  program.first(&solver);
  CkStartQD(CkCallback(CkIndex_SearchConductor::searched(), thisProxy));
}
void SearchConductor::searched() { searchGroupProxy.count(); }
void SearchConductor::counted(CmiInt8 solutions) {
  const double seconds = CkWallTimer() - began_;
  CkPrintf("All states are done in %f sec\n", seconds);
  if (program.bound) {
    const double cost = group().least_cost();
    if (cost < 1e300)
      CkPrintf("Best solution is:%.4f\n Time cost:%f on %d processors\n", cost, seconds, CkNumPes());
    else
      CkPrintf("There is no solution (%f sec, %d processors)\n", seconds, CkNumPes());
    return CkExit();
  }
  if (solutions > 0)
    CkPrintf("%lld solutions are found in %f sec, with %d processors\n", static_cast<long long>(solutions), seconds,
             CkNumPes());
  if (solutions > 0 || ++depth_ > program.depth_limit()) return CkExit();
  fire();
}

void SearchGroup::begin() {
  parallel_level_ = program.parallel_level();
  began_ = CkWallTimer();
  contribute(CkCallback(CkIndex_SearchConductor::fire(), searchEngineProxy));
}
void SearchGroup::count() {
  contribute(sizeof solutions_, &solutions_, CkReduction::sum_long_long,
             CkCallback(CkReductionTarget(SearchConductor, counted), searchEngineProxy));
}
void SearchGroup::found() {
  if (program.ends_with_first && solutions_ == 0) {
    CkPrintf("First solution found within time %f second\n", CkWallTimer() - began_);
    CkExit();
  }
  ++solutions_;
}
void SearchGroup::found(double cost) {
  if (cost >= least_cost_) return;
  least_cost_ = cost;
  thisProxy.improve(cost);
}
void SearchGroup::improve(double cost) { least_cost_ = std::min(least_cost_, cost); }

SearchNode::SearchNode(SearchNodeMsg* m) {
  auto* state = reinterpret_cast<StateBase*>(m->state);
  if (is_hopeless(state)) {
    // Left out.
  } else if (m->level < group().parallel_level()) {
    ParallelSolver solver(m->level + 1);
    program.children(state, &solver, true);
  } else {
    SequentialSolver().search(*m);
  }
  delete m;
  delete this;
}

#include "searchEngine.def.h"
