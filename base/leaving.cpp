// See leaving.h. exit() calls functions that hear the status. Those of quick_exit() don't hear it, and _exit() calls
// none: functions of these names of our own stand before the C library's. Each ends in the one that the loader finds
// next: a sanitizer's, or the C library's.
#include "base/leaving.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace periapt::leaving {
namespace {

using Exit = void (*)(int);

std::atomic<void (*)(const char*, int)> watcher{nullptr};
pid_t watched = 0;  // set before watcher
const Exit next_exit = reinterpret_cast<Exit>(::dlsym(RTLD_NEXT, "_exit"));
const Exit next_quick_exit = reinterpret_cast<Exit>(::dlsym(RTLD_NEXT, "quick_exit"));

void look(const char* function, int status) {
  // acquire: partner is the release in watch(); it carries `watched`.
  auto* const mistake = watcher.load(std::memory_order_acquire);
  if (mistake != nullptr && ::getpid() == watched) mistake(function, status);
}

// Read where a lock may not be taken: a crash ends here, too.
struct File {
  std::atomic<bool> is_set{false};
  char path[128];
};
std::array<File, 32> files;
std::mutex files_mutex;  // of those that set and clear them
pid_t owner_of_files = 0;

void remove_files() {
  if (::getpid() != owner_of_files) return;
  for (File& file : files) {
    // acquire: partner is the release in remove_at_end(); it carries the path.
    if (file.is_set.exchange(false, std::memory_order_acquire)) ::unlink(file.path);
  }
}

[[noreturn]] void leave(const char* function, int status) {
  look(function, status);
  remove_files();
  if (next_exit != nullptr) next_exit(status);
  while (true) ::syscall(SYS_exit_group, status);
}

// Those that the program gave at_quick_exit() are called, where this is no mistake.
[[noreturn]] void leave_quickly(int status) {
  look("quick_exit", status);
  remove_files();
  if (next_quick_exit != nullptr) next_quick_exit(status);
  leave("quick_exit", status);
}

}  // namespace

void watch(void (*mistake)(const char* function, int status)) {
  watched = ::getpid();
  watcher.store(mistake, std::memory_order_release);
  ::on_exit([](int status, void*) { look("exit", status); }, nullptr);
}

bool remove_at_end(const char* path) {
  const std::size_t length = std::strlen(path);
  std::lock_guard lock(files_mutex);
  if (owner_of_files == 0) ::on_exit([](int, void*) { remove_files(); }, nullptr);
  if (owner_of_files != ::getpid()) {  // what was told before a fork is the parent's
    for (File& file : files) file.is_set.store(false, std::memory_order_relaxed);
    owner_of_files = ::getpid();
  }
  for (File& file : files) {
    if (file.is_set.load(std::memory_order_relaxed)) continue;
    if (length >= sizeof file.path) return false;
    std::memcpy(file.path, path, length + 1);
    file.is_set.store(true, std::memory_order_release);
    return true;
  }
  return false;
}

void keep_at_end(const char* path) {
  std::lock_guard lock(files_mutex);
  for (File& file : files) {
    if (file.is_set.load(std::memory_order_relaxed) && std::strcmp(file.path, path) == 0)
      file.is_set.store(false, std::memory_order_relaxed);
  }
}

void is_meant() { watcher.store(nullptr, std::memory_order_relaxed); }

}  // namespace periapt::leaving

extern "C" {
void _exit(int status) { periapt::leaving::leave("_exit", status); }
void _Exit(int status) { periapt::leaving::leave("_Exit", status); }
void quick_exit(int status) noexcept { periapt::leaving::leave_quickly(status); }
}
