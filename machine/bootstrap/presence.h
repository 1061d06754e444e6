// How far each process of this machine has come in start-up, for the watchdog: launchers don't say which process a
// fence waits for. Each process that enters a fence holds a socket with a name that says so (Linux's abstract names: no
// file, gone with the process, whatever ends it); a process that waits asks which names exist. It answers for processes
// in the same network name space only, and is a hint for people, never used for decisions.
#pragma once

#include <cstdint>
#include <string>

namespace periapt::bootstrap {

class Presence {
 public:
  explicit Presence(std::string job) : job_(std::move(job)) {}
  ~Presence();
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;

  /// This process has come to `phase`.
  void enter(int rank, std::uint64_t phase);
  /// Has that one come as far, or farther by one?
  bool has_entered(int rank, std::uint64_t phase) const;

 private:
  std::string job_;
  int held_ = -1;
  int former_ = -1;  // of the phase before: another process may still ask for it
};

}  // namespace periapt::bootstrap
