// See interpreters.h.
#include "interpreters.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <unordered_map>

#include "base/fatal.h"
#include "base/log.h"
#include "runtime/scheduler/pe.h"

namespace periapt::python {

extern const char* const host_program;  // host.py

namespace {

constexpr std::size_t kPrintMost = std::size_t{16} << 20;  // bytes that are kept for a client

std::unordered_map<PyThreadState*, Run*> runs;  // under Python's lock
PyObject* host = nullptr;                       // the names of host.py

void begin_python() {
  PyImport_AppendInittab("ck", make_ck_module);
  Py_InitializeEx(0);  // signals are the runtime's
  host = PyDict_New();
  PyDict_SetItemString(host, "__builtins__", PyEval_GetBuiltins());
  PyObject* code = Py_CompileString(host_program, "<periapt>", Py_file_input);
  PyObject* done = code == nullptr ? nullptr : PyEval_EvalCode(code, host, host);
  if (done == nullptr) {
    PyErr_Print();
    fatal("Python does not start here", "PythonCCS", "what it says stands above");
  }
  Py_DECREF(code);
  Py_DECREF(done);
}

/// Begins Python with the first request. The thread that does it holds a Python thread state for ever, which would be
/// in the way of those of scripts on the same PE: so it is one of no PE.
PyInterpreterState* python() {
  static PyInterpreterState* const state = [] {
    PyInterpreterState* begun = nullptr;
    std::thread([&begun] {
      begin_python();
      begun = PyInterpreterState_Get();
      PyEval_SaveThread();
    }).join();
    return begun;
  }();
  return state;
}

/// Python's lock, and a Python thread of its own. A thread of the PE that has it gives up the lock while it waits.
/// Where the lock is held already, a script's method destroys an object: that is a part of what the script does.
class Locked {
 public:
  Locked() {
    if (is_held) return;
    listener_ = new Listener;
    listener_->state = PyThreadState_New(python());
    listener_->suspend = [](CthThreadListener* l) {
      if (static_cast<Listener*>(l)->state != nullptr) give_up();
    };
    listener_->resume = [](CthThreadListener* l) {
      if (static_cast<Listener*>(l)->state != nullptr) take(static_cast<Listener*>(l)->state);
    };
    listener_->free = [](CthThreadListener* l) { delete static_cast<Listener*>(l); };
    take(listener_->state);
    is_heard_ = Pe::current() != nullptr && CthSelf() != nullptr;
    if (is_heard_) CthAddListener(CthSelf(), listener_);
  }
  ~Locked() {
    if (listener_ == nullptr) return;
    PyThreadState_Clear(listener_->state);
    give_up();
    PyThreadState_Delete(listener_->state);
    listener_->state = nullptr;
    if (!is_heard_) delete listener_;
  }
  Locked(const Locked&) = delete;

 private:
  struct Listener : CthThreadListener {
    PyThreadState* state;  // null: no Python runs in the thread any more
  };
  static void take(PyThreadState* state) {
    PyEval_RestoreThread(state);
    is_held = true;
  }
  static void give_up() {
    is_held = false;
    PyEval_SaveThread();
  }
  static thread_local bool is_held;  // by this thread of the system

  Listener* listener_ = nullptr;
  bool is_heard_ = false;
};
thread_local bool Locked::is_held = false;

/// The script's interpreter is named by its request: every object of a collection says the same.
std::uint32_t number_of(const CcsDelayedReply& reply) {
  return static_cast<std::uint32_t>((reply.request - 1) % 0x7fff'ffff) + 1;
}

std::string text_of(PyObject* text) {
  Py_ssize_t bytes = 0;
  const char* there = PyUnicode_AsUTF8AndSize(text, &bytes);
  if (there != nullptr) return {there, static_cast<std::size_t>(bytes)};
  PyErr_Clear();
  return "an exception whose text is no UTF-8";
}

}  // namespace

Run* running() {
  const auto found = runs.find(PyThreadState_Get());
  return found == runs.end() ? nullptr : found->second;
}

Interpreters::~Interpreters() {
  if (all_.empty()) return;
  const Locked locked;
  for (auto& [number, interpreter] : all_) {
    // (The element has moved. At the end of the run no PE is there any more to answer.)
    if (interpreter.reader && Pe::current() != nullptr) answer(*interpreter.reader, 0);
    Py_XDECREF(interpreter.names);
  }
}

void Interpreters::serve(const CkCcsRequestMsg& message, bool is_alone) {
  const Client client{message.reply, is_alone};
  const Result<Request> request = read_request({message.data, static_cast<std::size_t>(std::max(message.length, 0))});
  if (!request) return refuse(client, request.message());
  const Locked locked;
  switch (request->kind) {
    case Request::Kind::execute:
      return execute(*request, client);
    case Request::Kind::print:
      return give_output(*request, client);
    case Request::Kind::finished:
      return say_whether_finished(*request, client);
  }
}

// ---- scripts

void Interpreters::execute(const Request& request, Client client) {
  std::uint32_t number = request.interpreter;
  if (number == 0) {
    number = number_of(client.reply);
  } else {
    const auto found = all_.find(number);
    if (found == all_.end() || found->second.has_ended)
      return refuse(client, "it asks for interpreter " + std::to_string(number) +
                                ", which is not there: only those of persistent scripts stay");
    if (found->second.is_running)
      return refuse(client, "it asks for interpreter " + std::to_string(number) + ", whose last script still runs");
  }
  Interpreter& interpreter = all_[number];
  interpreter.is_running = true;
  interpreter.keeps_print = request.keeps_print;
  if (request.waits)
    interpreter.waiter = client;
  else
    answer(client, number);
  run(request, number, interpreter);
  end(number, interpreter, request.is_persistent);
}

void Interpreters::run(const Request& request, std::uint32_t number, Interpreter& interpreter) {
  // Aligned for whatever the program takes it for.
  std::vector<std::max_align_t> iterator(request.iterator.size() / sizeof(std::max_align_t) + 1);
  std::memcpy(iterator.data(), request.iterator.data(), request.iterator.size());
  Run run{&object_, this, static_cast<int>(number), request.is_high_level, iterator.data()};
  const auto here = runs.emplace(PyThreadState_Get(), &run).first;
  if (interpreter.names == nullptr)
    interpreter.names = PyObject_CallFunction(PyDict_GetItemString(host, "new"), nullptr);
  // (Code as bytes: a script says its encoding as a file does.)
  PyObject* wrong = PyObject_CallFunction(
      PyDict_GetItemString(host, "run"), "y#zOi", request.code.data(), static_cast<Py_ssize_t>(request.code.size()),
      request.iterates ? request.method.c_str() : nullptr, interpreter.names, request.is_high_level ? 1 : 0);
  runs.erase(here);
  if (wrong == Py_None) return Py_DECREF(wrong);
  if (wrong == nullptr) PyErr_Clear();
  const std::string why = wrong == nullptr ? "it could not be begun" : text_of(wrong);
  Py_XDECREF(wrong);
  if (!interpreter.keeps_print && !interpreter.reader)
    log::warn("a script of a client, interpreter " + std::to_string(number) + ": " + why);
  else
    print(static_cast<int>(number), why);
}

void Interpreters::end(std::uint32_t number, Interpreter& interpreter, bool is_persistent) {
  interpreter.is_running = false;
  if (interpreter.waiter) answer(*interpreter.waiter, number);
  interpreter.waiter.reset();
  if (is_persistent) return;
  if (interpreter.reader) answer(*interpreter.reader, 0);
  interpreter.reader.reset();
  interpreter.has_ended = true;
  PyObject* names = interpreter.names;
  interpreter.names = nullptr;
  if (interpreter.printed.empty()) all_.erase(number);
  Py_XDECREF(names);  // last: destructors of what the script leaves may do anything
}

PyObject* Interpreters::call(int number, const PythonMethod& method, PyObject* arguments) {
  Interpreter& interpreter = all_[static_cast<std::uint32_t>(number)];
  PyObject* const outer_arguments = std::exchange(interpreter.arguments, arguments);
  PyObject* const outer_result = std::exchange(interpreter.result, nullptr);
  try {
    method.call(&object_, number);
  } catch (const std::exception& e) {  // may not go through Python
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  interpreter.arguments = outer_arguments;
  PyObject* result = std::exchange(interpreter.result, outer_result);
  if (PyErr_Occurred() != nullptr) {
    Py_XDECREF(result);
    return nullptr;
  }
  return result != nullptr ? result : Py_NewRef(Py_None);
}

Interpreters::Interpreter& Interpreters::calling(int number, const char* function) {
  const auto found = all_.find(static_cast<std::uint32_t>(number));
  if (found == all_.end() || found->second.arguments == nullptr)
    fatal(
        std::string(function) + "(" + std::to_string(number) + ", ...): no script calls an entry method by this handle",
        "", "", "call it with the handle that the [python] entry method was given, before that returns");
  return found->second;
}

PyObject* Interpreters::arguments(int number) { return calling(number, "pythonGetArg").arguments; }

void Interpreters::set_result(int number, PyObject* result) {
  Interpreter& interpreter = calling(number, "pythonReturn");
  Py_XDECREF(std::exchange(interpreter.result, result));
}

// ---- output and ends

bool Interpreters::print(int number, std::string_view text) {
  Interpreter& interpreter = all_[static_cast<std::uint32_t>(number)];
  if (text.empty()) return true;
  if (interpreter.reader) {
    answer(*interpreter.reader, std::string(text));
    interpreter.reader.reset();
  } else if (interpreter.keeps_print) {
    if (interpreter.printed.size() + text.size() > kPrintMost) return false;
    interpreter.printed += text;
  }
  return true;
}

void Interpreters::give_output(const Request& request, Client client) {
  const auto found = all_.find(request.interpreter);
  if (request.kills) {
    if (found != all_.end() && found->second.reader) {
      answer(*found->second.reader, 0);
      found->second.reader.reset();
    }
    Answer none;
    none.is_none = true;
    return send(client, std::move(none));
  }
  if (found == all_.end()) return answer(client, 0);
  Interpreter& interpreter = found->second;
  if (!interpreter.printed.empty()) {
    answer(client, std::exchange(interpreter.printed, {}));
    if (interpreter.has_ended) all_.erase(found);
  } else if (request.waits) {
    if (interpreter.reader) answer(*interpreter.reader, 0);
    interpreter.reader = client;
  } else {
    answer(client, 0);
  }
}

void Interpreters::say_whether_finished(const Request& request, Client client) {
  const auto found = all_.find(request.interpreter);
  if (found == all_.end() || !found->second.is_running) return answer(client, request.interpreter);
  if (!request.waits) return answer(client, 0);
  if (found->second.waiter) answer(*found->second.waiter, 0);
  found->second.waiter = client;
}

// ---- answers

void Interpreters::answer(Client client, std::uint32_t number) {
  Answer answer;
  answer.number = number;
  send(client, std::move(answer));
}

void Interpreters::answer(Client client, std::string text) {
  Answer answer;
  answer.text = std::move(text);
  send(client, std::move(answer));
}

void Interpreters::refuse(Client client, const std::string& why) {
  Answer answer;
  answer.text = why;
  answer.is_refused = true;
  send(client, std::move(answer));
}

void Interpreters::send(Client client, Answer&& answer) {
  answer.reply = client.reply;
  answer.parts = 1;
  if (client.is_alone) return PythonCCS::give({answer});
  if (auto* element = dynamic_cast<ArrayElement*>(&object_)) {
    answer.place = element->ckGetID();
    answer.parts = 0;
  } else if (auto* member = dynamic_cast<Group*>(&object_)) {
    answer.place = static_cast<std::uint64_t>(member->thisIndex);
    answer.parts = static_cast<std::uint32_t>(CkNumPes());
  } else if (auto* of_node = dynamic_cast<NodeGroup*>(&object_)) {
    answer.place = static_cast<std::uint64_t>(of_node->thisIndex);
    answer.parts = static_cast<std::uint32_t>(CkNumNodes());
  }
  pythonCcsProxy.take(answer);
}

}  // namespace periapt::python
