// The end of a run that a mistake of the program brought about.
//
// fatal() says one sentence (what, where, why, what to do next) and does not come back. The runtime installs a handler
// that adds PE and host and stops the other processes; without one the sentence goes to stderr and the process aborts.
// C++17: reachable from a program's headers.
#pragma once

#include <string_view>

namespace periapt {

// Called once with the sentence; must not return (if it does, the process aborts).
using FatalHandler = void (*)(std::string_view sentence);

// Replaces the handler for the whole process; nullptr restores the default. Any thread, normally once at start-up.
void set_fatal_handler(FatalHandler handler);

[[noreturn]] void fatal(std::string_view sentence);

}  // namespace periapt
