// Frames over two file descriptors that never block us: what can't be written yet waits in a queue.
#pragma once

#include <string>

#include "machine/bootstrap/frames.h"

namespace periapt::charmrun {

class Channel {
 public:
  Channel() = default;
  /// Takes the descriptors; `in` and `out` may be the same one.
  Channel(int in, int out);
  Channel(Channel&& other) noexcept { *this = std::move(other); }
  Channel& operator=(Channel&& other) noexcept;
  ~Channel() { close(); }

  int in() const { return in_; }
  int out() const { return out_; }
  bool open() const { return in_ >= 0; }
  void close();
  void close_out();

  void send(const bootstrap::Frame& frame);
  void send_raw(const std::string& bytes);
  std::size_t queued() const { return queue_.size() - sent_; }
  /// Writes what can be written.
  void flush();
  /// Reads what is there; false: the other side has closed.
  bool fill();
  /// Takes frames out of what was read.
  bootstrap::FrameReader& reader() { return reader_; }
  /// Before frames are expected: what was read goes here instead of into the reader.
  std::string* prologue = nullptr;

 private:
  int in_ = -1, out_ = -1;
  std::string queue_;
  std::size_t sent_ = 0;
  bootstrap::FrameReader reader_;
};

}  // namespace periapt::charmrun
