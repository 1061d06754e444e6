// What a program has called its events and statistics so far, in this process.
#pragma once
#include <map>
#include <string>

namespace periapt {

std::map<int, std::string> trace_event_names();
std::map<int, std::string> trace_statistic_names();

}  // namespace periapt
