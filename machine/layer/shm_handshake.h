// ShmHandshake: processes of one host that a launcher started come together and share message memory.
//
// The first of them makes the memory and hands its files to the others over a Unix socket of the abstract kind, which
// no file system holds: nothing is left behind. The sockets stay open; the end of one is the end of the process behind
// it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "machine/host/arena.h"

namespace periapt::machine {

class ShmHandshake {
 public:
  ShmHandshake() = default;
  ShmHandshake(ShmHandshake&& other) noexcept { *this = std::move(other); }
  ShmHandshake& operator=(ShmHandshake&& other) noexcept {
    std::swap(sockets_, other.sockets_);
    std::swap(listener_, other.listener_);
    return *this;
  }
  ~ShmHandshake();

  /// The first process of the host: from now on others can come in. `name`: unique on the machine.
  static Result<ShmHandshake> listen(const std::string& name);
  /// ... and accepts `peers` of them, giving each the files. A process without the secret is refused.
  Status accept(int peers, const host::ArenaFiles& files, const std::string& secret);
  /// The others: comes in, and gets the files.
  static Result<ShmHandshake> connect(const std::string& name, int peer, const std::string& secret,
                                      host::ArenaFiles& files);

  /// One for each process that this one is connected with (the first: all others by peer number; a peer: the first):
  /// readable when that process has gone.
  const std::vector<int>& sockets() const { return sockets_; }

 private:
  int listener_ = -1;
  std::vector<int> sockets_;
};

}  // namespace periapt::machine
