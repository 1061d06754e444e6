// Objects that clients run scripts on: one of each kind. scripts_test.py is the client.
#include "scripts.h"

#include <stdexcept>

#include "scripts.decl.h"

CProxy_Members members;
CProxy_Cells cells;

class Grid : public CBase_Grid {
 public:
  Grid() {}
  explicit Grid(CkMigrateMessage*) {}
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    if (m->argc > 1) pythonReturn(1, nullptr);  // no script calls
    delete m;
    members = CProxy_Members::ckNew();
    cells = CProxy_Cells::ckNew(5);
    members.registerPython("members");
    members[CkNumPes() - 1].registerPython("member");
    CProxy_Nodes(CProxy_Nodes::ckNew()).registerPython("nodes");
    cells.registerPython("cells");
    cells[2].registerPython("cell");
    CProxy_Grid grid = CProxy_Grid::ckNew();
    grid(1, 2, 3, 4).insert();
    grid(9, 9, 9, 9).insert(0);
    grid.doneInserting();
    doomed_ = grid;
    grid(9, 9, 9, 9).registerPython("doomed");
    grid(1, 2, 3, 4).registerPython("grid");
    thisProxy.registerPython("main");
    CcsRegisterHandler("stop", CkCallback(CkIndex_Main::stop(nullptr), thisProxy));
    const CProxy_Derived derived = CProxy_Derived::ckNew(CkCallback(CkIndex_Main::begin(), thisProxy), CkNumPes() - 1);
    derived.registerPython("derived");
  }
  void begin() { CkPrintf("there is a server\n"); }
  void stop(CkCcsRequestMsg* m) {
    CcsSendDelayedReply(m->reply, 3, "bye");
    delete m;
    CkExit();
  }

  void add(int handle) {
    long a, b;
    if (PyArg_ParseTuple(pythonGetArg(handle), "ll", &a, &b)) pythonReturn(handle, Py_BuildValue("l", a + b));
  }
  // Waits for all PEs.
  void sum(int handle) {
    CkReductionMsg* m;
    members.contribute_to(CkCallbackPython(reinterpret_cast<void*&>(m)));
    pythonReturn(handle, Py_BuildValue("i", *static_cast<int*>(m->getData())));
    delete m;
  }
  void ask(int handle) {  // a [sync] call
    const int twice = members[CkNumPes() - 1].twice(21);
    pythonReturn(handle, Py_BuildValue("i", twice));
  }
  // Until another script calls let_go.
  void hold(int handle) {
    held_ = CthSelf();
    CthSuspend();
    pythonReturn(handle, Py_BuildValue("s", "let go"));
  }
  void let_go(int handle) {
    pythonReturn(handle, Py_BuildValue("i", held_ != nullptr));
    if (held_ != nullptr) CthAwaken(held_);
    held_ = nullptr;
  }
  void fail(int) { throw std::runtime_error("out of cheese"); }
  void forget(int handle) { pythonReturn(handle); }
  void destroy(int) { doomed_(9, 9, 9, 9).ckLocal()->ckDestroy(); }
  void move(int) { cells[2].move(CkNumPes() - 1); }

  PyObject* read(PyObject* where) override {
    const char* what;
    int i;
    if (!PyArg_ParseTuple(where, "(si)", &what, &i)) return nullptr;
    return Py_BuildValue("si", what, value_ + i);
  }
  void write(PyObject* where, PyObject* what) override {
    const char* name;
    if (PyArg_ParseTuple(where, "s", &name) && PyArg_ParseTuple(what, "i", &value_)) CkPrintf("wrote %s\n", name);
  }
  int buildIterator(PyObject*& data, void* iterator) override {
    const RangeBytes& range = *static_cast<RangeBytes*>(iterator);
    pythonSetInt(data, "number", range.first);
    pythonSetString(data, "name", "of");
    pythonSetComplex(data, "point", 1, 2);
    return range.first < range.end;
  }
  int nextIteratorUpdate(PyObject*& data, PyObject* result, void* iterator) override {
    long number;
    double half, real, imaginary;
    char* name;
    pythonGetInt(data, "number", &number);
    pythonGetFloat(data, "half", &half);
    pythonGetString(data, "name", &name);
    pythonGetComplex(data, "point", &real, &imaginary);
    if (PyErr_Occurred()) return 0;
    CkPrintf("visited %ld %g %s %g %ld\n", number, half, name, imaginary, PyLong_AsLong(result));
    pythonSetInt(data, "number", number + 1);
    return number + 1 < static_cast<RangeBytes*>(iterator)->end;
  }

 private:
  int value_ = 40;
  CProxy_Grid doomed_;
  CthThread held_ = nullptr;
};

class Members : public CBase_Members {
 public:
  void place(int handle) { pythonReturn(handle, Py_BuildValue("i", thisIndex)); }
  void contribute_to(CkCallback done) { contribute(sizeof(int), &thisIndex, CkReduction::sum_int, done); }
  int twice(int number) { return 2 * number; }
};

class Nodes : public CBase_Nodes {
 public:
  void place(int handle) { pythonReturn(handle, Py_BuildValue("i", thisIndex)); }
};

class Cells : public CBase_Cells {
 public:
  Cells() {}
  explicit Cells(CkMigrateMessage*) {}
  void place(int handle) { pythonReturn(handle, Py_BuildValue("i", thisIndex)); }
  void move(int pe) { migrateMe(pe); }
};

class Base : public CBase_Base {
 public:
  void lower(int handle) { pythonReturn(handle, Py_BuildValue("s", "lower")); }
  void both(int handle) { pythonReturn(handle, Py_BuildValue("s", "Base's")); }
};
class Derived : public CBase_Derived {
 public:
  Derived_SDAG_CODE explicit Derived(CkCallback made) { made.send(); }
  void upper(int handle) { pythonReturn(handle, Py_BuildValue("s", "upper")); }
  void both(int handle) { pythonReturn(handle, Py_BuildValue("s", "Derived's")); }
};

#include "scripts.def.h"
