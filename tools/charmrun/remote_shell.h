// The command that starts an agent on another host, and what its failures mean.
#pragma once

#include <string>
#include <vector>

#include "tools/charmrun/nodelist.h"

namespace periapt::charmrun {

/// A command as words; quotes keep blanks together.
std::vector<std::string> split_command(const std::string& command);

/// What ++remote-shell says, else $CONV_RSH, else ssh.
std::string default_shell(const std::string& option);

/// The words that reach a host. ssh is told to ask nothing (several at once cannot), and to give up after the time-out;
/// srun starts a step there.
std::vector<std::string> shell_words(const Host& host, const std::string& shell, int timeout_seconds);

/// The text that the host's own shell executes.
std::string remote_text(const std::string& setup, const std::string& agent);

/// Why a remote shell ended before the agent answered: a sentence, and what to do. `said` is its error output.
std::string explain_shell(const std::string& host, const std::vector<std::string>& shell, int wait_status,
                          const std::string& said, const std::string& agent);

}  // namespace periapt::charmrun
