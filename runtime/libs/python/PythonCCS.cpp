// The mainchare that joins the answers of the objects of a collection to one request, and what PythonObject gives to
// programs. See PythonCCS.h.
#include "PythonCCS.h"

#include <arpa/inet.h>

#include <algorithm>
#include <map>

#include "base/log.h"
#include "interpreters.h"

CProxy_PythonCCS pythonCcsProxy;

using periapt::python::Answer;
using periapt::python::Interpreters;

void Answer::pup(PUP::er& p) {
  p | reply.request;
  p | reply.part;
  p | place;
  p | parts;
  p | number;
  p | text;
  p | is_refused;
  p | is_none;
}

// ---- joining answers

struct PythonCCS::Open {
  struct Answers {
    std::vector<Answer> come;
    std::size_t parts = 0;  // 0: not known yet
  };
  std::map<unsigned long long, Answers> all;
};

PythonCCS::PythonCCS(CkArgMsg* m) : open_(new Open) {
  pythonCcsProxy = thisProxy;
  delete m;
}
PythonCCS::PythonCCS(CkMigrateMessage* m) : CBase_PythonCCS(m), open_(new Open) {}
PythonCCS::~PythonCCS() = default;

void PythonCCS::take(const Answer& answer) {
  Open::Answers& answers = open_->all[answer.reply.request];
  answers.come.push_back(answer);
  if (answer.parts != 0) answers.parts = answer.parts;
  close_if_whole(answer.reply.request);
}

// How many elements were asked, and by which request.
void PythonCCS::counted(CkReductionMsg* m) {
  CkReduction::tupleElement* values = nullptr;
  int value_count = 0;
  m->toTuple(&values, &value_count);
  const auto parts = *static_cast<const unsigned long long*>(values[0].getData());
  const auto request = *static_cast<const unsigned long long*>(values[1].getData());
  delete[] values;
  delete m;
  open_->all[request].parts = parts;
  close_if_whole(request);
}

void PythonCCS::close_if_whole(unsigned long long request) {
  const auto found = open_->all.find(request);
  if (found->second.parts == 0 || found->second.come.size() < found->second.parts) return;
  const std::vector<Answer> come = std::move(found->second.come);
  open_->all.erase(found);
  give(come);
}

// One that is refused refuses all. What they print stands in the order of the objects; numbers are all the same, or 0
// where one has not finished.
void PythonCCS::give(std::vector<Answer> answers) {
  std::sort(answers.begin(), answers.end(), [](const Answer& a, const Answer& b) { return a.place < b.place; });
  std::uint32_t number = answers.front().number;
  bool is_none = true;
  std::string text;
  for (const Answer& answer : answers) {
    if (answer.is_refused) {
      periapt::log::warn("++server: a request to run a script is refused: " + answer.text);
      number = 0;
      text.clear();
      is_none = false;
      break;
    }
    number = std::min(number, answer.number);
    is_none = is_none && answer.is_none;
    text += answer.text;
  }
  const CcsDelayedReply reply = answers.front().reply;
  if (is_none) return CcsNoDelayedReply(reply);
  if (!text.empty()) return CcsSendDelayedReply(reply, static_cast<int>(text.size()), text.data());
  number = htonl(number);
  CcsSendDelayedReply(reply, sizeof number, &number);
}

// ---- what programs call

PythonObject::PythonObject() : interpreters_(new Interpreters(*this)) {}
PythonObject::~PythonObject() = default;

void PythonObject::pyRequest(CkCcsRequestMsg* request) {
  if (auto* element = dynamic_cast<ArrayElement*>(this)) {
    // How many elements there are, and of which request: its number has 64 bits, so it can't be summed.
    unsigned long long one = 1, number = request->reply.request;
    CkReduction::tupleElement values[] = {{sizeof one, &one, CkReduction::sum_ulong_long},
                                          {sizeof number, &number, CkReduction::max_ulong_long}};
    CkReductionMsg* const all = CkReductionMsg::buildFromTuple(values, 2);
    all->setCallback(CkCallback(CkIndex_PythonCCS::counted(nullptr), pythonCcsProxy));
    element->contribute(all);
  }
  interpreters_->serve(*request, dynamic_cast<Chare*>(this) != nullptr && dynamic_cast<IrrGroup*>(this) == nullptr);
  delete request;
}

void PythonObject::pyRequestAlone(CkCcsRequestMsg* request) {
  interpreters_->serve(*request, true);
  delete request;
}

PyObject* PythonObject::pythonGetArg(int handle) { return interpreters_->arguments(handle); }
void PythonObject::pythonReturn(int handle, PyObject* result) { interpreters_->set_result(handle, result); }

namespace {
PyObject* not_written(const char* method) {
  PyErr_Format(PyExc_NotImplementedError, "the object of this script has no %s of its own", method);
  return nullptr;
}

// (With an exception that is set, Python is not to be called: the first one stays.)
void set(PyObject* object, const char* name, PyObject* value) {
  if (value == nullptr || PyErr_Occurred() != nullptr) return Py_XDECREF(value);
  PyObject_SetAttrString(object, name, value);
  Py_DECREF(value);
}

template <class T, class Read>
void get(PyObject* object, const char* name, T* value, Read read) {
  PyObject* there = PyErr_Occurred() != nullptr ? nullptr : PyObject_GetAttrString(object, name);
  if (there == nullptr) return;
  *value = read(there);
  Py_DECREF(there);
}
}  // namespace

PyObject* PythonObject::read(PyObject*) { return not_written("read()"); }
void PythonObject::write(PyObject*, PyObject*) { not_written("write()"); }
int PythonObject::buildIterator(PyObject*&, void*) {
  not_written("buildIterator()");
  return 0;
}
int PythonObject::nextIteratorUpdate(PyObject*&, PyObject*, void*) {
  not_written("nextIteratorUpdate()");
  return 0;
}

void PythonObject::pythonSetString(PyObject* object, const char* name, const char* value) {
  set(object, name, PyUnicode_FromString(value));
}
void PythonObject::pythonSetString(PyObject* object, const char* name, const char* value, int length) {
  set(object, name, PyUnicode_FromStringAndSize(value, length));
}
void PythonObject::pythonSetInt(PyObject* object, const char* name, long value) {
  set(object, name, PyLong_FromLong(value));
}
void PythonObject::pythonSetLong(PyObject* object, const char* name, long value) {
  set(object, name, PyLong_FromLong(value));
}
void PythonObject::pythonSetLong(PyObject* object, const char* name, unsigned long value) {
  set(object, name, PyLong_FromUnsignedLong(value));
}
void PythonObject::pythonSetLong(PyObject* object, const char* name, double value) {
  set(object, name, PyLong_FromDouble(value));
}
void PythonObject::pythonSetFloat(PyObject* object, const char* name, double value) {
  set(object, name, PyFloat_FromDouble(value));
}
void PythonObject::pythonSetComplex(PyObject* object, const char* name, double real, double imaginary) {
  set(object, name, PyComplex_FromDoubles(real, imaginary));
}
void PythonObject::pythonSetPointer(PyObject* object, const char* name, void* value) {
  set(object, name, PyLong_FromVoidPtr(value));
}

void PythonObject::pythonGetString(PyObject* object, const char* name, char** value) {
  get(object, name, value, [](PyObject* o) { return const_cast<char*>(PyUnicode_AsUTF8AndSize(o, nullptr)); });
}
void PythonObject::pythonGetInt(PyObject* object, const char* name, long* value) {
  get(object, name, value, PyLong_AsLong);
}
void PythonObject::pythonGetLong(PyObject* object, const char* name, long* value) {
  get(object, name, value, PyLong_AsLong);
}
void PythonObject::pythonGetLong(PyObject* object, const char* name, unsigned long* value) {
  get(object, name, value, PyLong_AsUnsignedLong);
}
void PythonObject::pythonGetLong(PyObject* object, const char* name, double* value) {
  get(object, name, value, PyLong_AsDouble);
}
void PythonObject::pythonGetFloat(PyObject* object, const char* name, double* value) {
  get(object, name, value, PyFloat_AsDouble);
}
void PythonObject::pythonGetComplex(PyObject* object, const char* name, double* real, double* imaginary) {
  get(object, name, real, PyComplex_RealAsDouble);
  get(object, name, imaginary, PyComplex_ImagAsDouble);
}
void PythonObject::pythonGetPointer(PyObject* object, const char* name, void** value) {
  get(object, name, value, PyLong_AsVoidPtr);
}

#include "PythonCCS.def.h"
