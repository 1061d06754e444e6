// The module ck of scripts. What begins with _ is for host.py.
#include "interpreters.h"

namespace periapt::python {
namespace {

Run* required() {
  Run* run = running();
  if (run == nullptr)
    PyErr_SetString(PyExc_RuntimeError, "ck and charm are for the script itself: this is a Python thread of its own");
  return run;
}

/// Null, and the exception is set, where `object` is no string.
const char* text_of(PyObject* object, Py_ssize_t& bytes) { return PyUnicode_AsUTF8AndSize(object, &bytes); }

PyObject* printstr(PyObject*, PyObject* text) {
  Py_ssize_t bytes;
  const char* there = text_of(text, bytes);
  if (there == nullptr) return nullptr;
  CkPrintf("%s\n", there);
  return Py_NewRef(Py_None);
}

PyObject* to_client(Run& run, PyObject* text) {
  Py_ssize_t bytes;
  const char* there = text_of(text, bytes);
  if (there == nullptr) return nullptr;
  if (run.interpreters->print(run.number, {there, static_cast<std::size_t>(bytes)})) return Py_NewRef(Py_True);
  PyErr_SetString(PyExc_RuntimeError, "16 MiB are printed that no client has asked for");
  return nullptr;
}

PyObject* printclient(PyObject*, PyObject* text) {
  Run* run = required();
  PyObject* printed = run == nullptr ? nullptr : to_client(*run, text);
  if (printed == nullptr) return nullptr;
  Py_DECREF(printed);
  return Py_NewRef(Py_None);
}

/// For sys.stdout: False where no script is running.
PyObject* print(PyObject*, PyObject* text) {
  Run* run = running();
  return run == nullptr ? Py_NewRef(Py_False) : to_client(*run, text);
}

template <int (*function)()>
PyObject* number(PyObject*, PyObject*) {
  if (required() == nullptr) return nullptr;  // Python's own threads are of no PE
  return PyLong_FromLong(function());
}
int my_pe() { return CkMyPe(); }
int pes() { return CkNumPes(); }
int my_node() { return CkMyNode(); }
int nodes() { return CkNumNodes(); }

PyObject* myindex(PyObject*, PyObject*) {
  const Run* run = required();
  if (run == nullptr) return nullptr;
  const auto* element = dynamic_cast<const ArrayElement*>(run->object);
  if (element == nullptr) return Py_NewRef(Py_None);
  const CkArrayIndex index = element->ckGetArrayIndex();
  const int count = index.dimension != 0 ? index.dimension : index.nInts;
  PyObject* tuple = PyTuple_New(count);
  for (int d = 0; d < count; ++d) PyTuple_SetItem(tuple, d, PyLong_FromLong(index.coordinate(d)));
  return tuple;
}

/// What a method of the program has made, or the exception that it has set.
PyObject* checked(PyObject* made, const char* method) {
  if (PyErr_Occurred() != nullptr) {
    Py_XDECREF(made);
    return nullptr;
  }
  if (made == nullptr) PyErr_Format(PyExc_RuntimeError, "%s of the program has returned nothing", method);
  return made;
}

PyObject* read(PyObject*, PyObject* arguments) {
  const Run* run = required();
  PyObject* where;
  if (run == nullptr || !PyArg_ParseTuple(arguments, "O:read", &where)) return nullptr;
  return checked(run->object->read(arguments), "read()");
}

/// Itself, or a tuple that holds it.
PyObject* as_tuple(PyObject* object) {
  return PyObject_IsInstance(object, reinterpret_cast<PyObject*>(&PyTuple_Type)) == 1 ? Py_NewRef(object)
                                                                                      : PyTuple_Pack(1, object);
}

PyObject* write(PyObject*, PyObject* arguments) {
  const Run* run = required();
  PyObject *where, *what;
  if (run == nullptr || !PyArg_ParseTuple(arguments, "OO:write", &where, &what)) return nullptr;
  where = as_tuple(where);
  what = as_tuple(what);
  run->object->write(where, what);
  Py_DECREF(where);
  Py_DECREF(what);
  return checked(Py_NewRef(Py_None), "write()");
}

// ---- for host.py

/// What an iteration visits next, in place of `data`; None: nothing.
PyObject* visited(const Run& run, PyObject* data, PyObject* result) {
  PyObject* next = Py_NewRef(data);
  const int more = result == nullptr ? run.object->buildIterator(next, run.iterator)
                                     : run.object->nextIteratorUpdate(next, result, run.iterator);
  if (next != data) Py_DECREF(data);  // the program has put another in its place
  if (more != 0) return checked(next, "the iteration");
  Py_XDECREF(next);
  return checked(Py_NewRef(Py_None), "the iteration");
}

PyObject* first(PyObject*, PyObject* data) {
  const Run* run = required();
  return run == nullptr ? nullptr : visited(*run, data, nullptr);
}

PyObject* next(PyObject*, PyObject* arguments) {
  const Run* run = required();
  PyObject *data, *result;
  if (run == nullptr || !PyArg_ParseTuple(arguments, "OO", &data, &result)) return nullptr;
  return visited(*run, data, result);
}

/// Those of the script's object; an exception where the script may not call them.
bool methods_of(Run*& run, std::vector<PythonMethod>& all) {
  run = required();
  if (run == nullptr) return false;
  if (run->is_high_level) {
    run->object->impl_pythonMethods(all);
    return true;
  }
  PyErr_SetString(PyExc_RuntimeError,
                  "charm is for high level scripts: setHighLevel(true) in the client's PythonExecute");
  return false;
}

PyObject* methods(PyObject*, PyObject*) {
  Run* run;
  std::vector<PythonMethod> all;
  if (!methods_of(run, all)) return nullptr;
  PyObject* list = PyList_New(0);
  for (const PythonMethod& method : all) {
    PyObject* pair = Py_BuildValue("ss", method.name, method.documentation);
    PyList_Append(list, pair);
    Py_DECREF(pair);
  }
  return list;
}

PyObject* call(PyObject*, PyObject* arguments) {
  const char* name;
  PyObject* own;
  Run* run;
  std::vector<PythonMethod> all;
  if (!PyArg_ParseTuple(arguments, "sO", &name, &own) || !methods_of(run, all)) return nullptr;
  for (std::size_t i = all.size(); i-- > 0;)  // a derived class comes behind its base
    if (std::string_view(all[i].name) == name) return run->interpreters->call(run->number, all[i], own);
  PyErr_SetString(PyExc_AttributeError, name);
  return nullptr;
}

PyMethodDef functions[] = {
    {"printstr", printstr, METH_O, "Writes a line to the program's output"},
    {"printclient", printclient, METH_O, "Gives text to the client"},
    {"mype", number<my_pe>, METH_NOARGS, "CkMyPe()"},
    {"numpes", number<pes>, METH_NOARGS, "CkNumPes()"},
    {"mynode", number<my_node>, METH_NOARGS, "CkMyNode()"},
    {"numnodes", number<nodes>, METH_NOARGS, "CkNumNodes()"},
    {"myindex", myindex, METH_NOARGS, "The index of the array element as a tuple; None for other objects"},
    {"read", read, METH_VARARGS, "What read() of the program returns"},
    {"write", write, METH_VARARGS, "Calls write() of the program"},
    {"_print", print, METH_O, nullptr},
    {"_first", first, METH_O, nullptr},
    {"_next", next, METH_VARARGS, nullptr},
    {"_methods", methods, METH_NOARGS, nullptr},
    {"_call", call, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef module{PyModuleDef_HEAD_INIT,
                   "ck",
                   "What scripts of clients may ask of the program they run in",
                   -1,
                   functions,
                   nullptr,
                   nullptr,
                   nullptr,
                   nullptr};

}  // namespace

PyObject* make_ck_module() { return PyModule_Create(&module); }

}  // namespace periapt::python
