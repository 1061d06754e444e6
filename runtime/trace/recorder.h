// Records one PE's run: watches the scheduler, and writes a log, a profile or both when it ends.
//
// A record in the log is one piece of an entry's execution: it ends where another one begins within it (a constructor)
// or the thread of the entry stops, and the next piece begins where it goes on.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/objects/serial_block.h"
#include "runtime/scheduler/execution_frames.h"
#include "runtime/trace/event_log.h"
#include "runtime/trace/profile.h"

namespace periapt {
class Process;
}

namespace periapt::trace {

// The folder and name that all files begin with: FOLDER/NAME, or FOLDER/NAME.part-2 in a run of several partitions.
std::string root_of(Process& process);

class Recorder : public Observer {
 public:
  explicit Recorder(Pe& pe);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder() override;

  void turn(bool on);
  bool is_on() const { return on_; }
  // Null: only the profile is asked for.
  EventLog* log() { return log_ ? &*log_ : nullptr; }
  std::uint64_t now() const;
  // Of a time of CmiWallTimer().
  std::uint64_t at(double seconds) const;
  void serial(const SerialBlock& block, bool begins);
  // Of an [inline] or [local] entry, called in place.
  void direct(const Delivery& call, bool begins);
  // At the end of the run: what there is is written.
  void end();

 private:
  void on_created(Pe&, const Created& created) override;
  void on_begin(Pe&, const Delivery& call) override;
  void on_end(Pe&, const Delivery& call) override;
  void begin();
  friend ExecutionFrames<Execution, Recorder>;
  void before_change();
  void after_change();
  void pause();  // of what runs
  void resume();
  void begin_idle();
  void end_idle();

  struct Serial {
    const SerialBlock* block;
    std::uint64_t begin_ns;
  };

  Pe& pe_;
  const std::uint64_t begin_ns_;
  const double begin_seconds_;
  bool on_ = false;
  bool running_ = false;  // a piece of the innermost frame
  bool resumes_ = true;   // what called an entry that has ended
  std::optional<std::uint64_t> idle_since_ns_;
  ExecutionFrames<Execution, Recorder> frames_;
  std::optional<EventLog> log_;
  std::optional<Profile> profile_;
  std::vector<Serial> serials_;  // that have begun
};

}  // namespace periapt::trace
