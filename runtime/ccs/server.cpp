#include "runtime/ccs/server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "base/secret.h"

namespace periapt::ccs {

namespace {
constexpr char kTokenMark[] = {'T', 'O', 'K', 'N'};
constexpr std::size_t kTokenHead = sizeof kTokenMark + Server::kTokenBytes;
constexpr std::size_t kHead = 8 + Server::kHandlerBytes;
constexpr std::uint64_t kPatienceNs = 30'000'000'000;  // with a client that sends or takes nothing
constexpr std::size_t kReadMost = std::size_t{1} << 20;

std::uint32_t number_at(const char* bytes) {
  std::uint32_t number;
  std::memcpy(&number, bytes, sizeof number);
  return ntohl(number);
}
}  // namespace

struct Server::Client {
  int fd = -1;
  std::uint64_t id = 0;
  sockaddr_in address{};
  std::uint64_t moved_ns = 0;
  bool welcome = false;  // has shown the token, or needs none
  bool asked = false;    // its request is whole
  bool answered = false;
  ClientRequest request;
  std::size_t wanted = 0;  // bytes of its request; 0 with an empty name: its head has not come
  std::string in, out;
  std::size_t sent = 0;
};

Server::Server(int listener, int port, std::string token) : listener_(listener), port_(port), token_(std::move(token)) {
  // A run that goes back to a checkpoint may bring along replies that were meant for clients of its earlier start.
  std::uint32_t start;
  fill_random(&start, sizeof start);
  next_id_ = (std::uint64_t{start} << 32) + 1;
}

Result<std::unique_ptr<Server>> Server::open(const ServerConfig& config) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(config.port));
  if (::inet_pton(AF_INET, config.address.c_str(), &address.sin_addr) != 1)
    return Status::failure("++server-address " + config.address + " is no IPv4 address");
  const std::string name = config.address + ":" + std::to_string(config.port);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return Status::failure("no socket for ++server: " + error_text());
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  socklen_t size = sizeof address;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(fd, 64) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    const std::string why = error_text();
    ::close(fd);
    return Status::failure("++server can't listen at " + name + ": " + why);
  }
  return std::unique_ptr<Server>(new Server(fd, ntohs(address.sin_port), config.token));
}

Server::~Server() {
  ::close(listener_);
  for (const auto& client : clients_)
    if (client->fd >= 0) ::close(client->fd);
}

std::vector<ClientRequest> Server::look() {
  std::vector<ClientRequest> whole;
  const auto gone = [](const auto& client) { return client->fd < 0; };
  std::erase_if(clients_, gone);
  accept_all();
  std::vector<pollfd> polled;
  for (const auto& client : clients_) {
    const bool writes = client->sent < client->out.size();
    polled.push_back({client->fd, static_cast<short>(writes ? POLLOUT : client->asked ? 0 : POLLIN), 0});
  }
  if (polled.empty() || ::poll(polled.data(), polled.size(), 0) < 0) return whole;
  const std::uint64_t now = clock::now_ns();
  for (std::size_t i = 0; i < polled.size(); ++i) {
    Client& client = *clients_[i];
    if (polled[i].revents != 0) {
      client.moved_ns = now;
      if (polled[i].revents & POLLOUT)
        write(client);
      else if (!client.asked)
        read(client, whole);
      else if (polled[i].revents & (POLLERR | POLLHUP))
        drop(client, "");  // it has gone: its answer is not wanted
    } else if ((!client.asked || client.answered) && now - client.moved_ns > kPatienceNs) {
      drop(client,
           client.answered ? "a client takes none of its answer" : "a client has begun a request and sends no more");
    }
  }
  std::erase_if(clients_, gone);
  return whole;
}

void Server::accept_all() {
  while (clients_.size() < kClientsMost) {
    auto client = std::make_unique<Client>();
    socklen_t size = sizeof client->address;
    client->fd =
        ::accept4(listener_, reinterpret_cast<sockaddr*>(&client->address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client->fd < 0) return;
    client->id = next_id_++;
    client->moved_ns = clock::now_ns();
    client->welcome = token_.empty();
    clients_.push_back(std::move(client));
  }
}

void Server::read(Client& client, std::vector<ClientRequest>& whole) {
  char bytes[65536];
  for (std::size_t taken = 0; taken < kReadMost;) {
    const ssize_t count = ::recv(client.fd, bytes, sizeof bytes, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return drop(client, client.in.empty() ? "" : "a client left in the middle of its request");
    taken += static_cast<std::size_t>(count);
    client.in.append(bytes, static_cast<std::size_t>(count));
    held_ += static_cast<std::size_t>(count);
    if (held_ > kRequestMost) return drop(client, "requests that are not whole fill the memory for them");
    if (!take_head(client)) return;
    if (client.request.handler.empty() || client.in.size() < client.wanted) continue;
    if (client.in.size() > client.wanted) return drop(client, "a client sends more than its request");
    held_ -= client.in.size();
    client.request.bytes = std::move(client.in);
    client.in.clear();
    client.request.id = client.id;
    client.request.client = client.address;
    client.asked = true;
    whole.push_back(std::move(client.request));
    return;
  }
}

// What stands in front of the request's bytes, once it is there. False: the client is gone.
bool Server::take_head(Client& client) {
  if (!client.request.handler.empty()) return true;
  const std::size_t before = client.welcome ? 0 : kTokenHead;
  if (!client.welcome) {
    const std::size_t mark = std::min(client.in.size(), sizeof kTokenMark);
    if (std::memcmp(client.in.data(), kTokenMark, mark) != 0)
      return drop(client,
                  "a client that does not know the token of this run was turned away (++server-open lets in all)"),
             false;
    if (client.in.size() < before) return true;
    if (!equal_secrets(client.in.data() + sizeof kTokenMark, token_.data(), kTokenBytes))
      return drop(client, "a client has another token than this run"), false;
  }
  if (client.in.size() < before + kHead) return true;
  const char* head = client.in.data() + before;
  const std::uint32_t length = number_at(head);
  if ((length >> 24) >= 0x20)
    return drop(client, "a client sends no request, or one that is signed (++server-auth), which is not there"), false;
  if (length > kRequestMost)
    return drop(client, "a client wants to send more than " + std::to_string(kRequestMost >> 20) + " MiB"), false;
  client.request.pe = static_cast<int>(number_at(head + 4));
  client.request.handler.assign(head + 8, ::strnlen(head + 8, kHandlerBytes));
  if (client.request.handler.empty()) return drop(client, "a client names no handler"), false;
  client.wanted = length;
  client.in.erase(0, before + kHead);
  held_ -= before + kHead;
  return true;
}

void Server::write(Client& client) {
  while (client.sent < client.out.size()) {
    const ssize_t count =
        ::send(client.fd, client.out.data() + client.sent, client.out.size() - client.sent, MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return drop(client, "");
    client.sent += static_cast<std::size_t>(count);
  }
  drop(client, "");
}

void Server::drop(Client& client, const std::string& why) {
  if (!why.empty() && warned_.insert(why).second) log::warn("++server: " + why);
  held_ -= client.in.size();
  client.in.clear();
  ::close(client.fd);
  client.fd = -1;
}

Server::Client* Server::find(std::uint64_t id) {
  for (const auto& client : clients_)
    if (client->id == id && client->fd >= 0) return client.get();
  return nullptr;
}

void Server::answer(std::uint64_t id, const std::string& bytes) {
  Client* client = find(id);
  if (client == nullptr) return;
  const std::uint32_t length = htonl(static_cast<std::uint32_t>(bytes.size()));
  client->out.assign(reinterpret_cast<const char*>(&length), sizeof length);
  client->out += bytes;
  client->answered = true;
  client->moved_ns = clock::now_ns();
  write(*client);
}

void Server::refuse(std::uint64_t id) {
  if (Client* client = find(id)) drop(*client, "");
}

void Server::finish() {
  constexpr std::uint64_t patience_ns = 1'000'000'000;
  constexpr int pause_ms = 10;
  const std::uint64_t begin = clock::now_ns();
  for (;;) {
    std::vector<pollfd> polled;
    std::vector<Client*> taking;
    for (const auto& client : clients_) {
      if (client->fd < 0 || client->sent == client->out.size()) continue;
      polled.push_back({client->fd, POLLOUT, 0});
      taking.push_back(client.get());
    }
    if (taking.empty() || clock::now_ns() - begin > patience_ns) return;
    ::poll(polled.data(), polled.size(), pause_ms);
    for (Client* client : taking) write(*client);
  }
}

}  // namespace periapt::ccs
