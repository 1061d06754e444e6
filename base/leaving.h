// What ends this process. A program ends its run with CkExit(); exit(), quick_exit() and _exit() end one process
// without a word, and in a run of one process there is no other to say so. Watched, each of them becomes a mistake.
#pragma once

namespace periapt::leaving {

/// From now on `mistake` is called, in the thread that leaves, when this process (none that it forks) is left in such a
/// way. It may not return.
void watch(void (*mistake)(const char* function, int status));
/// The runtime is about to leave by itself, for a reason of its own. From any thread; safe in a signal handler.
void is_meant();

/// A file (of at most 127 letters) that is removed when this process, none that it forks, ends in whatever way but by
/// SIGKILL. False: there are 32 already.
bool remove_at_end(const char* path);
/// It is not any more.
void keep_at_end(const char* path);

}  // namespace periapt::leaving
