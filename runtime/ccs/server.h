// The sockets of a program that answers requests: takes them in and gives answers out, on one thread, without ever
// waiting.
//
// On the wire, numbers are big-endian ints of four bytes. A connection is one request: [the token] [its length] [the
// PE] [the handler's name, 32 bytes, filled up with zeros] [its bytes], and the answer: [its length] [its bytes]. The
// token is "TOKN" and its 32 characters; a server without one does as those of Charm++ do, whose clients know no token.
//
// What a client may do wrong costs it its connection, and the program a warning, one of each kind.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"

namespace periapt::ccs {

struct ServerConfig {
  std::string address = "127.0.0.1";  ///< of the interface, IPv4
  int port = 0;                       ///< 0: any
  std::string token;                  ///< 32 characters; "": every client is welcome
};

struct ClientRequest {
  std::uint64_t id;
  std::string handler;
  int pe;
  std::string bytes;
  sockaddr_in client;
};

class Server {
 public:
  static constexpr std::size_t kTokenBytes = 32;
  static constexpr std::size_t kHandlerBytes = 32;
  static constexpr std::size_t kRequestMost = std::size_t{256} << 20;  ///< bytes of a request, and of all that wait
  static constexpr std::size_t kClientsMost = 256;                     ///< at once; others wait to be let in

  static Result<std::unique_ptr<Server>> open(const ServerConfig& config);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const { return port_; }
  /// What has come whole since the last look.
  std::vector<ClientRequest> look();
  /// Each request once. A client that has gone is no mistake.
  void answer(std::uint64_t id, const std::string& bytes);
  void refuse(std::uint64_t id);
  /// The last thing: waits, a second at most, until the clients have taken their answers.
  void finish();

 private:
  struct Client;
  Server(int listener, int port, std::string token);
  void accept_all();
  void read(Client& client, std::vector<ClientRequest>& whole);
  bool take_head(Client& client);
  void write(Client& client);
  void drop(Client& client, const std::string& why);
  Client* find(std::uint64_t id);

  const int listener_;
  const int port_;
  const std::string token_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::set<std::string> warned_;
  std::uint64_t next_id_;
  std::size_t held_ = 0;  // bytes of requests that are not whole
};

}  // namespace periapt::ccs
