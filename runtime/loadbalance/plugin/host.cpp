// The process of a balancer in a shared library: opens it, and answers questions.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>

#include "base/loaded_library.h"
#include "runtime/loadbalance/plugin/plugin.h"
#include "runtime/loadbalance/plugin/wire.h"

namespace periapt::loadbalance {

namespace {
// False: the other side has gone.
bool receive(void* to, std::size_t bytes) {
  char* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t count = ::read(host_socket, at, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += count;
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}
void send(const std::vector<char>& answer) {
  for (std::size_t sent = 0; sent < answer.size();) {
    const ssize_t count = ::write(host_socket, answer.data() + sent, answer.size() - sent);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) ::_exit(0);
    sent += static_cast<std::size_t>(count);
  }
}
void send_text(AnswerStatus status, std::uint32_t flags, const std::string& text) {
  send(write_answer(status, flags, text.data(), text.size()));
}

const periapt_balancer* open_balancer(const char* file, std::string* wrong) {
  const std::string path = std::strchr(file, '/') ? file : std::string("./") + file;
  const LoadedLibrary library({path});
  if (!library.fault.empty()) {
    *wrong = "cannot be opened: " + library.fault;
    return nullptr;
  }
  const auto* balancer = library.find_if_there<const periapt_balancer>("periapt_balancer_plugin");
  if (!balancer) {
    *wrong = "is a library without a balancer: it has no PERIAPT_BALANCER(summary, function)";
    return nullptr;
  }
  if (balancer->interface != PERIAPT_BALANCER_INTERFACE) {
    *wrong = "was made for interface " + std::to_string(balancer->interface) + " of balancers, and this program has " +
             std::to_string(PERIAPT_BALANCER_INTERFACE) + ": compile it with this Periapt's periapt_balancer.h";
    return nullptr;
  }
  return balancer;
}

void answer(const periapt_balancer& balancer, const std::vector<char>& question) {
  const periapt_problem problem = read_question(question);
  std::vector<std::int32_t> to(problem.pe, problem.pe + problem.objects);
  try {
    balancer.balance(problem, to.data());
  } catch (const std::exception& e) {
    return send_text(AnswerStatus::wrong, 0, std::string("has thrown an exception: ") + e.what());
  } catch (...) {
    return send_text(AnswerStatus::wrong, 0, "has thrown something that is no std::exception");
  }
  send(write_answer(AnswerStatus::right, 0, to.data(), to.size() * sizeof(std::int32_t)));
}
}  // namespace

void run_plugin_host(const char* file) {
  std::string wrong;
  const periapt_balancer* const balancer = open_balancer(file, &wrong);
  if (!balancer) {
    send_text(AnswerStatus::wrong, 0, wrong);
    ::_exit(1);
  }
  send_text(AnswerStatus::right, balancer->wants_messages ? flag_messages : 0, balancer->summary);
  std::uint64_t length = 0;
  while (receive(&length, sizeof length)) {
    std::vector<char> question(length);
    if (!receive(question.data(), length)) break;
    answer(*balancer, question);
  }
  ::_exit(0);
}

}  // namespace periapt::loadbalance
