// Several processes on this host without a launcher: the program forks one child a process and stays behind as their
// parent. It watches: when one dies, it says which and ends the others; signals it gets are passed on; when it dies
// itself, the children end with a sentence. Nothing is left behind, whichever process is killed.
//
// Where there is something whole in the memory that it keeps (kept_memory.h), a process that was killed does not end
// the run: the parent ends the other processes and starts the program again, which forks all of them anew. They are
// ended because nothing else stops an entry method that is at work, and takes back what is on its way.
#pragma once

#include <functional>
#include <string>

#include "machine/bootstrap/layout.h"

namespace periapt::bootstrap {

/// What the parent must know about a run to judge how it ended.
struct RunWatch {
  /// The run has said that it is ending; then processes that leave are expected to. May be empty: never.
  std::function<bool()> exit_announced;
  /// The program has ended as it should; processes leave with its status, each in its own time. May be empty: never.
  std::function<bool()> ended;
};

/// Forks one child for each process of the layout and returns in the children, with their rank. The parent does not
/// return: it leaves with the status of the run: the first status of a child that is not 0, or 128 + signal.
/// Must be called while the process has one thread. stdin stays with process 0, the others read nothing.
int launch_processes(const HostLayout& layout, const RunWatch& watch);

/// "killed by signal 9, Killed (kill -9, or the kernel had run out of memory)"; in brackets what such a signal mostly
/// means.
std::string describe_kill(int signal);
/// Behind such a sentence, when KeptMemory::kStartsMost starts from one checkpoint led to no other.
std::string too_often_in_words();

}  // namespace periapt::bootstrap
