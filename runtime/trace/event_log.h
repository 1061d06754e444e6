// The log of one PE as Projections reads it: NAME.PE.log, a line for each event, of version 11.0 of the format.
//
// Events are kept as they are and written as text when there are many, or the program asks for it.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/trace/output.h"

namespace periapt::trace {

// The number of the event that labelled serial blocks of bodies are shown as.
constexpr int serial_event = 29999;

// What runs: an entry, and of which element.
struct Execution {
  std::uint16_t entry = 0;
  bool traced = true;           // its entry is not [notrace]
  std::uint8_t dimensions = 0;  // of the element's index; 0: no element of an array
  std::uint64_t bytes = 0;      // of arguments
  std::uint64_t since_ns = 0;   // running without a pause
  int index[6] = {};            // as many as dimensions
};

// Times are nanoseconds since the begin of the run on this PE.
class EventLog {
 public:
  EventLog(int pe, std::size_t events_max, std::unique_ptr<Output> output);
  ~EventLog();

  void begin_execution(const Execution& execution, std::uint64_t ns);
  void end_execution(const Execution& execution, std::uint64_t ns);
  // To one PE.
  void created(int entry, std::uint64_t bytes, std::uint64_t ns);
  // To `pes` PEs.
  void created_for_all(int entry, std::uint64_t bytes, int pes, std::uint64_t ns);
  void idle(bool begins, std::uint64_t ns);
  void turned(bool on, std::uint64_t ns);
  void event(int event, std::uint64_t ns);
  void bracket(int event, std::uint64_t begin_ns, std::uint64_t end_ns, int nested);
  void bracket_side(bool begins, int event, std::uint64_t ns, int nested);
  void data(int value, std::uint64_t ns);
  void note(const std::string& text, std::uint64_t ns);
  void bracketed_note(const std::string& text, int event, std::uint64_t begin_ns, std::uint64_t end_ns);
  void memory(std::uint64_t bytes, std::uint64_t ns);
  // `at`: in a unit of the program's own.
  void statistic(int number, double value, double at, std::uint64_t ns);

  void flush();
  // Nothing comes behind it.
  void close(std::uint64_t ns);

 private:
  struct Event;
  Event& add(int type, std::uint64_t ns);
  void put(std::string& text, const Event& event) const;

  const int pe_;
  const std::size_t events_max_;
  std::unique_ptr<Output> output_;
  std::vector<Event> events_;
  std::vector<std::string> texts_;  // of notes
  int created_ = 0;                 // numbers of what is created begin at 1: what runs is of none
};

}  // namespace periapt::trace
