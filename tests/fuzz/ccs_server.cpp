// What clients say to a program that answers requests (runtime/ccs): the server is a real one, and its clients are
// sockets of this process, which send requests that are right or damaged, with the token or another, in pieces of any
// size, one of theirs between two of another's; they leave at any moment, and take their answers or do not. Requests
// are answered late, twice, or refused.
//
// What an undisturbed client has sent comes as it was sent, once, and its answer goes back as it was given.
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/ccs/server.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {
namespace {

using ccs::ClientRequest;
using ccs::Server;

constexpr std::size_t kClients = 8;

std::string text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

struct Client {
  // Reset: thousands of runs would leave the host's ports waiting for what might still be on its way.
  ~Client() {
    const linger none{.l_onoff = 1, .l_linger = 0};
    if (fd < 0) return;
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    ::close(fd);
  }
  int fd = -1;
  std::uint16_t port = 0;
  bool sound = true;  // what it sends is a request, and it has the token
  std::string handler, bytes;
  std::vector<std::byte> left;  // to be sent
  std::uint64_t asked = 0;      // the number of its request, once that has come
  std::string answer;           // that was given first
  bool answered = false, refused = false;
};

class Scene {
 public:
  explicit Scene(Input input) : input_(input) {
    token_ = input_.flag() ? std::string(Server::kTokenBytes, 't') : "";
    auto opened = Server::open({.token = token_});
    expect(opened.ok(), "a server opens");
    server_ = std::move(*opened);
  }

  void run() {
    for (int acts = 0; input_.more() && acts < 400; ++acts) {
      act();
      look();
    }
    // All that undisturbed clients have begun comes whole, and is answered.
    for (const auto& client : clients_) {
      while (client->sound && client->fd >= 0 && !client->left.empty()) say(*client, client->left.size());
    }
    const auto wait = [&] {
      return std::any_of(clients_.begin(), clients_.end(),
                         [](const auto& client) { return client->sound && client->fd >= 0 && client->asked == 0; });
    };
    // Each comes: what has been sent may take its time on the way.
    while (wait()) {
      look();
      ::sched_yield();
    }
    for (const auto& client : clients_) {
      if (client->asked != 0 && !client->answered && !client->refused) answer(*client);
    }
    server_->finish();
    server_.reset();
    for (const auto& client : clients_) {
      if (client->fd >= 0) hear(*client);
    }
  }

 private:
  void act() {
    if (clients_.empty() || input_.below(4) == 0) return come();
    Client& client = *clients_[input_.below(clients_.size())];
    switch (input_.below(8)) {
      case 0:
        return leave(client);
      case 1:
        if (client.asked != 0) answer(client);
        return;
      case 2:
        if (client.asked == 0 || client.answered) return;
        client.refused = true;
        return server_->refuse(client.asked);
      case 3:  // of a request that there may not be
        return input_.flag() ? server_->answer(odd_id(), "odd") : server_->refuse(odd_id());
      default:
        return say(client, 1 + input_.below(64));
    }
  }
  // Of none that is under way: those are numbered as their clients come.
  std::uint64_t odd_id() { return input_.flag() ? 0 : 1000000 + input_.number<std::uint32_t>(); }

  void come() {
    if (clients_.size() >= kClients) return;
    auto client = std::make_unique<Client>();
    client->fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(server_->port()));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    expect(::connect(client->fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0, "the server takes clients");
    sockaddr_in own{};
    socklen_t size = sizeof own;
    ::getsockname(client->fd, reinterpret_cast<sockaddr*>(&own), &size);
    client->port = own.sin_port;
    request(*client);
    clients_.push_back(std::move(client));
  }

  void request(Client& client) {
    const auto add = [&client](const void* bytes, std::size_t count) {
      const auto* at = static_cast<const std::byte*>(bytes);
      client.left.insert(client.left.end(), at, at + count);
    };
    client.handler = std::string(1 + input_.below(Server::kHandlerBytes), 'h');
    client.bytes = text_of(input_.bytes(input_.below(200)));
    std::string shown = token_;
    if (!shown.empty() && input_.below(8) == 7) shown[input_.below(shown.size())] = 'x', client.sound = false;
    if (!shown.empty()) add("TOKN", 4), add(shown.data(), shown.size());
    const std::array<std::uint32_t, 2> numbers = {htonl(static_cast<std::uint32_t>(client.bytes.size())),
                                                  input_.number<std::uint32_t>()};
    add(numbers.data(), sizeof numbers);
    std::string name = client.handler;
    name.resize(Server::kHandlerBytes);
    add(name.data(), name.size());
    add(client.bytes.data(), client.bytes.size());
    const std::vector<std::byte> before = client.left;
    input_.damage(client.left);
    client.sound = client.sound && client.left == before;
  }

  void say(Client& client, std::size_t most) {
    if (client.fd < 0) return;
    const std::size_t count = std::min(most, client.left.size());
    const ssize_t sent = ::send(client.fd, client.left.data(), count, MSG_NOSIGNAL | MSG_DONTWAIT);
    expect(sent == static_cast<ssize_t>(count) || !client.sound, "an undisturbed client can send");
    client.left.erase(client.left.begin(), client.left.begin() + static_cast<std::ptrdiff_t>(count));
  }
  static void leave(Client& client) {
    if (client.fd >= 0) ::close(client.fd);
    client.fd = -1;
  }

  void look() {
    for (ClientRequest& request : server_->look()) {
      expect(!request.handler.empty() && request.handler.size() <= Server::kHandlerBytes, "a request names a handler");
      expect(request.handler.find('\0') == std::string::npos, "a name ends at its first zero");
      const auto from = std::find_if(clients_.begin(), clients_.end(), [&](const auto& client) {
        return client->asked == 0 && client->port == request.client.sin_port;
      });
      expect(from != clients_.end(), "a request is of a client, and its first");
      Client& client = **from;
      client.asked = request.id;
      if (!client.sound) continue;
      expect(client.left.empty(), "a request comes when it is whole");
      expect(request.handler == client.handler && request.bytes == client.bytes, "a request comes as it was sent");
    }
  }

  void answer(Client& client) {
    const std::string given(input_.below(300), 'a');
    server_->answer(client.asked, given);
    if (!client.answered && !client.refused) client.answer = given;
    client.answered = true;
  }
  // What has come back, all of it.
  static void hear(Client& client) {
    std::string all;
    char room[1024];
    for (ssize_t count; (count = ::recv(client.fd, room, sizeof room, 0)) > 0;)
      all.append(room, static_cast<std::size_t>(count));
    if (!client.sound) return;
    if (client.refused) return expect(all.empty(), "a client that is refused hears nothing");
    const std::uint32_t length = htonl(static_cast<std::uint32_t>(client.answer.size()));
    expect(all == std::string(reinterpret_cast<const char*>(&length), sizeof length) + client.answer,
           "an answer comes as it was given, once");
  }

  Input input_;
  std::string token_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace

void target(Input input) { Scene(input).run(); }

}  // namespace periapt::fuzz
