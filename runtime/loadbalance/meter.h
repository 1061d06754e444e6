// Measures: seconds spent in the entry methods of each element that takes part, and in all others of this PE. They are
// wall time, and where that is asked for processor time besides.
//
// It watches begin and end of entries. No record pays for the time in which a threaded entry waits: see
// execution_frames.h.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "runtime/objects/balance_hook.h"
#include "runtime/scheduler/execution_frames.h"

namespace periapt::loadbalance {

class Meter : public Observer {
 public:
  // `processor_time`: that is measured, too.
  Meter(Pe& pe, bool processor_time) : pe_(pe), processor_time_(processor_time), frames_(pe, *this) {}
  ~Meter() override;

  // Watching costs two looks at the clock an entry; off, it costs nothing. The clock of processor time is a call of the
  // system.
  void turn(bool on);
  bool is_on() const { return on_; }
  // The record that is charged now.
  static constexpr std::int32_t nobody = -1;
  std::int32_t running() const { return frames_.empty() ? nobody : frames_.innermost(); }
  // Calls fn(argument) once, when something that has a record begins next, or is said to have run.
  void when_something_runs(void (*fn)(void*), void* argument) { on_next_ = fn, next_argument_ = argument; }
  void runs() {
    if (on_next_) [[unlikely]]
      std::exchange(on_next_, nullptr)(next_argument_);
  }

  // The record is free: what still runs for it is background.
  void forget(std::int32_t record);
  // Room for records up to this one.
  void reserve(std::int32_t record) {
    if (static_cast<std::size_t>(record) >= spent_.size()) spent_.resize(record + 1);
  }

  // Charged so far; up_to_now() charges what has passed since the last look first, so that a reading in the middle of
  // an entry counts the entry up to there.
  TimeSpent& spent(std::int32_t record) { return spent_[static_cast<std::size_t>(record)]; }
  TimeSpent& up_to_now(std::int32_t record);
  const TimeSpent& background() const { return background_; }
  double wall() const;
  double idle() const { return pe_.idle_seconds() - idle_before_; }
  // A new interval: all that was charged, wall and idle start at 0.
  void restart();
  // GPUs have worked so long for the record, or for what has none.
  void charge_gpu(std::int32_t record, double seconds) {
    (record == nobody ? background_ : spent(record)).gpu += seconds;
  }

  // For what runs without being an entry.
  void begin(std::int32_t record) {
    frames_.push(record);
    if (record != nobody) runs();
  }
  void end() { frames_.pop(); }
  // The same as end() and begin(), with one look at the clock.
  void go_on_with(std::int32_t record) {
    if (frames_.empty()) return begin(record);  // it was turned off and on
    frames_.replace(record);
  }

 private:
  friend ExecutionFrames<std::int32_t, Meter>;
  void on_begin(Pe&, const Delivery& execution) override;
  void on_end(Pe&, const Delivery&) override;
  void before_change() { charge(); }
  void after_change() {}
  void charge();  // the time since the last look, to the innermost frame

  Pe& pe_;
  const bool processor_time_;
  bool on_ = false;
  void (*on_next_)(void*) = nullptr;
  void* next_argument_ = nullptr;
  std::vector<TimeSpent> spent_;  // by record
  ExecutionFrames<std::int32_t, Meter> frames_;
  std::uint64_t since_ns_ = 0, processor_since_ns_ = 0;
  TimeSpent background_;
  std::uint64_t interval_ns_ = 0;
  double idle_before_ = 0;
};

}  // namespace periapt::loadbalance
