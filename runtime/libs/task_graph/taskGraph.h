// Tasks that wait for each other's results (-module taskGraph). C++17: programs include it.
//
//   class Fib : public taskGraphSolver {                       // in the .ci: PUPable Fib
//    public:
//     Fib(CkArrayID graph, int n) : taskGraphSolver(graph, n) {}
//     explicit Fib(CkMigrateMessage* m) : taskGraphSolver(m) {}
//     PUPable_decl(Fib);
//     void setup() override { value = 1; }                     // of a task that depends on none
//     void solve(int n, taskGraphSolver* data[]) override { for (int i = 0; i < n; ++i) value += ...data[i]...; }
//     void pup(PUP::er& p) override { taskGraphSolver::pup(p); p | value; }
//     int value = 0;
//   };
//   CkArrayID graph = taskGraphSolver::newTaskGraph();
//   Fib task(graph, 5); task.dependsOn(4); task.dependsOn(3); task.startTask();
//
// startTask() copies the task into an element of the graph's array, whose index is the task's; the caller's object is
// no longer needed. When copies of all tasks that it depends on have come, in any order, solve() runs once, or setup()
// if there are none. Tasks may be started in any order, also from solve(). What solve() is given belongs to the graph.
#pragma once
#include <memory>
#include <vector>

#include "runtime/api/array_index.h"
#include "runtime/api/callback.h"
#include "runtime/containers/vec.h"
#include "runtime/pup/able.h"
#include "runtime/pup/pointer.h"

class taskGraphSolver;
#include "taskGraph.decl.h"

class taskGraphSolver : public PUP::able {
 public:
  taskGraphSolver(CkArrayID set, int x) : taskGraphSolver(set, CkArrayIndex1D(x)) {}
  taskGraphSolver(CkArrayID set, int x, int y) : taskGraphSolver(set, CkArrayIndex2D(x, y)) {}
  taskGraphSolver(CkArrayID set, int x, int y, int z) : taskGraphSolver(set, CkArrayIndex3D(x, y, z)) {}
  taskGraphSolver(CkArrayID set, CkArrayIndex index) : set_(set), index_(index) {}
  explicit taskGraphSolver(CkMigrateMessage* m) : PUP::able(m) {}
  PUPable_abstract(taskGraphSolver);
  // Which task of which graph it is. A class whose pup() leaves this out cannot call startTask() and removeTask() of
  // what it was copied into.
  void pup(PUP::er& p) override {
    p | set_;
    p | index_;
  }

  static CkArrayID newTaskGraph();
  // Before startTask().
  virtual void dependsOn(int x) { dependsOn(CkArrayIndex1D(x)); }
  virtual void dependsOn(int x, int y) { dependsOn(CkArrayIndex2D(x, y)); }
  virtual void dependsOn(int x, int y, int z) { dependsOn(CkArrayIndex3D(x, y, z)); }
  virtual void dependsOn(CkArrayIndex task) { needed_.push_back(task); }
  virtual void startTask();
  // No other task will depend on it. A warning follows where some wait for it; it stays, as in Charm++ 8.
  virtual void removeTask();

  virtual void solve(int count, taskGraphSolver* data[]) = 0;
  virtual void setup() = 0;

 private:
  CkArrayID set_;
  CkArrayIndex index_;
  CkVec<CkArrayIndex> needed_;
};

// What a task's callback is sent when it is solved: a copy of it, which is deleted with the message unless it is taken
// (taskGraphSolver* task = message->Data).
class callbackMsg : public CMessage_callbackMsg {
 public:
  callbackMsg() = default;
  callbackMsg(taskGraphSolver* task, CkArrayIndex index);
  static void* pack(callbackMsg* message);
  static callbackMsg* unpack(void* bytes);

  PUPable_marshall<taskGraphSolver> Data;
  CkArrayIndex Index;

 private:
  void pup(PUP::er& p) {
    p | Index;
    p | Data;
  }
};

// The same as functions, with a callback for a task when it is solved. `task` is copied.
CkArrayID taskGraphInit();
template <class Index>
void taskGraphAdd(CkArrayID graph, Index index, CkVec<Index> needed, taskGraphSolver* task,
                  CkCallback solved = CkCallback(CkCallback::ignore)) {
  CkVec<CkArrayIndex> indices;
  for (std::size_t i = 0; i < needed.size(); ++i) indices.push_back(CkArrayIndex(needed[i]));
  CProxy_taskGraphArray{graph}(CkArrayIndex(index)).insert(indices, task, solved);
}
void taskGraphDelete(CkArrayID graph, CkArrayIndex index);

// A task of a graph.
class taskGraphArray : public CBase_taskGraphArray {
 public:
  taskGraphArray(CkVec<CkArrayIndex> needed, taskGraphSolver* task, CkCallback solved);
  explicit taskGraphArray(CkMigrateMessage*) {}
  void pup(PUP::er& p) override;

  void requestData(CkArrayIndex from);
  void depositData(taskGraphSolver* data);
  void deleteElement();

 private:
  void advance();

  std::unique_ptr<taskGraphSolver> task_;
  std::vector<std::unique_ptr<taskGraphSolver>> data_;  // of the tasks that it depends on, as far as it has come
  int needed_ = 0;
  bool solved_ = false;
  std::vector<CkArrayIndex> waiting_;  // those that depend on it
  CkCallback callback_;
};
