// +fuzz, +record, +replay: what they make of each PE.
#include "runtime/order/part.h"

#include <memory>
#include <string>

#include "base/fatal.h"
#include "base/fnv1a.h"
#include "base/log.h"
#include "runtime/face/watchdog.h"
#include "runtime/order/fuzz.h"
#include "runtime/order/in_order.h"
#include "runtime/order/recorder.h"
#include "runtime/order/replay.h"
#include "runtime/registry/registered_text.h"
#include "runtime/scheduler/arguments.h"
#include "runtime/scheduler/process.h"

namespace periapt::order {

namespace {
bool fuzzes = false;
std::uint64_t seed = 0;
std::string record, replay, log_file;  // files; empty: not asked for
std::string wanted_changes;            // as it was written; empty: all
Changes changes;

void take_changes(char** argv) {
  char* text;  // (before +fuzz, which these names begin with)
  if (CmiGetArgString(argv, "+fuzz-changes", &text)) wanted_changes = text;
  if (CmiGetArgString(argv, "+fuzz-log", &text)) log_file = text;
  if (wanted_changes.empty()) return;
  Result<Changes> read = Changes::parse(wanted_changes);
  if (!read)
    fatal("+fuzz-changes is no list of changes: " + read.message(), "the command line",
          "it is PE:DECISION or PE:FROM-TO, several of them with commas between, none, all, or @FILE that holds such a "
          "list",
          "tools/periapt-fuzz finds which matter: +fuzz-changes 0:12,1:40-43");
  changes = std::move(*read);
}

void take_options(char** argv) {
  CmiInt8 number;
  char* name;
  take_changes(argv);
  fuzzes = CmiGetArgLong(argv, "+fuzz", &number);
  if (fuzzes) seed = static_cast<std::uint64_t>(number);
  if (CmiGetArgString(argv, "+record", &name)) record = name;
  if (CmiGetArgString(argv, "+replay", &name)) replay = name;
  if (!fuzzes && (!wanted_changes.empty() || !log_file.empty()))
    fatal(std::string(log_file.empty() ? "+fuzz-changes" : "+fuzz-log") + " is given without +fuzz", "the command line",
          "it is about the changes that +fuzz makes in the order of messages", "add +fuzz SEED");
  if (fuzzes && !replay.empty())
    fatal("+fuzz and +replay contradict each other", "the command line",
          "a replay runs messages in the order that was recorded", "leave one of them away");
}

RecordingHead head_of(const Pe& pe) {
  RecordingHead head;
  head.pe = pe.index;
  head.pes = pe.process.pes();
  head.processes = pe.process.count();
  const std::string registered = registered_text();
  head.program = fnv1a(registered.data(), registered.size());
  return head;
}
std::string file_of(const std::string& name, const Pe& pe) { return name + "." + std::to_string(pe.index); }

// PE 0 opens its file before the program starts, the others with their first piece of work: what is wrong with all of
// them is told once.
std::unique_ptr<Ordering> make_replay(const Pe& pe) {
  auto made = std::make_unique<Replay>(file_of(replay, pe), head_of(pe));
  if (pe.index == 0) {
    made->open();
    log::note("replays " + replay);
  }
  if (pe.rank == 0) {
    Watchdog::also_explain(Replay::explain);
    Watchdog::end_at_standstill({"the replay of " + replay + " does something else than its recording", "",
                                 "the program, its arguments or what it reads are not those of the recorded run; or it "
                                 "goes by something else than the order of its messages: time, addresses, threads",
                                 "record it again, and look what the PEs named here expected"});
  }
  return made;
}

std::unique_ptr<Ordering> make_fuzz(const Pe& pe) {
  if (pe.index == 0) {
    if (changes.last_pe() >= pe.process.pes())
      fatal("+fuzz-changes names PE " + std::to_string(changes.last_pe()) + ", and the run has PEs 0 to " +
                std::to_string(pe.process.pes() - 1),
            "the command line", "a list is of the number of PEs that it was found with", "start as many PEs");
    const std::string how_many =
        changes.all() ? std::string() : " in " + std::to_string(changes.count()) + " decisions (+fuzz-changes)";
    log::note("+fuzz " + std::to_string(seed) + ": messages of different senders run in orders drawn from that seed" +
              how_many + (record.empty() ? "; +record FILE writes down which" : ""));
  }
  auto log = log_file.empty() ? nullptr : std::make_unique<ChangeLog>(file_of(log_file, pe));
  return std::make_unique<Fuzz>(seed, pe.index, changes, std::move(log));
}

void begin(Pe& pe) {
  if (!fuzzes && record.empty() && replay.empty()) return;
  if (pe.process.is_simulated())
    fatal("+fuzz, +record and +replay are for real PEs", "the command line",
          "a simulated machine has its own seed, delays and reordering", "leave +sim away, or see docs/simulation.md");
  std::unique_ptr<Ordering> ordering = fuzzes            ? make_fuzz(pe)
                                       : !replay.empty() ? make_replay(pe)
                                                         : std::make_unique<InOrder>();
  if (!record.empty()) {
    auto recorder = std::make_unique<Recorder>(std::move(ordering), file_of(record, pe), head_of(pe));
    if (pe.index == 0) recorder->open();
    ordering = std::move(recorder);
  }
  pe.set_ordering(std::move(ordering));
}
}  // namespace

Part part() {
  Part part{"order of messages"};
  part.take_options = take_options;
  part.begin = begin;
  return part;
}

}  // namespace periapt::order
