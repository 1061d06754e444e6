// Which way messages would take, and why: between two workers of the engine in two processes of this host, once as
// processes of one host and once as if they were on two. What is said is what +explain-transport would say of them.
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "machine/ucx-like/context.h"
#include "machine/ucx-like/worker.h"
#include "tools/doctor/finding.h"

namespace periapt::doctor {
namespace {

constexpr std::size_t kSmall = 8, kLarge = 1 << 20;
constexpr std::uint64_t kPatienceNs = 5'000'000'000;
constexpr ucx::Tag kLast = 3;

/// A worker and what it stands on.
struct OpenWorker {
  std::unique_ptr<ucx::Context> context;
  std::unique_ptr<ucx::Worker> worker;
};

Result<OpenWorker> open(const machine::NetSettings& settings, ucx::PeerId self, const std::string& host) {
  static const char secret[] = "periapt-doctor";
  ucx::ContextRequest request;
  request.factories = settings.transports;
  request.transports = settings.wanted;
  request.option = settings.option;
  request.self = self;
  request.host = host;
  request.secret.resize(sizeof secret);
  std::memcpy(request.secret.data(), secret, sizeof secret);
  Result<std::unique_ptr<ucx::Context>> context = ucx::Context::create(std::move(request));
  if (!context) return context.status();
  Result<std::unique_ptr<ucx::Worker>> worker = ucx::Worker::create(**context);
  if (!worker) return worker.status();
  return OpenWorker{std::move(*context), std::move(*worker)};
}

bool wait_for(ucx::Worker& worker, const ucx::RequestPtr& request) {
  const std::uint64_t deadline = clock::now_ns() + kPatienceNs;
  while (request && !request->ended() && clock::now_ns() < deadline) worker.progress();
  return !request || (request->ended() && request->outcome() == ucx::Outcome::ok);
}

// One small and one large message there, and one back.
bool exchange(ucx::Worker& worker, ucx::Endpoint& peer, bool first) {
  std::vector<std::byte> small(kSmall), large(kLarge), answer(kSmall);
  if (first) {
    return wait_for(worker, peer.tag_send(small, 1)) && wait_for(worker, peer.tag_send(large, 2)) &&
           wait_for(worker, worker.tag_receive(answer, kLast));
  }
  return wait_for(worker, worker.tag_receive(small, 1)) && wait_for(worker, worker.tag_receive(large, 2)) &&
         wait_for(worker, peer.tag_send(answer, kLast)) && wait_for(worker, peer.flush());
}

bool send_bytes(int socket, const std::vector<std::byte>& bytes) {
  return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}
std::vector<std::byte> receive_bytes(int socket) {
  std::vector<std::byte> bytes(1 << 16);
  const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

// Opens, gives its address through the socket and takes the other's, sends and receives. The way, in words.
Result<std::string> talk(const machine::NetSettings& settings, int socket, bool first, const std::string& host) {
  Result<OpenWorker> place = open(settings, first ? 1 : 2, host);
  if (!place) return place.status();
  ucx::Worker& worker = *place->worker;
  if (!send_bytes(socket, worker.address())) return Status::failure("the other process has gone");
  const std::vector<std::byte> theirs = receive_bytes(socket);
  if (theirs.empty()) return Status::failure("the other process could not open its transports");
  Result<ucx::Endpoint*> peer = worker.connect(theirs);
  if (!peer) return peer.status();
  if (!exchange(worker, **peer, first)) {
    return Status::failure("two processes could not exchange messages" +
                           ((*peer)->failure().empty() ? " within 5 s" : ": " + (*peer)->failure()));
  }
  return worker.explain(*peer);
}

// With a child as the other process.
Result<std::string> try_between(const machine::NetSettings& settings, const std::string& host,
                                const std::string& other_host) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
    return Status::failure(std::string("socketpair: ") + std::strerror(errno));
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(sockets[0]);
    ::_exit(talk(settings, sockets[1], false, other_host) ? 0 : 1);
  }
  ::close(sockets[1]);
  Result<std::string> way = talk(settings, sockets[0], true, host);
  ::close(sockets[0]);
  if (child > 0) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  return way;
}

// "worker 2: over tcp/eth0 ...": without the first words, which mean nothing here.
std::string without_worker(std::string text) {
  const std::string begin = "worker 2: ";
  if (text.rfind(begin, 0) == 0) text.erase(0, begin.size());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// What would help: of the devices that can't be used.
std::string remedies(const machine::NetSettings& settings) {
  ucx::OpenRequest request;
  request.option = settings.option;
  std::string all;
  for (const ucx::TransportFactory* factory : settings.transports) {
    for (const ucx::Device& device : factory->probe(request)) {
      if (!device.usable && !device.remedy.empty()) all += (all.empty() ? "" : "; ") + device.remedy;
    }
  }
  return all.empty() ? "see the transports above" : all;
}

void probe(Findings& findings, const machine::NetSettings& settings, const char* name, const std::string& other_host,
           Availability without) {
  Result<std::string> way = try_between(settings, "this", other_host);
  if (way) {
    findings.push_back({"chosen", name, Availability::good, without_worker(*way), {}});
  } else {
    findings.push_back({"chosen", name, without, way.message(), remedies(settings)});
  }
}

}  // namespace

void probe_choice(Findings& findings, const machine::NetSettings& settings) {
  findings.push_back({"chosen",
                      "same host",
                      Availability::good,
                      "message memory that all processes of the host map: a message changes owner, nothing is copied; "
                      "with +no-shared-memory, and without shm in +transports, as follows",
                      {}});
  probe(findings, settings, "same host, apart", "this", Availability::limited);
  probe(findings, settings, "another host", "another", Availability::broken);
}

}  // namespace periapt::doctor
