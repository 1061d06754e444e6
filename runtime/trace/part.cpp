// Traces in a program: one recorder a PE, and the files of symbols, which PE 0 writes.
#include "runtime/trace/part.h"

#include <mutex>

#include "runtime/api/direct_call.h"
#include "runtime/converse/cmi.h"
#include "runtime/converse/trace_events.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/scheduler/process.h"
#include "runtime/trace/modules.h"
#include "runtime/trace/options.h"
#include "runtime/trace/recorder.h"
#include "runtime/trace/symbols.h"

namespace periapt::trace {
namespace {

std::string command_line;

// Null: nothing of that PE is recorded.
Recorder* recorder_of(Pe* pe) { return pe != nullptr && pe->objects != nullptr ? pe->objects->trace.get() : nullptr; }
// Null too while it is off.
Recorder* recording() {
  Recorder* const recorder = recorder_of(Pe::current());
  return recorder != nullptr && recorder->is_on() ? recorder : nullptr;
}
EventLog* log_of(Recorder* recorder) { return recorder != nullptr ? recorder->log() : nullptr; }

// Those of this PE, while they are told something.
template <class What>
void tell_modules(What&& what) {
  if (Modules* const modules = modules_here(); modules != nullptr && modules->is_on()) modules->all().each(what);
}

class Calls final : public TraceCalls {
 public:
  void event(int event) override {
    add([&](EventLog& log, Recorder& r) { log.event(event, r.now()); });
    tell_modules([&](Trace& t) { t.userEvent(event); });
  }
  void bracket(int event, double begin, double end, int nested) override {
    add([&](EventLog& log, Recorder& r) { log.bracket(event, r.at(begin), r.at(end), nested); });
    tell_modules([&](Trace& t) { t.userBracketEvent(event, begin, end, nested); });
  }
  void begin_bracket(int event, int nested) override {
    add([&](EventLog& log, Recorder& r) { log.bracket_side(true, event, r.now(), nested); });
    tell_modules([&](Trace& t) { t.beginUserBracketEvent(event, nested); });
  }
  void end_bracket(int event, int nested) override {
    add([&](EventLog& log, Recorder& r) { log.bracket_side(false, event, r.now(), nested); });
    tell_modules([&](Trace& t) { t.endUserBracketEvent(event, nested); });
  }
  void data(int value) override {
    add([&](EventLog& log, Recorder& r) { log.data(value, r.now()); });
    tell_modules([&](Trace& t) { t.userSuppliedData(value); });
  }
  void note(const char* text) override {
    add([&](EventLog& log, Recorder& r) { log.note(text, r.now()); });
    tell_modules([&](Trace& t) { t.userSuppliedNote(text); });
  }
  void bracketed_note(const char* text, int event, double begin, double end) override {
    add([&](EventLog& log, Recorder& r) { log.bracketed_note(text, event, r.at(begin), r.at(end)); });
    tell_modules([&](Trace& t) { t.userSuppliedBracketedNote(text, event, begin, end); });
  }
  void memory() override {
    add([&](EventLog& log, Recorder& r) { log.memory(CmiMemoryUsage(), r.now()); });
    tell_modules([&](Trace& t) { t.memoryUsage(static_cast<double>(CmiMemoryUsage())); });
  }
  void statistic(int number, double value, double at) override {
    add([&](EventLog& log, Recorder& r) { log.statistic(number, value, at, r.now()); });
    tell_modules([&](Trace& t) { at == -1 ? t.updateStat(number, value) : t.updateStatPair(number, value, at); });
  }
  void turn(bool on) override {
    if (Recorder* const recorder = recorder_of(Pe::current())) recorder->turn(on);
    if (Modules* const modules = modules_here()) modules->turn(on);
  }
  bool is_on() override {
    const Modules* const modules = modules_here();
    return recording() != nullptr || (modules != nullptr && modules->is_on());
  }
  void flush() override {
    if (EventLog* const log = log_of(recorder_of(Pe::current()))) log->flush();
    tell_modules([](Trace& t) { t.traceFlushLog(); });
  }

 private:
  template <class Add>
  void add(Add&& add) {
    Recorder* const recorder = recording();
    if (EventLog* const log = log_of(recorder)) add(*log, *recorder);
  }
};

class Blocks final : public SerialObserver {
  void on_serial(Pe& pe, const SerialBlock& block, bool begins) override {
    if (Recorder* const recorder = recorder_of(&pe)) recorder->serial(block, begins);
    if (Modules* const modules = modules_here()) modules->serial(block, begins);
  }
};

class InPlace final : public DirectCallObserver {
  void on_direct_call(Pe& pe, const Delivery& call, bool begins) override {
    if (Recorder* const recorder = recorder_of(&pe)) recorder->direct(call, begins);
    if (Modules* const modules = modules_here()) modules->direct(call, begins);
  }
};

Calls the_calls;

void prepare(char** argv) {
  for (char** word = argv; *word; ++word) {
    if (word != argv) command_line += ' ';
    command_line += *word;
  }
  take_options(argv);
  keep_arguments(argv);
  static Blocks blocks;
  static InPlace in_place;
  if (prepare_modules() || options().on()) {
    SerialBlocks::observer = &blocks;
    DirectCalls::observer = &in_place;
  }
  if (!options().on()) return;
  TraceCalls::recorder = &the_calls;
  traceRegisterUserEvent("serial", serial_event);
}

void begin(Pe& pe) {
  if (options().on() && options().wants(pe.index)) pe.objects->trace = std::make_shared<Recorder>(pe);
  make_modules(pe);
  static std::once_flag once;
  if (modules_here() != nullptr) std::call_once(once, [] { TraceCalls::recorder = &the_calls; });
}

void end(Pe& pe) {
  if (Recorder* const recorder = recorder_of(&pe)) recorder->end();
  if (Modules* const modules = modules_here()) modules->end();
  if (pe.index != 0) return;
  const std::string root = root_of(pe.process);
  if (options().projections) {
    Output(root + ".sts", false).write(symbols(pe.process, command_line, true));
    const std::uint64_t ns = recorder_of(&pe) ? recorder_of(&pe)->now() : 0;
    Output(root + ".projrc", false)
        .write("RC_GLOBAL_START_TIME 0\nRC_GLOBAL_END_TIME   " + std::to_string(ns / 1000) + "\n");
  }
  if (options().summary) Output(root + ".sum.sts", false).write(symbols(pe.process, command_line, false));
}

}  // namespace

Part part() {
  Part part{"traces"};
  part.take_options = prepare;
  part.begin = begin;
  part.end = end;
  return part;
}

}  // namespace periapt::trace
