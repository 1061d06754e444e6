#include "runtime/converse/trace_events.h"

#include <mutex>

#include "runtime/converse/tracer.h"

using periapt::Tracer;

namespace {
std::mutex mutex;
std::map<int, std::string> events;
std::map<int, std::string> stats;

template <class Call>
void tell(Call&& call) {
  if (Tracer* tracer = Tracer::current) call(*tracer);
}
}  // namespace

namespace periapt {
std::map<int, std::string> user_event_names() {
  std::lock_guard<std::mutex> lock(mutex);
  return events;
}
std::map<int, std::string> user_stat_names() {
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
}

void traceUserEvent(int event) {
  tell([&](Tracer& tracer) { tracer.user_event(event); });
}
void traceUserBracketEvent(int event, double begin, double end) { traceUserBracketEventNestedID(event, begin, end, 0); }
void traceBeginUserBracketEvent(int event) { traceBeginUserBracketEventNestedID(event, 0); }
void traceEndUserBracketEvent(int event) { traceEndUserBracketEventNestedID(event, 0); }
void traceUserBracketEventNestedID(int event, double begin, double end, int nested) {
  tell([&](Tracer& tracer) { tracer.user_bracket(event, begin, end, nested); });
}
void traceBeginUserBracketEventNestedID(int event, int nested) {
  tell([&](Tracer& tracer) { tracer.begin_user_bracket(event, nested); });
}
void traceEndUserBracketEventNestedID(int event, int nested) {
  tell([&](Tracer& tracer) { tracer.end_user_bracket(event, nested); });
}
void traceUserSuppliedData(int data) {
  tell([&](Tracer& tracer) { tracer.user_data(data); });
}
void traceMemoryUsage() {
  tell([](Tracer& tracer) { tracer.memory_usage(); });
}
void updateStat(int stat, double value) { updateStatPair(stat, value, -1); }
void updateStatPair(int stat, double value, double time) {
  tell([&](Tracer& tracer) { tracer.user_stat(stat, value, time); });
}
void traceBegin() {
  tell([](Tracer& tracer) { tracer.turn(true); });
}
void traceEnd() {
  tell([](Tracer& tracer) { tracer.turn(false); });
}
int traceIsOn() { return Tracer::current != nullptr && Tracer::current->is_on() ? 1 : 0; }
int traceAvailable() { return Tracer::current != nullptr ? 1 : 0; }
void traceFlushLog() {
  tell([](Tracer& tracer) { tracer.flush(); });
}
