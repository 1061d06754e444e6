// The network of the fake: packets between contexts of this host, in order, over Unix sockets. A context has a number,
// which is the upper part of the numbers of its queue pairs, and so the way to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace periapt::fake_verbs {

inline constexpr unsigned kPairBits = 10;  ///< of a queue pair's number: which of its context
constexpr std::uint32_t context_of(std::uint32_t pair) { return pair >> kPairBits; }

struct Packet {
  enum class Kind : std::uint32_t { send, write, read, data, answer, datagram };
  Kind kind = Kind::send;
  std::uint32_t to = 0, from = 0;  ///< queue pairs
  std::uint32_t status = 0;        ///< of an answer: ibv_wc_status
  std::uint32_t key = 0, last = 0;
  std::uint64_t address = 0, offset = 0, total = 0;
  std::uint64_t partition = 0;  ///< the sender's
};
inline constexpr std::size_t kFragment = 32 << 10;
using Bytes = std::span<const std::byte>;

class Fabric {
 public:
  Fabric();
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  std::uint32_t number() const { return number_; }
  int fd() const { return epoll_; }  ///< readable when there is something to do
  /// Something has happened that fd() should tell, or it has been seen to.
  void signal(bool on);
  /// pump() is wanted in a while, whatever happens.
  void wake_later();

  void send(const Packet& packet, Bytes bytes);
  bool has_gone(std::uint32_t context) const {
    auto known = ways_.find(context);
    return known != ways_.end() && known->second == nullptr;
  }
  /// How much waits to leave for that context.
  std::size_t waiting(std::uint32_t context) const;
  /// Takes what has come, and sends what can go. A context that has gone is told of once.
  void pump(const std::function<void(const Packet&, Bytes)>& take, const std::function<void(std::uint32_t)>& gone);

 private:
  struct Socket {
    int fd = -1;
    bool in = false;  // read; the others are written
    bool listens = false;
    bool watches_room = false;
    std::uint32_t context = 0;
    std::size_t bytes = 0;
    std::deque<std::vector<std::byte>> waiting;
  };
  Socket& add(int fd, unsigned events);
  Socket* way_to(std::uint32_t context);
  void write(Socket& socket);
  void read(Socket& socket, const std::function<void(const Packet&, Bytes)>& take);
  void drop(Socket& socket);

  std::uint32_t number_ = 0;
  int epoll_ = -1, event_ = -1, timer_ = -1;
  std::vector<std::unique_ptr<Socket>> sockets_;
  std::map<std::uint32_t, Socket*> ways_;  // nullptr: it has gone
  std::vector<std::uint32_t> gone_;        // and has not been told of yet
  std::vector<std::byte> room_ = std::vector<std::byte>(sizeof(Packet) + kFragment);
};

}  // namespace periapt::fake_verbs
