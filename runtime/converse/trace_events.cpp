#include "runtime/converse/trace_events.h"

#include <mutex>

#include "runtime/converse/trace_names.h"

namespace {
std::mutex mutex;
std::map<int, std::string> events;
std::map<int, std::string> stats;
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
}
