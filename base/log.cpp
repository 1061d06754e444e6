#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "base/output.h"

namespace periapt::log {
namespace {

std::atomic<bool> is_verbose{false};
std::atomic<bool> is_quiet{false};

void write_line(int file, const std::string& line) {
  if (std::fflush(stdout) != 0) output::note_lost(errno);  // first, in the order in which the program printed
  if (::write(file, line.data(), line.size()) < 0 && file == STDOUT_FILENO) output::note_lost(errno);
}

}  // namespace

void note(const std::string& text) {
  if (!is_quiet.load(std::memory_order_relaxed)) write_line(STDOUT_FILENO, "periapt: " + text + "\n");
}
void warn(const std::string& text) { write_line(STDERR_FILENO, "periapt: warning: " + text + "\n"); }
void detail(const std::string& text) {
  if (verbose()) write_line(STDERR_FILENO, "periapt: " + text + "\n");
}
void set_verbose(bool verbose) { is_verbose.store(verbose, std::memory_order_relaxed); }
bool verbose() { return is_verbose.load(std::memory_order_relaxed); }
void set_quiet(bool quiet) { is_quiet.store(quiet, std::memory_order_relaxed); }

}  // namespace periapt::log
