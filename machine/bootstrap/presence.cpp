#include "machine/bootstrap/presence.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>

namespace periapt::bootstrap {
namespace {

struct Name {
  sockaddr_un address{};
  socklen_t length = 0;
};

Name name_of(const std::string& job, int rank, std::uint64_t phase) {
  // A job's name may be longer than a socket's may be.
  std::string text = "periapt-" + std::to_string(::getuid()) + "-" + std::to_string(std::hash<std::string>()(job)) +
                     "-" + std::to_string(rank) + "-" + std::to_string(phase);
  Name name;
  name.address.sun_family = AF_UNIX;
  std::size_t count = std::min(text.size(), sizeof(name.address.sun_path) - 1);
  std::memcpy(name.address.sun_path + 1, text.data(), count);  // a first byte of 0: abstract
  name.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + count);
  return name;
}

}  // namespace

Presence::~Presence() {
  if (held_ >= 0) ::close(held_);
  if (former_ >= 0) ::close(former_);
}

void Presence::enter(int rank, std::uint64_t phase) {
  if (former_ >= 0) ::close(former_);
  former_ = held_;
  held_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (held_ < 0) return;
  Name name = name_of(job_, rank, phase);
  if (::bind(held_, reinterpret_cast<const sockaddr*>(&name.address), name.length) != 0) {
    ::close(held_);
    held_ = -1;
  }
}

bool Presence::has_entered(int rank, std::uint64_t phase) const {
  int asker = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (asker < 0) return true;  // can't say
  bool there = false;
  for (std::uint64_t at : {phase, phase + 1}) {
    Name name = name_of(job_, rank, at);
    there = there || ::connect(asker, reinterpret_cast<const sockaddr*>(&name.address), name.length) == 0;
  }
  ::close(asker);
  return there;
}

}  // namespace periapt::bootstrap
