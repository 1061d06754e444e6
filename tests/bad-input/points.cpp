// See points.h.
#include "points.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "machine/bootstrap/local_world.h"
#include "machine/bootstrap/passing_world.h"
#include "machine/layer/machine_layer.h"

using periapt::Result;
using periapt::Status;
using periapt::bootstrap::LocalBoard;
using periapt::bootstrap::PassingWorld;
using periapt::bootstrap::World;
using periapt::machine::MachineLayer;

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

struct Order {
  std::string point;
  int times = 1;
  std::string victim, then, report;

  Order()
      : point(variable("PERIAPT_TEST_POINT")),
        victim(variable("PERIAPT_TEST_VICTIM")),
        then(variable("PERIAPT_TEST_THEN")),
        report(variable("PERIAPT_TEST_REPORT")) {
    const std::size_t colon = point.find(':');
    if (colon == std::string::npos) return;
    times = std::atoi(point.c_str() + colon + 1);
    point.resize(colon);
  }
};
const Order& order() {
  static const Order the_order;
  return the_order;
}

// From the environment, before the launcher has been asked.
int rank_told() {
  for (const char* name : {"PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return -1;
}

std::atomic<int> hits{0};
std::atomic<int> own_rank{rank_told()};

// The file that it is to be said in. `first`: it has not been made yet; otherwise below 0.
int open_report(bool first) {
  return ::open(order().report.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | (first ? O_EXCL : 0), 0644);
}

bool is_host(const std::string& name) {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return name == host;
}

}  // namespace

void point(const char* name, int process) {
  if (order().point != name) return;
  const int known = own_rank.load(std::memory_order_relaxed);
  const int rank = known >= 0 ? known : process;
  if (hits.fetch_add(1, std::memory_order_relaxed) + 1 != order().times) return;
  const bool any = order().victim == "any";
  if (!any && order().victim != std::to_string(rank) && !is_host(order().victim)) return;
  const int report = open_report(any);
  if (report < 0) return;
  const std::string said = "process " + std::to_string(rank) + "\n";
  static_cast<void>(!::write(report, said.data(), said.size()));
  ::close(report);
  if (order().then == "die") ::kill(::getpid(), SIGKILL);
  if (order().then == "wait") {
    const std::string go = order().report + ".go";
    while (::access(go.c_str(), F_OK) != 0) ::usleep(5000);
    return;
  }
  while (true) ::pause();
}

namespace {

// What passes between a process and its launcher.
class Pointed : public PassingWorld {
 public:
  explicit Pointed(std::unique_ptr<World> inner) : PassingWorld(std::move(inner)) { own_rank = rank(); }
  Status put(const std::string& name, const std::string& value) override {
    Status done = PassingWorld::put(name, value);
    point("put");
    return done;
  }
  Status fence() override {
    point("fence");
    Status done = PassingWorld::fence();
    point("met");
    return done;
  }
  void finalize() override {
    point("finalize");
    PassingWorld::finalize();
  }
};

std::unique_ptr<World> pointed(std::unique_ptr<World> world) {
  if (world->size() == 1) return world;
  world = std::make_unique<Pointed>(std::move(world));
  point("found");
  return world;
}

bool is_stream(int socket, int family) {
  int type = 0, domain = 0;
  socklen_t size = sizeof type;
  ::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size);
  ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size);
  return type == SOCK_STREAM && domain == family;
}
bool is_network(int socket) { return is_stream(socket, AF_INET) || is_stream(socket, AF_INET6); }

}  // namespace

// ---- what the linker redirects

#define WRAPPED(symbol) __asm__("__wrap_" symbol)
#define REAL(symbol) __asm__("__real_" symbol)

Result<std::unique_ptr<World>> real_find() REAL("_ZN7periapt9bootstrap5World4findEv");
Result<std::unique_ptr<World>> wrapped_find() WRAPPED("_ZN7periapt9bootstrap5World4findEv");
Result<std::unique_ptr<World>> wrapped_find() {
  point("looking");
  Result<std::unique_ptr<World>> found = real_find();
  if (!found) return found;
  return pointed(std::move(*found));
}

// Of processes that the program itself has started: a member function takes `this` first.
std::unique_ptr<World> real_world(const LocalBoard* self, int rank) REAL("_ZNK7periapt9bootstrap10LocalBoard5worldEi");
std::unique_ptr<World> wrapped_world(const LocalBoard* self, int rank)
    WRAPPED("_ZNK7periapt9bootstrap10LocalBoard5worldEi");
std::unique_ptr<World> wrapped_world(const LocalBoard* self, int rank) { return pointed(real_world(self, rank)); }

void real_enter(MachineLayer* self, int carrier) REAL("_ZN7periapt7machine12MachineLayer5enterEi");
void wrapped_enter(MachineLayer* self, int carrier) WRAPPED("_ZN7periapt7machine12MachineLayer5enterEi");
void wrapped_enter(MachineLayer* self, int carrier) {
  point("enter", self->process());
  real_enter(self, carrier);
}

void real_leave(MachineLayer* self, int pe) REAL("_ZN7periapt7machine12MachineLayer5leaveEi");
void wrapped_leave(MachineLayer* self, int pe) WRAPPED("_ZN7periapt7machine12MachineLayer5leaveEi");
void wrapped_leave(MachineLayer* self, int pe) {
  point("leave", self->process());
  real_leave(self, pe);
}

extern "C" {
int real_connect(int socket, const sockaddr* address, socklen_t size) REAL("connect");
int wrapped_connect(int socket, const sockaddr* address, socklen_t size) WRAPPED("connect");
int wrapped_connect(int socket, const sockaddr* address, socklen_t size) {
  const int done = real_connect(socket, address, size);
  if (is_network(socket)) {
    point("connecting");
    point("connection");
  }
  if (is_stream(socket, AF_UNIX) && address->sa_data[0] == 0) point("entering");  // the room of its host
  return done;
}

int real_accept4(int socket, sockaddr* address, socklen_t* size, int flags) REAL("accept4");
int wrapped_accept4(int socket, sockaddr* address, socklen_t* size, int flags) WRAPPED("accept4");
int wrapped_accept4(int socket, sockaddr* address, socklen_t* size, int flags) {
  const int done = real_accept4(socket, address, size, flags);
  if (done >= 0 && is_network(socket)) {
    point("accepted");
    point("connection");
  }
  return done;
}

ssize_t real_sendmsg(int socket, const msghdr* message, int flags) REAL("sendmsg");
ssize_t wrapped_sendmsg(int socket, const msghdr* message, int flags) WRAPPED("sendmsg");
ssize_t wrapped_sendmsg(int socket, const msghdr* message, int flags) {
  if (message->msg_controllen > 0) point("handing over");  // files
  const iovec& last = message->msg_iov[message->msg_iovlen - 1];
  if (order().point == "cut" && last.iov_len >= std::size_t{1} << 16 && is_network(socket)) {
    // The peer gets the first half of the message, and then nothing.
    std::vector<iovec> parts(message->msg_iov, message->msg_iov + message->msg_iovlen);
    parts.back().iov_len /= 2;
    msghdr half = *message;
    half.msg_iov = parts.data();
    const ssize_t sent = real_sendmsg(socket, &half, flags);
    point("cut");
    return sent;
  }
  return real_sendmsg(socket, message, flags);
}

ssize_t real_recvmsg(int socket, msghdr* message, int flags) REAL("recvmsg");
ssize_t wrapped_recvmsg(int socket, msghdr* message, int flags) WRAPPED("recvmsg");
ssize_t wrapped_recvmsg(int socket, msghdr* message, int flags) {
  if (message->msg_controllen > 0) point("taking over");  // files
  return real_recvmsg(socket, message, flags);
}
}
