#include "runtime/converse/trace_events.h"

#include <mutex>

#include "runtime/converse/trace_names.h"

namespace {
std::mutex mutex;
std::map<int, std::string> events;
std::map<int, std::string> stats;

template <class... Parameters, class... Arguments>
void record(void (periapt::TraceCalls::*what)(Parameters...), Arguments... arguments) {
  if (periapt::TraceCalls::recorder) (periapt::TraceCalls::recorder->*what)(arguments...);
}
}  // namespace

namespace periapt {
std::map<int, std::string> trace_event_names() {
  std::lock_guard<std::mutex> lock(mutex);
  return events;
}
std::map<int, std::string> trace_statistic_names() {
  std::lock_guard<std::mutex> lock(mutex);
  return stats;
}
}  // namespace periapt

extern "C" {
int traceRegisterUserEvent(const char* name, int event) {
  std::lock_guard<std::mutex> lock(mutex);
  // Every PE registers: the same name keeps its number.
  if (event == -1) {
    for (const auto& known : events)
      if (known.second == name) return known.first;
    event = events.empty() ? 0 : events.rbegin()->first + 1;
  }
  events[event] = name;
  return event;
}
const char* traceUserEventName(int event) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = events.find(event);
  return found == events.end() ? nullptr : found->second.c_str();
}
int traceRegisterUserStat(const char* name, int stat) {
  std::lock_guard<std::mutex> lock(mutex);
  stats[stat] = name;
  return stat;
}

void traceUserEvent(int event) { record(&periapt::TraceCalls::event, event); }
void traceUserBracketEventNestedID(int event, double begin, double end, int nested) {
  record(&periapt::TraceCalls::bracket, event, begin, end, nested);
}
void traceUserBracketEvent(int event, double begin, double end) { traceUserBracketEventNestedID(event, begin, end, 0); }
void traceBeginUserBracketEventNestedID(int event, int nested) {
  record(&periapt::TraceCalls::begin_bracket, event, nested);
}
void traceBeginUserBracketEvent(int event) { traceBeginUserBracketEventNestedID(event, 0); }
void traceEndUserBracketEventNestedID(int event, int nested) {
  record(&periapt::TraceCalls::end_bracket, event, nested);
}
void traceEndUserBracketEvent(int event) { traceEndUserBracketEventNestedID(event, 0); }
void traceUserSuppliedData(int value) { record(&periapt::TraceCalls::data, value); }
void traceUserSuppliedNote(const char* text) { record(&periapt::TraceCalls::note, text); }
void traceUserSuppliedBracketedNote(const char* text, int event, double begin, double end) {
  record(&periapt::TraceCalls::bracketed_note, text, event, begin, end);
}
void traceMemoryUsage() { record(&periapt::TraceCalls::memory); }
void updateStatPair(int stat, double value, double at) { record(&periapt::TraceCalls::statistic, stat, value, at); }
void updateStat(int stat, double value) { updateStatPair(stat, value, -1); }
void traceBegin() { record(&periapt::TraceCalls::turn, true); }
void traceEnd() { record(&periapt::TraceCalls::turn, false); }
void traceFlushLog() { record(&periapt::TraceCalls::flush); }
void traceClearEps() {}
int traceIsOn() { return periapt::TraceCalls::recorder && periapt::TraceCalls::recorder->is_on(); }
int traceAvailable() { return periapt::TraceCalls::recorder != nullptr; }
void CkSummary_MarkEvent(int event) { traceUserEvent(event); }
void CkSummary_StartPhase(int /*phase*/) {}
void traceWriteSts() {}
void traceClose() {}
void traceBeginComm() {}
void traceEndComm() {}
void beginAppWork() {}
void endAppWork() {}
}
