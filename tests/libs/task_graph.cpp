// Pascal's triangle as a graph of tasks, each of which adds up the two above it: started from the last row to the
// first, so that all wait, and then from the first to the last in a second graph, so that what they need is there. The
// last row is compared with the binomial coefficients.
#include <string>
#include <vector>

#include "taskGraph.h"
#include "task_graph_steps.decl.h"

CProxy_Main mainProxy;

namespace {
constexpr int rows = 12;
}

class Cell : public taskGraphSolver {
 public:
  Cell(CkArrayID graph, int row, int column) : taskGraphSolver(graph, row, column), row(row), path(row % 5, column) {}
  explicit Cell(CkMigrateMessage* m) : taskGraphSolver(m) {}
  PUPable_decl(Cell);
  void pup(PUP::er& p) override {
    taskGraphSolver::pup(p);
    p | row;
    p | value;
    p | runs;
    p | path;
  }

  void setup() override { solve(0, nullptr); }
  void solve(int count, taskGraphSolver* data[]) override;

  int row = 0, value = 0, runs = 0;
  std::vector<int> path;  // of a length of its own
};

class Main : public CBase_Main {
  int graph_ = 0, left_ = 0, told_ = 0;
  CkArrayID tasks_;
  std::vector<int> last_ = std::vector<int>(rows);

 public:
  explicit Main(CkArgMsg* m) {
    mainProxy = thisProxy;
    const std::string mistake = m->argc > 1 ? m->argv[1] : "";
    delete m;
    if (mistake == "nothing") {
      taskGraphAdd(taskGraphInit(), CkArrayIndex1D(1), CkVec<CkArrayIndex1D>(), static_cast<taskGraphSolver*>(nullptr));
      return;
    }
    if (mistake == "removed") {
      left_ = 1;
      tasks_ = taskGraphSolver::newTaskGraph();
      Cell waited_for(tasks_, 0, 0), waiting(tasks_, 1, 0);
      waited_for.dependsOn(7, 7);
      waited_for.startTask();
      waiting.dependsOn(0, 0);
      waiting.startTask();
      CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
      return;
    }
    begin();
  }

  void begin() {
    tasks_ = taskGraphSolver::newTaskGraph();
    left_ = rows;
    told_ = 0;
    for (int i = 0; i < rows; ++i) start_row(graph_ == 0 ? rows - 1 - i : i);
  }

  void start_row(int row) {
    for (int column = 0; column <= row; ++column) {
      Cell task(tasks_, row, column);
      CkVec<CkArrayIndex2D> above;
      if (column > 0) above.push_back(CkArrayIndex2D(row - 1, column - 1));
      if (column < row) above.push_back(CkArrayIndex2D(row - 1, column));
      if (row == rows - 1) {
        taskGraphAdd(tasks_, CkArrayIndex2D(row, column), above, static_cast<taskGraphSolver*>(&task),
                     CkCallback(CkIndex_Main::solved(nullptr), thisProxy));
        continue;
      }
      for (std::size_t i = 0; i < above.size(); ++i) task.dependsOn(above[i]);
      task.startTask();
    }
  }

  void reached(int row) { told_ += row; }

  void solved(callbackMsg* message) {
    taskGraphSolver* const task = message->Data;
    const auto* const cell = static_cast<Cell*>(task);
    const CkArrayIndex index = message->Index;
    if (cell->runs != 1 || cell->row != rows - 1 || index.data()[0] != rows - 1)
      CkAbort("a task of row %d has run %d times", cell->row, cell->runs);
    for (int column : cell->path)
      if (column != index.data()[1]) CkAbort("a task comes as another one");
    last_.at(static_cast<std::size_t>(index.data()[1])) = cell->value;
    delete task;
    delete message;
    if (--left_ > 0) return;
    int binomial = 1;
    for (int column = 0; column < rows; ++column) {
      if (last_[static_cast<std::size_t>(column)] != binomial)
        CkAbort("graph %d: %d in column %d, which is %d", graph_, last_[static_cast<std::size_t>(column)], column,
                binomial);
      binomial = binomial * (rows - 1 - column) / (column + 1);
    }
    taskGraphDelete(tasks_, CkArrayIndex2D(0, 0));
    CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
  }

  void quiet() {
    if (left_ > 0) {  // of which one is removed that cannot run
      if (left_++ > 1) return CkExit(0);
      Cell(tasks_, 0, 0).removeTask();
      CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
      return;
    }
    int expected = 0;
    for (int row = 0; row < rows; ++row) expected += row * (row + 1);
    if (told_ != expected) CkAbort("tasks that ran have told %d in place of %d", told_, expected);
    if (++graph_ < 2) return begin();
    CkPrintf("all tasks are solved\n");
    CkExit(0);
  }
};

void Cell::solve(int count, taskGraphSolver* data[]) {
  value = row == 0;
  for (int i = 0; i < count; ++i) {
    const auto* const above = static_cast<Cell*>(data[i]);
    if (above->row != row - 1 || above->runs != 1) CkAbort("a task is given what it does not depend on");
    value += above->value;
  }
  ++runs;
  mainProxy.reached(row);
}

#include "task_graph_steps.def.h"
