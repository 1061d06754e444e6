#include "machine/bootstrap/pmi_stream.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "machine/bootstrap/watchdog.h"

namespace periapt::bootstrap {
namespace {
constexpr std::size_t kLongestLine = 1 << 20;

Status gone(const std::string& detail) {
  return Status::failure("the launcher closed its connection to this process (" + detail +
                         "): it has ended, or ends the run");
}
}  // namespace

PmiStream::~PmiStream() { ::close(fd_); }

Status PmiStream::send(const std::string& text) {
  std::lock_guard<std::mutex> lock(writing_);
  for (std::size_t sent = 0; sent < text.size();) {
    ssize_t n = ::send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == ENOTSOCK) n = ::write(fd_, text.data() + sent, text.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return gone(std::strerror(errno));
    sent += static_cast<std::size_t>(n);
  }
  return {};
}

Status PmiStream::read_more() {
  char bytes[4096];
  const int limit = startup_limit_seconds();
  for (;;) {
    pollfd readable{fd_, POLLIN, 0};
    const int ready = ::poll(&readable, 1, limit == 0 ? -1 : limit * 1000);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Status::failure(no_answer_in_words());
    ssize_t n = ::read(fd_, bytes, sizeof(bytes));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return gone(std::strerror(errno));
    if (n == 0) return gone("end of file");
    unread_.append(bytes, static_cast<std::size_t>(n));
    return {};
  }
}

Result<std::string> PmiStream::line() {
  for (;;) {
    std::size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    if (unread_.size() > kLongestLine) return Status::failure("the launcher sent a line without end");
    Status more = read_more();
    if (!more) return more;
  }
}

Result<std::string> PmiStream::exactly(std::size_t count) {
  while (unread_.size() < count) {
    Status more = read_more();
    if (!more) return more;
  }
  std::string bytes = unread_.substr(0, count);
  unread_.erase(0, count);
  return bytes;
}

bool PmiStream::closed() {
  pollfd poll{fd_, POLLIN, 0};
  if (::poll(&poll, 1, 0) <= 0) return false;
  if (poll.revents & POLLIN) return !read_more().ok();
  return (poll.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

Result<int> connect_to(const std::string& host_and_port) {
  std::size_t colon = host_and_port.rfind(':');
  if (colon == std::string::npos) return Status::failure("\"" + host_and_port + "\" is not of the form host:port");
  std::string host = host_and_port.substr(0, colon), port = host_and_port.substr(colon + 1);
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  int error = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found);
  if (error != 0) return Status::failure("\"" + host_and_port + "\": " + ::gai_strerror(error));
  Status failed = Status::failure("\"" + host_and_port + "\" has no address");
  for (addrinfo* at = found; at != nullptr; at = at->ai_next) {
    int fd = ::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (fd >= 0 && ::connect(fd, at->ai_addr, at->ai_addrlen) == 0) {
      ::freeaddrinfo(found);
      return fd;
    }
    failed = Status::failure("can't connect to " + host_and_port + ": " + std::strerror(errno));
    if (fd >= 0) ::close(fd);
  }
  ::freeaddrinfo(found);
  return failed;
}

}  // namespace periapt::bootstrap
