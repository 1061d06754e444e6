#include "machine/layer/shm_handshake.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "base/secret.h"

namespace periapt::machine {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kPatience = 60 * kSecond;  // all of them have passed a fence, so they are about to come
constexpr std::size_t kFilesAMessage = 200;        // the kernel takes 253
constexpr std::size_t kSecretBytes = 64;
constexpr std::uint64_t kMostFiles = 4096;

struct Hello {
  std::uint64_t magic;
  std::int32_t peer;
  std::int32_t unused;
  char secret[kSecretBytes];
};
struct Welcome {
  std::uint64_t magic;
  std::uint64_t base;
  std::uint64_t slice_bytes;
  std::uint64_t files;
};
constexpr std::uint64_t kMagic = 0x0001'5450'4149'5245;  // "ERIAPT", version 1

Status failure(const std::string& what) { return Status::failure(what + ": " + error_text()); }

// Abstract: the name begins with a zero byte.
socklen_t fill(sockaddr_un& address, const std::string& name) {
  address = {};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), size);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
}

void limit_waiting(int socket) {
  timeval limit{static_cast<time_t>(kPatience / kSecond), 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

// The process at the other end; pid 0 of another user if that cannot be known.
ucred peer_of(int socket) {
  ucred peer{0, ~::geteuid(), 0};
  socklen_t size = sizeof peer;
  static_cast<void>(::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size));
  return peer;
}

// Came, and was none of ours; or left before it had said anything, as one of ours does that is killed then.
void warn_of_stranger(const ucred& peer, bool silent) {
  const std::string who = "a process (pid " + std::to_string(peer.pid) + ")";
  log::warn(silent ? who + " came for the message memory of this host and left without a word: was it killed?"
                   : who + " that does not belong to this run asked for its message memory and was sent away");
}

void copy_secret(char (&to)[kSecretBytes], const std::string& secret) {
  std::memset(to, 0, sizeof to);
  std::memcpy(to, secret.data(), std::min(secret.size(), sizeof to));
}

// Bytes with files beside them.
Status send_files(int socket, const void* bytes, std::size_t size, const int* files, std::size_t count) {
  std::vector<char> control(CMSG_SPACE(sizeof(int) * std::max<std::size_t>(count, 1)));
  iovec part{const_cast<void*>(bytes), size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (count > 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * count);
    std::memcpy(CMSG_DATA(header), files, sizeof(int) * count);
  }
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) != static_cast<ssize_t>(size)) {
    return failure("message memory could not be handed to another process of this host");
  }
  return {};
}

Status receive_files(int socket, void* bytes, std::size_t size, std::vector<int>& files) {
  std::vector<char> control(CMSG_SPACE(sizeof(int) * kFilesAMessage));
  iovec part{bytes, size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  for (cmsghdr* header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr; header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    const std::size_t before = files.size();
    files.resize(before + count);
    std::memcpy(files.data() + before, CMSG_DATA(header), count * sizeof(int));
  }
  if (got == 0) errno = ECONNRESET;
  if (got > 0 && (message.msg_flags & MSG_CTRUNC) != 0)
    errno = EMFILE;  // what this process may not have open is dropped
  if (got != static_cast<ssize_t>(size) || (message.msg_flags & MSG_CTRUNC) != 0) {
    return failure("the message memory of this host could not be had from its first process");
  }
  return {};
}

}  // namespace

ShmHandshake::~ShmHandshake() {
  if (listener_ >= 0) ::close(listener_);
  for (int socket : sockets_) {
    if (socket >= 0) ::close(socket);
  }
}

Result<ShmHandshake> ShmHandshake::listen(const std::string& name) {
  ShmHandshake handshake;
  handshake.listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address;
  const socklen_t size = fill(address, name);
  if (handshake.listener_ < 0 || ::bind(handshake.listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(handshake.listener_, 512) != 0) {
    return failure("could not open the Unix socket \"@" + name + "\" where the processes of this host meet");
  }
  return handshake;
}

Status ShmHandshake::accept(int peers, const host::ArenaFiles& files, const std::string& secret) {
  sockets_.assign(static_cast<std::size_t>(peers), -1);
  char expected[kSecretBytes];
  copy_secret(expected, secret);
  const std::uint64_t deadline = clock::now_ns() + kPatience;
  for (int inside = 0; inside < peers;) {
    pollfd listener{listener_, POLLIN, 0};
    const std::uint64_t now = clock::now_ns();
    if (now >= deadline || ::poll(&listener, 1, static_cast<int>((deadline - now) / 1'000'000 + 1)) == 0) {
      return Status::failure("only " + std::to_string(inside) + " of " + std::to_string(peers) +
                             " other processes of this host have come for their message memory within " +
                             std::to_string(kPatience / kSecond) + " s");
    }
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    limit_waiting(socket);
    Hello hello;
    const ucred peer = peer_of(socket);
    const bool same_user = peer.uid == ::geteuid();
    const ssize_t said = same_user ? ::recv(socket, &hello, sizeof hello, MSG_WAITALL) : 0;
    const bool known = said == sizeof hello && hello.magic == kMagic &&
                       equal_secrets(hello.secret, expected, kSecretBytes) && hello.peer >= 0 && hello.peer < peers &&
                       sockets_[static_cast<std::size_t>(hello.peer)] < 0;
    if (!known) {
      warn_of_stranger(peer, same_user && said <= 0);
      ::close(socket);
      continue;
    }
    sockets_[static_cast<std::size_t>(hello.peer)] = socket;
    ++inside;
    const Welcome welcome{kMagic, files.base, files.slice_bytes, files.files.size()};
    Status sent = send_files(socket, &welcome, sizeof welcome, nullptr, 0);
    for (std::size_t at = 0; sent && at < files.files.size(); at += kFilesAMessage) {
      const std::uint64_t count = std::min(kFilesAMessage, files.files.size() - at);
      sent = send_files(socket, &count, sizeof count, files.files.data() + at, count);
    }
    if (!sent) return Status::failure(sent.message() + " (pid " + std::to_string(peer.pid) + ": was it killed?)");
  }
  ::close(listener_);
  listener_ = -1;
  return {};
}

Result<ShmHandshake> ShmHandshake::connect(const std::string& name, int peer, const std::string& secret,
                                           host::ArenaFiles& files) {
  ShmHandshake handshake;
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  handshake.sockets_.push_back(socket);
  sockaddr_un address;
  const socklen_t size = fill(address, name);
  if (socket < 0 || ::connect(socket, reinterpret_cast<sockaddr*>(&address), size) != 0) {
    return failure("could not reach the first process of this host at the Unix socket \"@" + name +
                   "\" (is one of them in a container of its own?)");
  }
  limit_waiting(socket);
  Hello hello{kMagic, peer, 0, {}};
  copy_secret(hello.secret, secret);
  if (::send(socket, &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) return failure("the first process left");
  Welcome welcome;
  Status got = receive_files(socket, &welcome, sizeof welcome, files.files);
  if (!got) return got;
  if (welcome.magic != kMagic || welcome.files > kMostFiles) {
    return Status::failure("the first process of this host runs another version of Periapt");
  }
  files.base = welcome.base;
  files.slice_bytes = welcome.slice_bytes;
  while (files.files.size() < welcome.files) {
    std::uint64_t count;
    got = receive_files(socket, &count, sizeof count, files.files);
    if (!got) return got;
  }
  return handshake;
}

}  // namespace periapt::machine
