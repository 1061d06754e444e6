// How a run ends when it cannot go on: one clear block on stderr, then every process of the run stops. C++17.
#pragma once

#include <string>

namespace periapt {

/// The four things a person needs. Empty parts are left out of the block.
struct Complaint {
  std::string what;       ///< what happened, one sentence
  std::string where;      ///< where: function, chare and entry, option, file
  std::string why;        ///< the probable cause
  std::string what_next;  ///< what to do about it
};

/// Prints the block, unless another thread just did, and ends the process with status 1 through the exit hook or _exit.
[[noreturn]] void fatal(const Complaint& complaint);
[[noreturn]] void fatal(const std::string& what, const std::string& where = {}, const std::string& why = {},
                        const std::string& what_next = {});

/// The block as text, for tests and for programs that print it elsewhere.
std::string format_complaint(const Complaint& complaint, const std::string& place);

/// Our place, "PE 3, process 1": asked when a block is printed. nullptr: say nothing. Called on the failing thread.
using PlaceHook = std::string (*)();
void set_place_hook(PlaceHook hook);

/// Asked once, before a block is printed, on the failing thread: false when another process of the run, which fails in
/// the same way, prints it.
using SpeakHook = bool (*)(const Complaint& complaint);
void set_speak_hook(SpeakHook hook);

/// Runs after the block was printed, to tell the other processes; it may end the process itself.
using ExitHook = void (*)(int code);
void set_fatal_exit_hook(ExitHook hook);

}  // namespace periapt
