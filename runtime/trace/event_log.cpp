// See event_log.h.
#include "runtime/trace/event_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace periapt::trace {
namespace {

// Projections' numbers of events.
enum Type : std::uint8_t {
  kCreation = 1,
  kBeginProcessing = 2,
  kEndProcessing = 3,
  kBeginComputation = 6,
  kEndComputation = 7,
  kBeginTrace = 11,
  kEndTrace = 12,
  kUserEvent = 13,
  kBeginIdle = 14,
  kEndIdle = 15,
  kCreationBroadcast = 20,
  kUserSupplied = 26,
  kMemoryUsage = 27,
  kUserNote = 28,
  kUserBracketedNote = 29,
  kUserStatistic = 32,
  kBeginUserEventPair = 98,
  kEndUserEventPair = 99,
  kUserEventPair = 100,
};

std::uint64_t micros(std::uint64_t ns) { return ns / 1000; }

}  // namespace

struct EventLog::Event {
  std::uint8_t type;
  std::uint8_t dimensions;
  std::uint16_t entry;
  int number;  // of what was created, of the program's event, of a note's text
  std::uint64_t ns;
  union {
    std::uint64_t bytes;
    std::uint64_t end_ns;
    double value;
  };
  union {
    int index[6];
    int nested;
    int pes;
    int event;
    double at;
  };
};

EventLog::EventLog(int pe, std::size_t events_max, std::unique_ptr<Output> output)
    : pe_(pe), events_max_(events_max), output_(std::move(output)) {
  events_.reserve(std::min<std::size_t>(events_max, 1 << 16));
  output_->write("PROJECTIONS-RECORD 0\n");
  add(kBeginComputation, 0);
}
EventLog::~EventLog() = default;

EventLog::Event& EventLog::add(int type, std::uint64_t ns) {
  if (events_.size() >= events_max_) flush();
  Event& event = events_.emplace_back();
  event.type = static_cast<std::uint8_t>(type);
  event.ns = ns;
  return event;
}

void EventLog::begin_execution(const Execution& execution, std::uint64_t ns) {
  Event& event = add(kBeginProcessing, ns);
  event.entry = execution.entry;
  event.bytes = execution.bytes;
  event.dimensions = execution.dimensions;
  std::copy(std::begin(execution.index), std::end(execution.index), event.index);
}
void EventLog::end_execution(const Execution& execution, std::uint64_t ns) {
  Event& event = add(kEndProcessing, ns);
  event.entry = execution.entry;
  event.bytes = execution.bytes;
}
void EventLog::created(int entry, std::uint64_t bytes, std::uint64_t ns) {
  Event& event = add(kCreation, ns);
  event.entry = static_cast<std::uint16_t>(entry);
  event.number = ++created_;
  event.bytes = bytes;
}
void EventLog::created_for_all(int entry, std::uint64_t bytes, int pes, std::uint64_t ns) {
  Event& event = add(kCreationBroadcast, ns);
  event.entry = static_cast<std::uint16_t>(entry);
  event.number = ++created_;
  event.bytes = bytes;
  event.pes = pes;
}
void EventLog::idle(bool begins, std::uint64_t ns) { add(begins ? kBeginIdle : kEndIdle, ns); }
void EventLog::turned(bool on, std::uint64_t ns) { add(on ? kBeginTrace : kEndTrace, ns); }
void EventLog::event(int event, std::uint64_t ns) {
  Event& added = add(kUserEvent, ns);
  added.entry = static_cast<std::uint16_t>(event);
  added.number = ++created_;
}
void EventLog::bracket(int event, std::uint64_t begin_ns, std::uint64_t end_ns, int nested) {
  const int number = ++created_;
  for (std::uint64_t ns : {begin_ns, end_ns}) {
    Event& added = add(kUserEventPair, ns);
    added.entry = static_cast<std::uint16_t>(event);
    added.number = number;
    added.nested = nested;
  }
}
void EventLog::bracket_side(bool begins, int event, std::uint64_t ns, int nested) {
  Event& added = add(begins ? kBeginUserEventPair : kEndUserEventPair, ns);
  added.entry = static_cast<std::uint16_t>(event);
  added.number = ++created_;
  added.nested = nested;
}
void EventLog::data(int value, std::uint64_t ns) { add(kUserSupplied, ns).number = value; }
void EventLog::note(const std::string& text, std::uint64_t ns) {
  bracketed_note(text, 0, ns, 0);
  events_.back().type = kUserNote;
}
void EventLog::bracketed_note(const std::string& text, int event, std::uint64_t begin_ns, std::uint64_t end_ns) {
  Event& added = add(kUserBracketedNote, begin_ns);  // first: it may write what there is, and the texts with it
  texts_.push_back(text);
  for (char& c : texts_.back())
    if (c == '\n' || c == '\r') c = ' ';
  added.number = static_cast<int>(texts_.size()) - 1;
  added.end_ns = end_ns;
  added.event = event;
}
void EventLog::memory(std::uint64_t bytes, std::uint64_t ns) { add(kMemoryUsage, ns).bytes = bytes; }
void EventLog::statistic(int number, double value, double at, std::uint64_t ns) {
  Event& added = add(kUserStatistic, ns);
  added.entry = static_cast<std::uint16_t>(number);
  added.value = value;
  added.at = at;
}

void EventLog::put(std::string& text, const Event& e) const {
  const auto to = std::back_inserter(text);
  const std::uint64_t us = micros(e.ns);
  switch (e.type) {
    case kCreation:  // kind of message, entry, when, number, PE, bytes, how long sending took
      fmt::format_to(to, "{} 0 {} {} {} {} {} 0\n", e.type, e.entry, us, e.number, pe_, e.bytes);
      break;
    case kCreationBroadcast:
      fmt::format_to(to, "{} 0 {} {} {} {} {} 0 {}\n", e.type, e.entry, us, e.number, pe_, e.bytes, e.pes);
      break;
    case kBeginProcessing: {  // ..., received when, index of the element, processor time
      fmt::format_to(to, "{} 0 {} {} 0 {} {} {}", e.type, e.entry, us, pe_, e.bytes, us);
      const int numbers = e.dimensions > 0 ? e.dimensions : 4;  // of others four numbers that mean nothing
      for (int i = 0; i < numbers; ++i) fmt::format_to(to, " {}", e.dimensions > 0 ? e.index[i] : 0);
      text += " 0\n";
      break;
    }
    case kEndProcessing:
      fmt::format_to(to, "{} 0 {} {} 0 {} {} 0\n", e.type, e.entry, us, pe_, e.bytes);
      break;
    case kUserEvent:
      fmt::format_to(to, "{} {} {} {} {}\n", e.type, e.entry, us, e.number, pe_);
      break;
    case kUserEventPair:
    case kBeginUserEventPair:
    case kEndUserEventPair:
      fmt::format_to(to, "{} {} {} {} {} {}\n", e.type, e.entry, us, e.number, pe_, e.nested);
      break;
    case kBeginIdle:
    case kEndIdle:
      fmt::format_to(to, "{} {} {}\n", e.type, us, pe_);
      break;
    case kUserSupplied:
      fmt::format_to(to, "{} {} {}\n", e.type, e.number, us);
      break;
    case kMemoryUsage:
      fmt::format_to(to, "{} {} {}\n", e.type, e.bytes, us);
      break;
    case kUserNote:
    case kUserBracketedNote: {
      const std::string& said = texts_[static_cast<std::size_t>(e.number)];
      if (e.type == kUserNote)
        fmt::format_to(to, "{} {} {}{}\n", e.type, us, said.size(), said);
      else
        fmt::format_to(to, "{} {} {} {} {}{}\n", e.type, us, micros(e.end_ns), e.event, said.size(), said);
      break;
    }
    case kUserStatistic:
      fmt::format_to(to, "{} {} {:.15g} {:.15g} {} {}\n", e.type, us, e.at, e.value, pe_, e.entry);
      break;
    default:
      fmt::format_to(to, "{} {}\n", e.type, us);
  }
}

void EventLog::flush() {
  std::string text;
  for (const Event& event : events_) {
    put(text, event);
    if (text.size() < (1 << 18)) continue;
    output_->write(text);
    text.clear();
  }
  output_->write(text);
  events_.clear();
  texts_.clear();
}

void EventLog::close(std::uint64_t ns) {
  add(kEndComputation, ns);
  flush();
  output_.reset();
}

}  // namespace periapt::trace
