// The interpreters of one object: names that scripts of clients have set, what they printed, and which script runs.
//
// A process has one Python. Its lock is held by what runs on a PE in behalf of a script, or touches Interpreters: so a
// node group's, which several PEs ask, need no other. A script runs in a thread of the PE with a Python thread state of
// its own. Where that thread stops, for [sync] calls or callbacks, the lock is given up.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "PythonCCS.h"
#include "requests.h"

namespace periapt::python {

class Interpreters {
 public:
  explicit Interpreters(PythonObject& object) : object_(object) {}
  ~Interpreters();

  /// On a thread of the object's PE. `is_alone`: the other objects of its collection get other requests.
  void serve(const CkCcsRequestMsg& message, bool is_alone);

  // ---- for the script that runs, with the lock held

  /// False: what is printed would be more than is kept.
  bool print(int number, std::string_view text);
  PyObject* arguments(int number);
  void set_result(int number, PyObject* result);
  /// A new reference; null: the method has raised an exception.
  PyObject* call(int number, const PythonMethod& method, PyObject* arguments);

 private:
  struct Client {
    CcsDelayedReply reply;
    bool is_alone;
  };
  struct Interpreter {
    PyObject* names = nullptr;
    bool is_running = false;
    bool has_ended = false;  // and is there for what it has printed
    bool keeps_print = false;
    std::string printed;
    std::optional<Client> reader, waiter;  // waits for output, for the end
    PyObject* arguments = nullptr;         // of the entry method that is called, borrowed
    PyObject* result = nullptr;
  };

  void execute(const Request& request, Client client);
  void run(const Request& request, std::uint32_t number, Interpreter& interpreter);
  void end(std::uint32_t number, Interpreter& interpreter, bool is_persistent);
  void give_output(const Request& request, Client client);
  void say_whether_finished(const Request& request, Client client);
  Interpreter& calling(int number, const char* function);

  void answer(Client client, std::uint32_t number);
  void answer(Client client, std::string text);
  void refuse(Client client, const std::string& why);
  void send(Client client, Answer&& answer);

  PythonObject& object_;
  std::map<std::uint32_t, Interpreter> all_;
};

/// What runs a script, by its Python thread.
struct Run {
  PythonObject* object;
  Interpreters* interpreters;
  int number;
  bool is_high_level;
  void* iterator;
};
/// That of the calling thread; null: it runs none.
Run* running();

PyObject* make_ck_module();

}  // namespace periapt::python
