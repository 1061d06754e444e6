#include "machine/gpu/files.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "machine/gpu/imports.h"

namespace periapt::gpu {
namespace {

constexpr int kPatience_s = 1, kWaiting = 64;

/// Closes what it holds.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }

 private:
  const int fd_;
};

struct Address {
  sockaddr_un name{};
  socklen_t size = 0;
  const sockaddr* at() const { return reinterpret_cast<const sockaddr*>(&name); }
};

Address address_of(const Driver& driver, std::uint64_t process) {
  Address address;
  address.name.sun_family = AF_UNIX;
  const int length =
      std::snprintf(address.name.sun_path + 1, sizeof(address.name.sun_path) - 1, "periapt-gpu-files-%016llx-%s",
                    static_cast<unsigned long long>(process), driver.vendor());
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  return address;
}

Status system_failure(const std::string& what) { return Status::failure(what + ": " + std::strerror(errno)); }

void have_patience(int fd) {
  const timeval most{kPatience_s, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
}

/// An answer: a file, or in its place a sentence.
struct Message {
  iovec text{};
  msghdr head{};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};

  Message(char* bytes, std::size_t length) : text{bytes, length} {
    head.msg_iov = &text;
    head.msg_iovlen = 1;
    head.msg_control = control;
    head.msg_controllen = sizeof(control);
  }
};

void answer(int to, const Result<int>& file) {
  std::string said = file ? "file" : file.message();
  Message message(said.data(), said.size());
  if (file) {
    cmsghdr* const one = CMSG_FIRSTHDR(&message.head);
    one->cmsg_level = SOL_SOCKET;
    one->cmsg_type = SCM_RIGHTS;
    one->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(one), &file.value(), sizeof(int));
  } else {
    message.head.msg_control = nullptr;
    message.head.msg_controllen = 0;
  }
  static_cast<void>(::sendmsg(to, &message.head, MSG_NOSIGNAL));
}

// The number is asked for before and behind: between, the address may get another mapping.
Result<int> open_file(Driver& driver, const FileName& name) {
  const void* const mapping = reinterpret_cast<const void*>(name.begin);
  const auto is_there = [&] {
    const Result<std::uint64_t> buffer = driver.buffer_of(mapping);
    return buffer && *buffer == name.buffer;
  };
  if (name.process != this_process() || name.buffer == 0 || !is_there())
    return Status::failure("that memory is not mapped there any more");
  Result<int> file = driver.open_file(mapping);
  if (!file || is_there()) return file;
  ::close(*file);
  return Status::failure("that memory is not mapped there any more");
}

bool is_of_this_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

void serve(Driver& driver, int listening) {
  for (;;) {
    const Socket asking(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC));
    if (asking.fd() < 0 && errno != EINTR && errno != ECONNABORTED && errno != EMFILE && errno != ENFILE) return;
    if (asking.fd() < 0 || !is_of_this_user(asking.fd())) continue;
    have_patience(asking.fd());
    FileName name;
    if (::recv(asking.fd(), &name, sizeof(name), 0) != static_cast<ssize_t>(sizeof(name))) continue;
    const Result<int> file = open_file(driver, name);
    answer(asking.fd(), file);
    if (file) ::close(*file);
  }
}

}  // namespace

Status give_files(Driver& driver) {
  static std::mutex mutex;
  static auto& of_process = *new std::map<const Driver*, std::uint64_t>;  // with a thread; a child of a fork has none
  const std::lock_guard lock(mutex);
  std::uint64_t& given = of_process[&driver];
  if (given == this_process()) return {};
  const Address address = address_of(driver, this_process());
  const int listening = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (listening < 0) return system_failure("a socket for files of a GPU's memory");
  if (::bind(listening, address.at(), address.size) != 0 || ::listen(listening, kWaiting) != 0) {
    const Status failed = system_failure("a socket for files of a GPU's memory");
    ::close(listening);
    return failed;
  }
  // Signals are the program's threads'.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([&driver, listening] { serve(driver, listening); }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  given = this_process();
  return {};
}

Result<int> ask_for_file(const Driver& driver, const FileName& name) {
  const Address address = address_of(driver, name.process);
  const Socket asked(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (asked.fd() < 0) return system_failure("a socket for files of a GPU's memory");
  have_patience(asked.fd());
  if (::connect(asked.fd(), address.at(), address.size) != 0)
    return system_failure("the process whose memory it is cannot be asked for its file");
  if (::send(asked.fd(), &name, sizeof(name), MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof(name)))
    return system_failure("the process whose memory it is cannot be asked for its file");
  char said[256];
  Message message(said, sizeof(said));
  const ssize_t length = ::recvmsg(asked.fd(), &message.head, MSG_CMSG_CLOEXEC);
  if (length <= 0) return Status::failure("the process whose memory it is does not answer");
  const cmsghdr* const one = CMSG_FIRSTHDR(&message.head);
  if (one == nullptr || one->cmsg_type != SCM_RIGHTS || one->cmsg_len != CMSG_LEN(sizeof(int)))
    return Status::failure(std::string(said, static_cast<std::size_t>(length)));
  int file = -1;
  std::memcpy(&file, CMSG_DATA(one), sizeof(file));
  return file;
}

}  // namespace periapt::gpu
