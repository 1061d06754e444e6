#include "tools/charmc/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tools/charmc/files.h"

extern char** environ;

namespace periapt::charmc {

namespace {

/// Reads to the end of what is written to `from`; shows it on stderr too when `shown`.
void collect(int from, std::string& into, bool shown) {
  char block[65536];
  for (ssize_t n; (n = ::read(from, block, sizeof block)) != 0;) {
    if (n > 0) {
      into.append(block, static_cast<std::size_t>(n));
      if (shown) std::fwrite(block, 1, static_cast<std::size_t>(n), stderr);
    } else if (errno != EINTR) {
      break;
    }
  }
}

/// What becomes of what a program prints.
enum class Printed { held, shown, quiet };  // quiet: both streams are held, and that it cannot be run is not said

/// Runs and waits, with descriptor `stream` of the program (stdout or stderr) collected when `into` is there.
int spawn(const std::vector<std::string>& argv, int stream, std::string* into, Printed printed = Printed::held) {
  std::vector<char*> raw;
  for (const std::string& argument : argv) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  int ends[2] = {-1, -1};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (into) {
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      std::fprintf(stderr, "charmc: cannot make a pipe: %s\n", std::strerror(errno));
      posix_spawn_file_actions_destroy(&actions);
      return 127;
    }
    posix_spawn_file_actions_adddup2(&actions, ends[1], stream);
    if (printed == Printed::quiet) posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  }
  std::fflush(nullptr);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, raw[0], &actions, nullptr, raw.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (into) ::close(ends[1]);
  if (failed) {
    if (printed != Printed::quiet) std::fprintf(stderr, "charmc: cannot run %s: %s\n", raw[0], std::strerror(failed));
    if (into) ::close(ends[0]);
    return 127;
  }
  if (into) {
    collect(ends[0], *into, printed == Printed::shown);
    ::close(ends[0]);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int runProcess(const std::vector<std::string>& argv, std::string* output) { return spawn(argv, STDOUT_FILENO, output); }

int runProcessShowingErrors(const std::vector<std::string>& argv, std::string& errors) {
  return spawn(argv, STDERR_FILENO, &errors, Printed::shown);
}

int runProcessHoldingErrors(const std::vector<std::string>& argv, std::string& errors) {
  return spawn(argv, STDERR_FILENO, &errors);
}

int runProcessQuietly(const std::vector<std::string>& argv, std::string& printed) {
  return spawn(argv, STDOUT_FILENO, &printed, Printed::quiet);
}

std::vector<std::string> commandWords(const std::string& text) {
  std::vector<std::string> words = splitCommandLine(text);
  if (words.empty() || (words.size() > 1 && ::access(text.c_str(), X_OK) == 0)) return {text};
  return words;
}

std::string commandText(const std::vector<std::string>& argv) {
  std::string out;
  for (const std::string& argument : argv) {
    if (!out.empty()) out += ' ';
    const bool plain = !argument.empty() && argument.find_first_of(" \t\n'\"\\$`*?[](){}<>|&;#~!") == std::string::npos;
    if (plain) {
      out += argument;
      continue;
    }
    out += '\'';
    for (char c : argument) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += '\'';
  }
  return out;
}

}  // namespace periapt::charmc
