// A trace of a run: a recorder for each PE, which files they write, and what the program tells of itself.
//
// Times count from one moment on all PEs: that at which all of them have passed a barrier.
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/fatal.h"
#include "base/log.h"
#include "base/program.h"
#include "runtime/converse/cmi.h"
#include "runtime/converse/tracer.h"
#include "runtime/scheduler/process.h"
#include "runtime/trace/part.h"
#include "runtime/trace/recorder.h"
#include "runtime/trace/sts.h"

namespace periapt::trace {
namespace {

bool wanted = false, starts_on = true;
std::string folder, command;  // +traceroot
std::size_t events_most = 1'000'000;
std::atomic<std::uint64_t> origin_ns{0};
std::vector<std::unique_ptr<Recorder>> recorders;  // by slot

Recorder& here() { return *recorders[static_cast<std::size_t>(Pe::current()->slot)]; }

// CkWallTimer() as the recorders count.
std::uint64_t us_of(double wall) {
  const double origin = 1e-9 * static_cast<double>(origin_ns.load(std::memory_order_relaxed));
  const double since = wall + (clock::seconds() - clock::seconds_since_start()) - origin;
  return since > 0 ? static_cast<std::uint64_t>(since * 1e6) : 0;
}

class ProgramTracer : public Tracer {
 public:
  void user_event(int event) override {
    here().add({.kind = Kind::user_event, .number = here().next_number(), .user = event});
  }
  void user_bracket(int event, double begin, double end, int nested) override {
    const Event bracket{.kind = Kind::user_bracket, .number = here().next_number(), .user = event, .nested = nested};
    here().add_at(bracket, us_of(begin));
    here().add_at(bracket, us_of(end));
  }
  void begin_user_bracket(int event, int nested) override { bracket(Kind::begin_user_bracket, event, nested); }
  void end_user_bracket(int event, int nested) override { bracket(Kind::end_user_bracket, event, nested); }
  void user_data(int data) override { here().add({.kind = Kind::user_data, .user = data}); }
  void memory_usage() override { here().add({.kind = Kind::memory_usage, .bytes = CmiMemoryUsage()}); }
  void user_stat(int stat, double value, double time) override {
    here().add({.kind = Kind::user_stat, .user = stat, .value = value, .at = time});
  }
  void turn(bool on) override { here().turn(on); }
  bool is_on() override { return here().is_on(); }
  void flush() override { static_cast<void>(here().write()); }

 private:
  static void bracket(Kind kind, int event, int nested) {
    here().add({.kind = kind, .number = here().next_number(), .user = event, .nested = nested});
  }
};

// FOLDER/program, or program.part-2 in a run of several partitions.
std::string stem(const Process& process) {
  const std::filesystem::path path(program::path());
  const std::filesystem::path in = folder.empty() ? path.parent_path() : std::filesystem::path(folder);
  std::string name = (in / path.filename()).string();
  const MachineLayer& layer = const_cast<Process&>(process).layer();
  if (layer.partitions().count() > 1) name += ".part-" + std::to_string(layer.partition());
  return name;
}

void take_options(char** argv) {
  if (!wanted) return;
  for (char** word = argv; *word != nullptr; ++word) command.append(word == argv ? "" : " ").append(*word);
  char* text = nullptr;
  if (CmiGetArgStringDesc(argv, "+traceroot", &text, "folder of the trace's files")) folder = text;
  int events = 0;
  if (CmiGetArgIntDesc(argv, "+logsize", &events, "events that a PE keeps in memory")) {
    if (events < 1)
      fatal("+logsize " + std::to_string(events) + " makes no sense", "command line", "", "it is a number of events");
    events_most = static_cast<std::size_t>(events);
  }
  if (CmiGetArgFlagDesc(argv, "+traceoff", "nothing is recorded before traceBegin()")) starts_on = false;
}

// The first PE of each OS thread waits for all others of the run.
void find_origin(Pe& pe) {
  if (pe.process.is_simulated()) return;  // its time begins at 0
  const bootstrap::HostLayout& layout = pe.process.layout();
  const auto carrier = static_cast<std::size_t>(layout.carrier_of[static_cast<std::size_t>(pe.index)]);
  if (layout.carriers[carrier].pes.front() != pe.index || !pe.process.layer().barrier()) return;
  std::uint64_t none = 0;
  origin_ns.compare_exchange_strong(none, clock::now_ns());
}

void begin(Pe& pe) {
  if (!wanted) return;
  find_origin(pe);
  static std::atomic_flag making;
  static std::atomic<bool> made{false};
  if (!making.test_and_set()) {
    recorders.resize(static_cast<std::size_t>(pe.process.hosted_pes()));
    Tracer::current = new ProgramTracer;
    made.store(true, std::memory_order_release);
  }
  while (!made.load(std::memory_order_acquire)) ::usleep(10);
  auto& recorder = recorders[static_cast<std::size_t>(pe.slot)];
  recorder = std::make_unique<Recorder>(pe, stem(pe.process) + "." + std::to_string(pe.index) + ".log",
                                        origin_ns.load(std::memory_order_relaxed), events_most);
  recorder->turn(starts_on);
}

// PEs of the process have stopped.
void end(int) {
  if (!wanted) return;
  Process& process = *Process::current();
  Status written;
  for (const auto& recorder : recorders) {
    const Status closed = recorder->close();
    if (written) written = closed;
  }
  if (written && (process.is_simulated() || process.first_pe() == 0)) {
    const Run run{process.pes(), process.count(), process.own_pes(), command};
    written = write_sts(stem(process) + ".sts", run);
  }
  if (!written) log::warn("the trace is not whole: " + written.message());
}

}  // namespace

void want_projections() { wanted = true; }

Part part() {
  Part part{"traces"};
  part.take_options = take_options;
  part.begin = begin;
  part.end = end;
  return part;
}

}  // namespace periapt::trace
