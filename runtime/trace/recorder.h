// Recorder: the events of one PE, in memory until there are many of them, then in its log.
//
// Entries may run within each other (inline calls, constructors) and may stop (threads); in a log they never overlap.
// What an entry is interrupted by ends it, and begins it anew behind that.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/scheduler/pe.h"
#include "runtime/trace/event.h"

namespace periapt::trace {

class Recorder : public Observer {
 public:
  // `origin_ns`: clock::now_ns() at time 0. Keeps `most` events in memory.
  Recorder(Pe& pe, std::string path, std::uint64_t origin_ns, std::size_t most);
  Recorder(const Recorder&) = delete;

  void turn(bool on);
  bool is_on() const { return on_; }
  // Of the user: what is left is filled in.
  void add(Event event);
  void add_at(Event event, std::uint64_t time_us);
  std::int32_t next_number() { return next_number_++; }

  // Writes what there is, to the end of the log.
  Status write();
  // The last event, and all that is left.
  Status close();

  void on_created(Pe&, const Created& created) override;
  void on_begin(Pe&, const Delivery& call) override;
  void on_end(Pe&, const Delivery&) override;

 private:
  struct Frame {
    Event event;     // as it began
    Thread* thread;  // that runs it; null: the scheduler
    bool hidden;     // [notrace]
  };
  struct Stopped;
  std::uint64_t now_us() const;
  void begin_top();
  void end_top();
  void keep(const Event& event);
  static void begin_idle(void* self) { static_cast<Recorder*>(self)->add({.kind = Kind::begin_idle}); }
  static void end_idle(void* self) { static_cast<Recorder*>(self)->add({.kind = Kind::end_idle}); }

  Pe& pe_;
  const std::string path_;
  const std::uint64_t origin_ns_;
  const std::size_t most_;
  bool on_ = false, begun_ = false;
  std::int32_t next_number_ = 0;
  std::vector<Event> events_;
  std::vector<Frame> frames_;  // the innermost last
  std::vector<Stopped*> stopped_;
  Status failed_;  // of the first write that did
};

}  // namespace periapt::trace
