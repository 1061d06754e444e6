// -module PythonCCS: clients run Python scripts on objects of a running program (docs/python.md). C++17.
//
//   mainchare [python] Main {                      // in the .ci
//     entry [python] void step(int handle);        // charm.step(...) in a script
//   };
//   proxy.registerPython("code");                  // on PE 0: requests for "code" are for this object, or these
//   void Main::step(int handle) {
//     int n;
//     if (!PyArg_ParseTuple(pythonGetArg(handle), "i", &n)) return;  // the script gets the exception
//     ... may wait, as a [threaded] entry method may ...
//     pythonReturn(handle, Py_BuildValue("i", n + 1));
//   }
//
// Methods that a script calls run with Python's lock held. A thread that waits gives it up meanwhile, by itself.
#pragma once
#include <pythonIncludes.h>  // Python.h first, as it asks

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "PythonCCS-client.h"
#include "runtime/ccs/ccs_callback.h"

class PythonObject;

namespace periapt {
// Of the thread that runs a script: the interpreter counts on some megabytes.
constexpr unsigned python_stack_bytes = 16u << 20;

// A [python] entry method.
struct PythonMethod {
  const char* name;
  const char* documentation;
  void (*call)(PythonObject* object, int handle);
};

namespace python {
class Interpreters;
// What one object of a collection answers to a request. PE 0 joins the answers of all (PythonCCS.cpp).
struct Answer {
  CcsDelayedReply reply{};
  std::uint64_t place = 0;   // of the object among the others
  std::uint32_t parts = 0;   // how many answer; 0: as many as the array has elements
  std::uint32_t number = 0;  // an interpreter; 0: no
  std::string text;          // printed; or why it is refused
  bool is_refused = false;
  bool is_none = false;  // the client waits for no answer
  void pup(PUP::er& p);
};
}  // namespace python
}  // namespace periapt

#include "PythonCCS.decl.h"

// What a [python] chare is besides a chare.
class PythonObject {
 public:
  PythonObject();
  virtual ~PythonObject();
  PythonObject(const PythonObject&) = delete;

  // To be written by programs that need them. `where` and `what` are tuples; of ck.read(where), one that holds it.
  virtual PyObject* read(PyObject* where);
  virtual void write(PyObject* where, PyObject* what);
  // Of an iteration: fills `data`, or puts another object in its place, for the script's function; 0: there is none.
  // `iterator`: the client's PythonIterator, byte by byte. `result`: what the function has returned for `data`.
  virtual int buildIterator(PyObject*& data, void* iterator);
  virtual int nextIteratorUpdate(PyObject*& data, PyObject* result, void* iterator);

  // Attributes of `object`. Where one is missing or is something else, the exception is the script's.
  void pythonSetString(PyObject* object, const char* name, const char* value);
  void pythonSetString(PyObject* object, const char* name, const char* value, int length);
  void pythonSetInt(PyObject* object, const char* name, long value);
  void pythonSetLong(PyObject* object, const char* name, long value);
  void pythonSetLong(PyObject* object, const char* name, unsigned long value);
  void pythonSetLong(PyObject* object, const char* name, double value);
  void pythonSetFloat(PyObject* object, const char* name, double value);
  void pythonSetComplex(PyObject* object, const char* name, double real, double imaginary);
  void pythonSetPointer(PyObject* object, const char* name, void* value);

  void pythonGetString(PyObject* object, const char* name, char** value);  // UTF-8, as long as the attribute is there
  void pythonGetInt(PyObject* object, const char* name, long* value);
  void pythonGetLong(PyObject* object, const char* name, long* value);
  void pythonGetLong(PyObject* object, const char* name, unsigned long* value);
  void pythonGetLong(PyObject* object, const char* name, double* value);
  void pythonGetFloat(PyObject* object, const char* name, double* value);
  void pythonGetComplex(PyObject* object, const char* name, double* real, double* imaginary);
  void pythonGetPointer(PyObject* object, const char* name, void** value);

  // In a [python] entry method: the tuple of its arguments, which the script owns, and what it returns, which the
  // script then owns.
  PyObject* pythonGetArg(int handle);
  void pythonReturn(int handle) {}
  void pythonReturn(int handle, PyObject* result);
  // The thread that waits gives up Python's lock and takes it again by itself.
  void pythonAwake(int) {}
  void pythonSleep(int) {}

  // Requests, of which all objects of a collection get each; and of one object.
  void pyRequest(CkCcsRequestMsg* request);
  void pyRequestAlone(CkCcsRequestMsg* request);
  virtual void impl_pythonMethods(std::vector<periapt::PythonMethod>&) const {}

 private:
  friend class periapt::python::Interpreters;
  std::unique_ptr<periapt::python::Interpreters> interpreters_;
};

// With the lock given up while it waits, which every callback of a thread does.
typedef CkCallbackResumeThread CkCallbackPython;

namespace periapt {
struct NoPythonObject {};

// The base of a [python] chare. Where its own base is one too, that one's methods are called as charm.name() as well.
template <class Parent, class Index>
class Scriptable
    : public Parent,
      public std::conditional<std::is_base_of<PythonObject, Parent>::value, NoPythonObject, PythonObject>::type {
 public:
  using Parent::Parent;
  Scriptable() = default;
  void impl_pythonMethods(std::vector<PythonMethod>& all) const override {
    if constexpr (std::is_base_of<PythonObject, Parent>::value) Parent::impl_pythonMethods(all);
    Index::impl_python(all);
  }
};
}  // namespace periapt

class PythonCCS : public CBase_PythonCCS {
 public:
  explicit PythonCCS(CkArgMsg* m);
  explicit PythonCCS(CkMigrateMessage* m);  // after a restart the clients of what was open have gone
  ~PythonCCS() override;
  void take(const periapt::python::Answer& answer);
  void counted(CkReductionMsg* m);
  // All of a request, to its client.
  static void give(std::vector<periapt::python::Answer> answers);

 private:
  struct Open;
  void close_if_whole(unsigned long long request);
  std::unique_ptr<Open> open_;
};
extern CProxy_PythonCCS pythonCcsProxy;
