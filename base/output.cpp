#include "base/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "base/error_text.h"

namespace periapt::output {
namespace {

constexpr int kReasonNotKnown = -1;  // the program's own printf() met it
std::atomic<int> first_error{0};

}  // namespace

void keep_standard_files() {
  for (int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest number that is free is given: this one.
    if (::fcntl(file, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_RDWR));
  }
}

void note_lost(int error) {
  int none = 0;
  first_error.compare_exchange_strong(none, error, std::memory_order_relaxed);
}

Status flush() {
  if (std::fflush(stdout) != 0) note_lost(errno);
  if (std::ferror(stdout) != 0) note_lost(kReasonNotKnown);
  const int error = first_error.load(std::memory_order_relaxed);
  if (error == 0 || error == EBADF) return {};
  const std::string what = "not all that was printed could be written to the standard output";
  return Status::failure(error == kReasonNotKnown ? what : what + ": " + error_text(error));
}

}  // namespace periapt::output
