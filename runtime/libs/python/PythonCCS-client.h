// What a client sends to run Python scripts on objects of a program (docs/python.md): a request is packed, and goes to
// the handler that the program has given to registerPython(). Stands alone, for clients that are no chares. C++11.
//
//   PythonExecute request("print(ck.mype())", true);   // answered with the interpreter's number
//   PythonPrint output(interpreter);                   // answered with what was printed
//   PythonFinished finished(interpreter);              // answered with the number, or with 0
//
// Numbers of interpreters are kept as they come, in the order of the network: an answer's four bytes are given back as
// they are.
#pragma once
#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <string>

typedef uint32_t CmiUInt4;

// Over what a function is to be called: a class derived from it, which client and program have alike. Its bytes are
// sent as they are; size() has to be overridden, and pack() where there are pointers.
class PythonIterator {
 public:
  virtual ~PythonIterator() {}
  virtual int size() { return static_cast<int>(sizeof(*this)); }
  /// Memory of malloc(), of size() bytes.
  virtual char* pack() {
    char* bytes = static_cast<char*>(malloc(static_cast<size_t>(size())));
    memcpy(bytes, static_cast<void*>(this), static_cast<size_t>(size()));
    return bytes;
  }
  virtual void unpack() {}
};

namespace periapt_python {
// Of a request on the wire.
enum : uint32_t {
  execute_bytes = 48,
  execute_magic = execute_bytes ^ 37492037u,
  print_bytes = 12,
  print_magic = print_bytes ^ 989370215u,
  finished_bytes = 12,
  finished_magic = finished_bytes ^ 738963580u,
  // Where a PythonExecute has what; the code, the method's name, each with a zero behind it, and the iterator follow.
  at_code_length = 4,
  at_method_length = 24,
  at_iterator_bytes = 28,
  at_interpreter = 40,
  at_flags = 44,
  // Where the other two have it.
  at_short_interpreter = 4,
  at_short_flags = 8
};
enum : unsigned char {
  is_persistent = 0x80,
  keeps_print = 0x40,
  is_high_level = 0x20,
  iterates = 0x10,
  waits_for_end = 0x08,
  checks_nothing = 0x04,
  waits = 0x80,
  kills = 0x40
};
inline void put(char* to, CmiUInt4 number) { memcpy(to, &number, sizeof number); }
inline void set(unsigned char& flags, unsigned char flag, bool on) {
  flags = static_cast<unsigned char>(on ? flags | flag : flags & ~flag);
}

// PythonPrint and PythonFinished.
template <uint32_t magic>
class ShortRequest {
 public:
  ShortRequest(CmiUInt4 interpreter, unsigned char flags) : interpreter_(interpreter), flags_(flags) {}
  void setWait(bool on) { set(flags_, waits, on); }
  bool isWait() { return (flags_ & waits) != 0; }
  int size() { return static_cast<int>(sizeof bytes_); }
  /// Memory of the request's own.
  char* pack() {
    put(bytes_, htonl(magic));
    put(bytes_ + at_short_interpreter, interpreter_);
    bytes_[at_short_flags] = static_cast<char>(flags_);
    return bytes_;
  }

 protected:
  CmiUInt4 interpreter_;
  unsigned char flags_;

 private:
  char bytes_[print_bytes] = {};
};
}  // namespace periapt_python

class PythonExecute {
 public:
  PythonExecute(const char* code, bool persistent = false, bool highlevel = false, CmiUInt4 interpreter = 0)
      : code_(code), interpreter_(interpreter) {
    setPersistent(persistent);
    setKeepPrint(persistent);
    setHighLevel(highlevel);
  }
  PythonExecute(const char* code, const char* method, PythonIterator* iterator, bool persistent = false,
                bool highlevel = false, CmiUInt4 interpreter = 0)
      : PythonExecute(code, persistent, highlevel, interpreter) {
    setMethodName(method);
    setIterator(iterator);
    setIterate(true);
  }

  void setCode(const char* code) { code_ = code; }
  void setMethodName(const char* name) { method_ = name; }
  void setIterator(PythonIterator* iterator) {
    char* bytes = iterator->pack();
    iterator_.assign(bytes, static_cast<size_t>(iterator->size()));
    free(bytes);
  }
  void setInterpreter(CmiUInt4 interpreter) { interpreter_ = interpreter; }
  void setPersistent(bool on) { periapt_python::set(flags_, periapt_python::is_persistent, on); }
  void setIterate(bool on) { periapt_python::set(flags_, periapt_python::iterates, on); }
  void setHighLevel(bool on) { periapt_python::set(flags_, periapt_python::is_high_level, on); }
  void setKeepPrint(bool on) { periapt_python::set(flags_, periapt_python::keeps_print, on); }
  void setWait(bool on) { periapt_python::set(flags_, periapt_python::waits_for_end, on); }
  void setNoCheck(bool on) { periapt_python::set(flags_, periapt_python::checks_nothing, on); }

  bool isPersistent() { return (flags_ & periapt_python::is_persistent) != 0; }
  bool isIterate() { return (flags_ & periapt_python::iterates) != 0; }
  bool isHighLevel() { return (flags_ & periapt_python::is_high_level) != 0; }
  bool isKeepPrint() { return (flags_ & periapt_python::keeps_print) != 0; }
  bool isWait() { return (flags_ & periapt_python::waits_for_end) != 0; }
  bool isNoCheck() { return (flags_ & periapt_python::checks_nothing) != 0; }
  CmiUInt4 getInterpreter() { return interpreter_; }

  int size() {
    return static_cast<int>(periapt_python::execute_bytes + code_.size() + 1 + method_.size() + 1 + iterator_.size());
  }
  /// Memory of malloc(), of size() bytes.
  char* pack() {
    using namespace periapt_python;
    char* bytes = static_cast<char*>(calloc(1, static_cast<size_t>(size())));
    put(bytes, htonl(execute_magic));
    put(bytes + at_code_length, htonl(static_cast<uint32_t>(code_.size())));
    put(bytes + at_method_length, htonl(static_cast<uint32_t>(method_.size())));
    put(bytes + at_iterator_bytes, htonl(static_cast<uint32_t>(iterator_.size())));
    put(bytes + at_interpreter, interpreter_);
    bytes[at_flags] = static_cast<char>(flags_);
    char* to = bytes + execute_bytes;
    for (const std::string* text : {&code_, &method_}) {
      if (text->empty()) continue;
      memcpy(to, text->c_str(), text->size() + 1);
      to += text->size() + 1;
    }
    memcpy(to, iterator_.data(), iterator_.size());
    return bytes;
  }

 private:
  std::string code_, method_, iterator_;
  CmiUInt4 interpreter_;
  unsigned char flags_ = 0;
};

class PythonPrint : public periapt_python::ShortRequest<periapt_python::print_magic> {
 public:
  /// `wait`: until there is something. `kill`: answers the request for output that waits, with 0; it has no answer
  /// itself.
  explicit PythonPrint(CmiUInt4 interpreter, bool wait = true, bool kill = false)
      : ShortRequest(interpreter, static_cast<unsigned char>((wait ? periapt_python::waits : 0) |
                                                             (kill ? periapt_python::kills : 0))) {}
  void setKill(bool on) { periapt_python::set(flags_, periapt_python::kills, on); }
  bool isKill() { return (flags_ & periapt_python::kills) != 0; }
};

class PythonFinished : public periapt_python::ShortRequest<periapt_python::finished_magic> {
 public:
  explicit PythonFinished(CmiUInt4 interpreter, bool wait = true)
      : ShortRequest(interpreter, static_cast<unsigned char>(wait ? periapt_python::waits : 0)) {}
};
