#include "base/fatal.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "base/leaving.h"

namespace periapt {
namespace {

std::atomic<PlaceHook> place_hook{nullptr};
std::atomic<SpeakHook> speak_hook{nullptr};
std::atomic<ExitHook> exit_hook{nullptr};
std::atomic<bool> ending{false};

void add_part(std::string& text, const char* label, const std::string& part) {
  if (part.empty()) return;
  text += label;
  // Further lines of a part stand under its first one.
  for (char c : part) {
    text += c;
    if (c == '\n') text += "            ";
  }
  text += '\n';
}

}  // namespace

void set_place_hook(PlaceHook hook) { place_hook.store(hook, std::memory_order_release); }
void set_speak_hook(SpeakHook hook) { speak_hook.store(hook, std::memory_order_release); }
void set_fatal_exit_hook(ExitHook hook) { exit_hook.store(hook, std::memory_order_release); }

std::string format_complaint(const Complaint& complaint, const std::string& place) {
  std::string text = "periapt: fatal error";
  if (!place.empty()) text += " on " + place;
  text += '\n';
  add_part(text, "  what:     ", complaint.what);
  add_part(text, "  where:    ", complaint.where);
  add_part(text, "  why:      ", complaint.why);
  add_part(text, "  do next:  ", complaint.what_next);
  return text;
}

void fatal(const Complaint& complaint) {
  // Threads of a process mostly fail at once because of one thing, such as a peer that is lost: the first one says it
  // and ends them all. (One that fails again while it ends says that too.)
  static thread_local bool ends = false;
  const bool first = !ending.exchange(true);
  if (!first && !ends) {
    ::sleep(2);
    ::_exit(1);
  }
  ends = true;
  leaving::is_meant();
  PlaceHook place = place_hook.load(std::memory_order_acquire);
  std::string text = format_complaint(complaint, place != nullptr ? place() : std::string());
  std::fflush(stdout);
  SpeakHook speaks = speak_hook.exchange(nullptr, std::memory_order_acq_rel);
  if (speaks == nullptr || speaks(complaint)) {
    ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    static_cast<void>(written);
  }
  if (first) {
    if (ExitHook hook = exit_hook.load(std::memory_order_acquire)) hook(1);
  }
  ::_exit(1);
}

void fatal(const std::string& what, const std::string& where, const std::string& why, const std::string& what_next) {
  fatal(Complaint{what, where, why, what_next});
}

}  // namespace periapt
