// Checkpoints of a run: when one is written, by whom, and how the program goes on; and the restart from one.
//
// PE 0 leads. When asked for a checkpoint it waits for quiescence, and then goes twice around all PEs: first each tells
// how many messages it has created and processed, and then each writes its parts and tells that again. When both sums
// of both rounds are the same, nothing moved from the first answer to the last part (the four counters of
// quiescence.h), and what was written is one state of the program. If something did move (a timer, another callback of
// the same quiescence) the parts are thrown away, and PE 0 waits for the next quiescence. Then it writes the manifest.
//
// For a restart each process makes its readonlys and mainchares on its first PE, then each PE all else. When all have
// said so and their messages have been delivered, PE 0 calls what was to be called after the checkpoint.
//
// A checkpoint in memory is made in the same way, and when a process was killed all processes are new ones, which begin
// with a restart from it (machine/bootstrap/launch.h). So nothing of the time between can reach them.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/copies.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/snapshot.h"
#include "runtime/checkpoint/storage.h"
#include "runtime/collective/quiescence.h"

namespace periapt::checkpoint {

class Checkpoints {
 public:
  explicit Checkpoints(Pe& pe) : pe_(pe), copies_(pe) {}
  static void register_entries();
  static Checkpoints& of(Pe& pe) { return *pe.objects->checkpoints; }
  Copies& copies() { return copies_; }

  // Where a checkpoint is to be written: in memory, or in a folder.
  struct Target {
    bool memory = false;
    std::string folder;
  };
  // Asks PE 0.
  static void start(const Target& target, const Afterwards& afterwards, int writers);
  // On PE 0, before the run goes on in another start of the program: `done` is called when the checkpoint is there, or
  // with why there is none. Nothing is called after the restart from it.
  using Done = std::function<void(const std::string& failure)>;
  void write_for_resize(const Target& target, Done done);
  // On each PE, at the start of a run.
  void restart();

 private:
  // What a PE is told before it writes.
  struct Order {
    std::uint64_t id;
    std::int32_t number, writers;
    bool memory;  // else the folder stands behind this
    bool for_resize;
  };
  struct Prepared {
    Quiescence::Counts counts;
    std::uint64_t memory = 0;  // which its process has; 0: none
    std::int32_t pe = 0;
  };
  struct Answer {
    Quiescence::Counts counts;
    std::uint64_t pe_bytes = 0, process_bytes = 0, program_bytes = 0;
    std::int32_t pe = 0;
    bool good = true;  // else the reason stands behind this
  };
  struct Ask {
    std::int32_t writers;
    Afterwards afterwards;
    bool memory;  // else the folder stands behind this
  };
  // PE 0, while a checkpoint is asked for.
  struct Run {
    Target target;
    std::unique_ptr<Storage> storage;
    Afterwards afterwards;
    Done done;  // of one for a resize
    Manifest manifest;
    std::uint64_t began_ns = 0;
    int answers = 0;
    Quiescence::Counts before, after;
    std::map<std::uint64_t, int> memories;  // and the first PE of each
    std::uint64_t bytes = 0;
    std::string failure;
  };

  static void on_ask(Pe&, Delivery&);
  static void on_prepare(Pe&, Delivery&);
  static void on_counts(Pe&, Delivery&);
  static void on_write(Pe&, Delivery&);
  static void on_turn(Pe&, Delivery&);
  static void on_written(Pe&, Delivery&);
  static void on_process_restored(Pe&, Delivery&);
  static void on_restored(Pe&, Delivery&);
  static void on_over(Pe&, Delivery&);
  static void on_heard(Pe&, Delivery&);

  Quiescence::Counts counts() const { return {pe_.created, pe_.processed}; }
  void begin(const Target& target, std::unique_ptr<Storage> storage);
  void wait_for_quiescence();
  void prepare();
  void prepared(const Prepared& answer);
  void write();
  void warn_of_threads(const std::string& threads);
  void written(const Answer& answer, const std::string& failure);
  void end_round();
  void end(std::string failure);
  void restore();
  void all_restored();
  void go_on();

  Pe& pe_;
  Copies copies_;
  std::size_t threads_told_ = 0;  // so many were left out when that was last said
  // Of the checkpoint that is being written.
  Order order_{};
  std::unique_ptr<Storage> storage_;
  Afterwards afterwards_;  // PE 0
  std::optional<Run> run_;
  int writers_ = 0;   // as many as the last time
  int restored_ = 0;  // PEs that have answered
};

}  // namespace periapt::checkpoint
