// What records a trace of this process. The functions of trace_events.h reach it; runtime/trace is one.
#pragma once
#include <map>
#include <string>

namespace periapt {

// All calls are about the PE that calls. Times are those of CmiWallTimer().
class Tracer {
 public:
  virtual ~Tracer() = default;
  virtual void user_event(int event) = 0;
  virtual void user_bracket(int event, double begin, double end, int nested) = 0;
  virtual void begin_user_bracket(int event, int nested) = 0;
  virtual void end_user_bracket(int event, int nested) = 0;
  virtual void user_data(int data) = 0;
  virtual void memory_usage() = 0;
  virtual void user_stat(int stat, double value, double time) = 0;  // time: what the program says; -1: nothing
  virtual void turn(bool on) = 0;
  virtual bool is_on() = 0;
  virtual void flush() = 0;

  static inline Tracer* current = nullptr;  // null: nothing records
};

// What was registered, by number.
std::map<int, std::string> user_event_names();
std::map<int, std::string> user_stat_names();

}  // namespace periapt
