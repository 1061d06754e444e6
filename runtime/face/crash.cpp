// See crash.h. The handler first writes what needs no memory, then tries the rest under an alarm: the crash may have
// happened inside malloc().
#include "runtime/face/crash.h"

#include <execinfo.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>

#include "runtime/objects/pe_objects.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
constexpr int crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr std::size_t stack_bytes = 64 * 1024;
constexpr unsigned seconds_for_the_rest = 2;
std::atomic<bool> told{false};

void write_text(const char* text) {
  const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(written);
}

const char* cause_of(int signal, bool near_stack) {
  if (near_stack) return "the stack is full: a recursion without end, or large local arrays";
  switch (signal) {
    case SIGABRT:
      return "abort() was called: an assertion, a failed check of the C or C++ library, an uncaught exception";
    case SIGFPE:
      return "a division of integers by zero, or an overflow in one";
    case SIGILL:
      return "a damaged function pointer, or a program built for another processor";
    default:
      return "a pointer that is null, was freed, or points beyond its array";
  }
}

// Whether the address lies just outside of the stack that was in use.
bool near(const void* address, const void* context) {
#if defined(__x86_64__)
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto stack = static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
  return at < stack + 65536 && stack < at + 65536;
#else
  return false;
#endif
}

void on_crash(int signal, siginfo_t* info, void* context) {
  if (told.exchange(true))
    while (true) ::pause();  // another thread is telling, and will end us
  const Pe* pe = Pe::current();
  const bool fault = signal == SIGSEGV || signal == SIGBUS;
  char text[512];
  int length = std::snprintf(text, sizeof text, "periapt: fatal error");
  if (pe) length += std::snprintf(text + length, sizeof text - length, " on PE %d", pe->index);
  if (pe && pe->process.count() > 1)
    length += std::snprintf(text + length, sizeof text - length, ", process %d", pe->process.rank());
  length +=
      std::snprintf(text + length, sizeof text - length, "\n  what:     signal %d, %s", signal, ::strsignal(signal));
  if (fault) length += std::snprintf(text + length, sizeof text - length, ", at address %p", info->si_addr);
  std::snprintf(text + length, sizeof text - length, "\n  why:      %s\n",
                cause_of(signal, fault && near(info->si_addr, context)));
  write_text(text);
  // From here on another crash or a wait ends us at once.
  for (int other : crash_signals) ::signal(other, SIG_DFL);
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(seconds_for_the_rest);
  sigset_t crashes;
  ::sigemptyset(&crashes);
  ::sigaddset(&crashes, SIGALRM);
  for (int other : crash_signals) ::sigaddset(&crashes, other);
  ::pthread_sigmask(SIG_UNBLOCK, &crashes, nullptr);
  if (pe && pe->running) {
    const std::string where = "  where:    " + describe_running(*pe) + "\n";
    write_text(where.c_str());
  }
  write_text(
      "  do next:  Look at the stack, innermost function first; the asan preset of the build finds most causes\n");
  void* frames[24];
  const int found = ::backtrace(frames, 24);
  constexpr int ours = 2;  // this function and the kernel's frame
  if (found > ours) ::backtrace_symbols_fd(frames + ours, found - ours, STDERR_FILENO);
  if (Process* process = Process::current()) process->layer().end_badly(128 + signal);
  ::raise(signal);
}
}  // namespace

void catch_crashes() {
  for (int signal : crash_signals) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL) continue;
    struct sigaction action {};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(signal, &action, nullptr);
  }
}

void give_crash_stack() {
  thread_local std::unique_ptr<char[]> stack;
  stack_t now{};
  ::sigaltstack(nullptr, &now);
  if (stack || !(now.ss_flags & SS_DISABLE)) return;  // ours already, or a sanitizer's
  stack.reset(new char[stack_bytes]);
  stack_t mine{};
  mine.ss_sp = stack.get();
  mine.ss_size = stack_bytes;
  ::sigaltstack(&mine, nullptr);
}

}  // namespace periapt
