// See child.h.
#include "runtime/loadbalance/plugin/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <sstream>

#include "base/clock.h"
#include "runtime/loadbalance/plugin/plugin.h"
#include "runtime/loadbalance/plugin/wire.h"

extern char** environ;

namespace periapt::loadbalance {

void Child::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw PluginFailure(std::string("cannot be started: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (ends[1] == host_socket) {  // dup2 onto itself would leave it to be closed
    const int other = ::fcntl(ends[1], F_DUPFD_CLOEXEC, host_socket + 1);
    ::close(std::exchange(ends[1], other));
  }
  posix_spawn_file_actions_adddup2(&actions, ends[1], host_socket);
  // Signals as at the start of a program, whatever this one has blocked.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> words;
  for (std::string& word : command_) words.push_back(word.data());
  words.push_back(nullptr);
  const int failed = ::posix_spawnp(&pid_, words[0], &actions, &attributes, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  ::close(ends[1]);
  socket_ = ends[0];
  if (failed == 0) return;
  pid_ = -1;
  end();
  throw PluginFailure("cannot be started, as " + command_[0] + " cannot: " + std::strerror(failed));
}

void Child::end() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
}

void Child::fail() {
  // It has closed its end: mostly because it has ended already, and that with a status of its own.
  ::kill(pid_, SIGKILL);
  int status = 0;
  const bool is_known = ::waitpid(std::exchange(pid_, -1), &status, 0) > 0;
  end();
  if (!is_known) throw PluginFailure("has ended, with a status that is not known, as this process ignores SIGCHLD");
  if (WIFSIGNALED(status))
    throw PluginFailure("has been ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
                        ::strsignal(WTERMSIG(status)) + ")");
  throw PluginFailure("has ended with exit status " + std::to_string(WEXITSTATUS(status)));
}

void Child::wait(short events, double until_s, double limit_s) {
  pollfd ready{socket_, events, 0};
  while (true) {
    const double left = until_s - clock::seconds();
    const int count = left > 0 ? ::poll(&ready, 1, static_cast<int>(std::min(std::ceil(left * 1e3), 1e9))) : 0;
    if (count > 0) return;
    if (count < 0 && errno == EINTR) continue;
    end();
    std::ostringstream text;
    text << "has not answered within " << limit_s << " s (:limit=SECONDS gives it more)";
    throw PluginFailure(text.str());
  }
}

void Child::send(const std::vector<char>& question, double limit_s) {
  const double until = clock::seconds() + limit_s;
  for (std::size_t sent = 0; sent < question.size();) {
    wait(POLLOUT, until, limit_s);
    const ssize_t count = ::send(socket_, question.data() + sent, question.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) fail();
    sent += static_cast<std::size_t>(count);
  }
}

void Child::read(void* to, std::size_t bytes, double until_s, double limit_s) {
  char* at = static_cast<char*>(to);
  while (bytes > 0) {
    wait(POLLIN, until_s, limit_s);
    const ssize_t count = ::recv(socket_, at, bytes, MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) fail();
    at += count;
    bytes -= static_cast<std::size_t>(count);
  }
}

Answer Child::receive(double limit_s) {
  const double until = clock::seconds() + limit_s;
  AnswerHead head{};
  read(&head, sizeof head, until, limit_s);
  constexpr std::uint64_t length_max = std::uint64_t{1} << 34;
  if (head.length < sizeof head - sizeof head.length || head.length > length_max) {
    end();
    throw PluginFailure("has written to the socket of the runtime (descriptor " + std::to_string(host_socket) + ")");
  }
  Answer answer{head.status, head.flags, std::vector<char>(head.length - (sizeof head - sizeof head.length))};
  read(answer.data.data(), answer.data.size(), until, limit_s);
  return answer;
}

}  // namespace periapt::loadbalance
