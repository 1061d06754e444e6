// Output, input and errors as programs call them, and the streams ckout, ckerr and ckin.
#include <execinfo.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <string>

#include "base/fatal.h"
#include "base/output.h"
#include "runtime/converse/converse_state.h"
#include "runtime/converse/streams.h"

using namespace periapt;

namespace {
std::string formatted(const char* format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  char brief[512];
  const int length = std::vsnprintf(brief, sizeof brief, format, arguments);
  std::string text;
  if (length >= static_cast<int>(sizeof brief)) {
    text.resize(static_cast<std::size_t>(length));
    std::vsnprintf(&text[0], text.size() + 1, format, again);
  } else if (length > 0) {
    text.assign(brief, static_cast<std::size_t>(length));
  }
  va_end(again);
  return text;
}

// What the program itself has printed to the same file comes first. One write for all of the text: a pipe or a terminal
// then takes it in one piece.
int write_whole(std::FILE* file, const std::string& text) {
  flockfile(file);
  if (std::fflush(file) != 0 && file == stdout) output::note_lost(errno);
  const int fd = fileno(file);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(fd, text.data() + done, text.size() - done);
    if (wrote < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (wrote < 0 && file == stdout) output::note_lost(errno);
    if (wrote < 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  funlockfile(file);
  return static_cast<int>(done);
}

std::string without_end_of_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}
}  // namespace

extern "C" {

int CmiVPrintf(const char* format, va_list arguments) { return write_whole(stdout, formatted(format, arguments)); }
int CmiVError(const char* format, va_list arguments) { return write_whole(stderr, formatted(format, arguments)); }
int CmiPrintf(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = CmiVPrintf(format, arguments);
  va_end(arguments);
  return written;
}
int CmiError(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = CmiVError(format, arguments);
  va_end(arguments);
  return written;
}
int CmiScanf(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int read = std::vscanf(format, arguments);
  va_end(arguments);
  return read;
}

void CmiAbort(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const std::string text = without_end_of_line(formatted(format, arguments));
  va_end(arguments);
  const Pe* pe = Pe::current();
  const std::string caller = pe && Pe::describe ? Pe::describe(*pe) : std::string();
  fatal(text.empty() ? "the program called CkAbort" : text,
        caller.empty() ? "CkAbort, called by the program" : caller + ", which called CkAbort");
}
void CmiOutOfMemory(int bytes) {
  fatal(bytes > 0 ? "no memory for " + std::to_string(bytes) + " bytes more" : "no memory left", "an allocation",
        "the program needs more than this machine or its limits (ulimit -v, cgroup) grant",
        "use more hosts, a smaller problem, or raise the limit");
}
void periapt_enforce_failed(const char* expression, const char* file, int line, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const std::string text = without_end_of_line(formatted(format, arguments));
  va_end(arguments);
  fatal(std::string("not true: ") + expression + (text.empty() ? "" : ": " + text),
        std::string(file) + ":" + std::to_string(line));
}

void CmiBacktraceRecord(void** addresses, int skip, int* levels) {
  std::vector<void*> all(static_cast<std::size_t>(*levels + skip + 1));
  const int found = backtrace(all.data(), static_cast<int>(all.size()));
  *levels = std::max(0, std::min(*levels, found - skip - 1));
  std::copy_n(all.begin() + skip + 1, *levels, addresses);
}
char** CmiBacktraceLookup(void** addresses, int levels) { return backtrace_symbols(addresses, levels); }
void CmiBacktracePrint(void** addresses, int levels) {
  char** names = CmiBacktraceLookup(addresses, levels);
  if (!names) return;
  std::string text;
  for (int i = 0; i < levels; ++i) text += "  [" + std::to_string(i) + "] " + names[i] + "\n";
  std::free(names);
  write_whole(stdout, text);
}
void CmiPrintStackTrace(int skip) {
  void* addresses[128];
  int levels = 128;
  CmiBacktraceRecord(addresses, skip + 1, &levels);
  CmiBacktracePrint(addresses, levels);
}
}

// --- streams ---------------------------------------------------------------------------------------------------------

CkOutStream ckout;
CkErrStream ckerr;
CkInStream ckin;

namespace {
// The line being written: the PE's, as several may share an OS thread; or this thread's own before the run starts.
std::string& line(bool is_error) {
  if (Pe* pe = Pe::current()) return ConverseState::of(*pe).line[is_error];
  thread_local std::string own[2];
  return own[is_error];
}
template <class T>
void append_number(std::string& to, const char* format, T value) {
  char text[512];
  to.append(text, static_cast<std::size_t>(std::snprintf(text, sizeof text, format, value)));
}
}  // namespace

using periapt::LineStream;
void LineStream::append(const char* text) { line(is_error_) += text; }
void LineStream::append(const char* format, int value) { append_number(line(is_error_), format, value); }
void LineStream::append(const char* format, unsigned value) { append_number(line(is_error_), format, value); }
void LineStream::append(const char* format, long value) { append_number(line(is_error_), format, value); }
void LineStream::append(const char* format, unsigned long value) { append_number(line(is_error_), format, value); }
void LineStream::append(const char* format, long long value) { append_number(line(is_error_), format, value); }
void LineStream::append(const char* format, unsigned long long value) { append_number(line(is_error_), format, value); }
void LineStream::append(const char* format, double value) { append_number(line(is_error_), format, value); }
void LineStream::append(const char* format, const void* value) { append_number(line(is_error_), format, value); }
void LineStream::end_line() {
  std::string& text = line(is_error_);
  text += '\n';
  write_whole(is_error_ ? stderr : stdout, text);
  text.clear();
}
