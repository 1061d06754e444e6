// See leaving.h. exit() and quick_exit() call functions; _exit() calls none, so a function of that name of our own
// stands before the C library's. Each ends in the one that the loader finds next: a sanitizer's, or the C library's.
#include "base/leaving.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace periapt::leaving {
namespace {

using Exit = void (*)(int);

std::atomic<void (*)(const char*, int)> watcher{nullptr};
pid_t watched = 0;  // set before watcher
const Exit next_exit = reinterpret_cast<Exit>(::dlsym(RTLD_NEXT, "_exit"));

void look(const char* function, int status) {
  // acquire: partner is the release in watch(); it carries `watched`.
  auto* const mistake = watcher.load(std::memory_order_acquire);
  if (mistake != nullptr && ::getpid() == watched) mistake(function, status);
}

[[noreturn]] void leave(const char* function, int status) {
  look(function, status);
  if (next_exit != nullptr) next_exit(status);
  while (true) ::syscall(SYS_exit_group, status);
}

}  // namespace

void watch(void (*mistake)(const char* function, int status)) {
  watched = ::getpid();
  watcher.store(mistake, std::memory_order_release);
  ::on_exit([](int status, void*) { look("exit", status); }, nullptr);
  ::at_quick_exit([] { look("quick_exit", 0); });
}

void is_meant() { watcher.store(nullptr, std::memory_order_relaxed); }

}  // namespace periapt::leaving

extern "C" {
void _exit(int status) { periapt::leaving::leave("_exit", status); }
void _Exit(int status) { periapt::leaving::leave("_Exit", status); }
}
