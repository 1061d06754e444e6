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
#include <system_error>
#include <thread>

#include "base/clock.h"
#include "base/owned_descriptor.h"
#include "machine/gpu/imports.h"

namespace periapt::gpu {
namespace {

constexpr int kPatience_s = 1, kWaiting = 64;
constexpr useconds_t kWithoutFiles_us = 10'000;  // until another connection is accepted, where there is no room for it

struct SocketAddress {
  sockaddr_un name{};
  socklen_t size = 0;
  const sockaddr* at() const { return reinterpret_cast<const sockaddr*>(&name); }
};

SocketAddress address_of(const Driver& driver, std::uint64_t process) {
  SocketAddress address;
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
struct AncillaryMessage {
  iovec text{};
  msghdr head{};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};

  AncillaryMessage(char* bytes, std::size_t length) : text{bytes, length} {
    head.msg_iov = &text;
    head.msg_iovlen = 1;
    head.msg_control = control;
    head.msg_controllen = sizeof(control);
  }
};

void answer(int to, const Result<int>& file) {
  std::string said = file ? "file" : file.message();
  AncillaryMessage message(said.data(), said.size());
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

// A call that a signal of the program's has interrupted is made again. Its own patience begins anew then, so that
// signals which come often would keep it for ever.
template <class Call>
ssize_t again_if_interrupted(Call&& call) {
  const std::uint64_t until_ns = clock::now_ns() + kPatience_s * std::uint64_t{1'000'000'000};
  ssize_t answer;
  do {
    answer = call();
  } while (answer < 0 && errno == EINTR && clock::now_ns() < until_ns);
  if (answer < 0 && errno == EINTR) errno = EAGAIN;
  return answer;
}

bool is_of_this_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

bool may_accept_later(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

// Until it fails for good: then the process may be told to give files anew.
void serve(Driver& driver, int listening) {
  for (;;) {
    const OwnedDescriptor asking(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC));
    if (asking.fd() < 0 && may_accept_later(errno)) {
      ::usleep(kWithoutFiles_us);  // what waits stays there, and would be found at once
      continue;
    }
    if (asking.fd() < 0 && errno != EINTR && errno != ECONNABORTED) return;
    if (asking.fd() < 0 || !is_of_this_user(asking.fd())) continue;
    have_patience(asking.fd());
    FileName name;
    if (again_if_interrupted([&] { return ::recv(asking.fd(), &name, sizeof(name), 0); }) !=
        static_cast<ssize_t>(sizeof(name)))
      continue;
    const Result<int> file = open_file(driver, name);
    answer(asking.fd(), file);
    if (file) ::close(*file);
  }
}

// Processes that have a thread, by driver: a child of a fork is another process, and has none.
struct Givers {
  std::mutex mutex;
  std::map<const Driver*, std::uint64_t> of_process;
  static Givers& all() {
    static Givers& its = *new Givers;
    return its;
  }
};

}  // namespace

Status give_files(Driver& driver) {
  Givers& givers = Givers::all();
  const std::lock_guard lock(givers.mutex);
  std::uint64_t& given = givers.of_process[&driver];
  if (given == this_process()) return {};
  const SocketAddress address = address_of(driver, this_process());
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
  Status begun;
  try {
    std::thread([&driver, listening] {
      serve(driver, listening);
      const std::lock_guard ends(Givers::all().mutex);
      Givers::all().of_process[&driver] = 0;
      ::close(listening);
    }).detach();
    given = this_process();
  } catch (const std::system_error& refused) {
    begun = Status::failure(std::string("a thread for files of a GPU's memory: ") + refused.what());
    ::close(listening);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return begun;
}

Result<int> ask_for_file(const Driver& driver, const FileName& name, bool* waited) {
  const SocketAddress address = address_of(driver, name.process);
  const OwnedDescriptor asked(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (asked.fd() < 0) return system_failure("a socket for files of a GPU's memory");
  have_patience(asked.fd());
  const auto failed = [waited](const std::string& what) {
    if (waited != nullptr) *waited = errno == EAGAIN;
    return system_failure(what);
  };
  const std::string cannot = "the process whose memory it is cannot be asked for its file";
  if (again_if_interrupted([&] { return ::connect(asked.fd(), address.at(), address.size); }) != 0)
    return failed(cannot);
  if (!is_of_this_user(asked.fd())) return Status::failure(cannot + ": another user's has its name");
  if (again_if_interrupted([&] { return ::send(asked.fd(), &name, sizeof(name), MSG_NOSIGNAL); }) !=
      static_cast<ssize_t>(sizeof(name)))
    return failed(cannot);
  char said[256];
  AncillaryMessage message(said, sizeof(said));
  const ssize_t length = again_if_interrupted([&] { return ::recvmsg(asked.fd(), &message.head, MSG_CMSG_CLOEXEC); });
  if (length < 0) return failed("the process whose memory it is does not answer");
  if (length == 0) return Status::failure("the process whose memory it is does not answer");
  if ((message.head.msg_flags & MSG_CTRUNC) != 0) return Status::failure("no descriptor is left here for its file");
  const cmsghdr* const one = CMSG_FIRSTHDR(&message.head);
  if (one == nullptr || one->cmsg_type != SCM_RIGHTS || one->cmsg_len != CMSG_LEN(sizeof(int)))
    return Status::failure(std::string(said, static_cast<std::size_t>(length)));
  int file = -1;
  std::memcpy(&file, CMSG_DATA(one), sizeof(file));
  return file;
}

}  // namespace periapt::gpu
