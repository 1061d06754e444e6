// The socket to a PMI server: whole writes from any thread, buffered reads from one.
#pragma once

#include <mutex>
#include <string>

#include "base/status.h"

namespace periapt::bootstrap {

class PmiStream {
 public:
  explicit PmiStream(int fd) : fd_(fd) {}
  ~PmiStream();
  PmiStream(const PmiStream&) = delete;
  PmiStream& operator=(const PmiStream&) = delete;

  int fd() const { return fd_; }
  Status send(const std::string& text);
  /// Up to and without the next newline; blocks, but during start-up for startup_limit_seconds() only.
  Result<std::string> line();
  /// Exactly so many bytes; blocks likewise.
  Result<std::string> exactly(std::size_t count);
  /// Has the other side closed? Never blocks.
  bool closed();

 private:
  Status read_more();

  int fd_;
  std::mutex writing_;
  std::string unread_;
};

/// Connects to "host:port" as in PMI_PORT.
Result<int> connect_to(const std::string& host_and_port);

}  // namespace periapt::bootstrap
