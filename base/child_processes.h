// Children that this process starts and waits for.
#pragma once

#include <csignal>

namespace periapt {

/// From now on a child that has ended is kept until waitpid() asks for it. Where SIGCHLD is ignored, the kernel drops
/// it without a signal and waitpid() finds none; that is inherited from whatever executed this process (some inetd's,
/// busybox's nc, daemons).
inline void keep_ended_children() { std::signal(SIGCHLD, SIG_DFL); }

}  // namespace periapt
