// Where two workers get to know each other: over a TCP connection, before the engine has one. NCCL carries 128 bytes
// from the side that listens to the side that connects, and an address of the engine's may be longer.
//
//   connects                                   listens
//                      <- greeting: its number        proves that it is the one that was meant
//   hello: token, address ->                          proves the same of the other
//                      <- answer: id, address         of the connection that both mean
//
// A host has several addresses, and not each leads there: all are tried at once, and the first that greets is taken.
// Nothing here blocks. What comes from outside may be anything: it is dropped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "machine/nccl-net/declarations.h"

namespace periapt::nccl_net {

/// What NCCL carries.
struct Handle {
  static constexpr std::uint64_t kMagic = 0x3161'6c63'636e'7270;
  std::uint64_t magic = kMagic;
  std::uint64_t number = 0, token = 0;  ///< of the listener: what it is known by, and what it knows others by
  std::uint64_t boot = 0, network = 0;  ///< of its host: with the same ones a loopback address means the same
  std::uint16_t port = 0;
  std::uint16_t count = 0;
  std::uint32_t unused = 0;
  std::array<std::array<std::byte, 16>, 4> addresses{};  ///< IPv6, or IPv4 mapped to it
  std::uint64_t connecting = 0;  ///< where it has come to: a number of the connecting side's, between its calls
};
static_assert(sizeof(Handle) <= kHandleBytes);

/// A connection that carries numbers, with bytes behind each.
class Stream {
 public:
  struct Frame {
    std::uint64_t number = 0;
    std::vector<std::byte> bytes;
  };
  explicit Stream(int fd) : fd_(fd) {}
  ~Stream();
  Stream(const Stream&) = delete;

  void send(std::uint64_t number, std::span<const std::byte> bytes = {});
  /// Goes on with what is being sent, and returns what has come as a whole.
  std::optional<Frame> receive();
  /// It has broken, or its other end has been closed: why.
  const std::string& failure() const { return failure_; }

 private:
  bool is_connected();
  void flush();

  const int fd_;
  bool connected_ = false;
  std::vector<std::byte> out_, in_;
  std::string failure_;
};

class Listener {
 public:
  struct Arrived {
    std::unique_ptr<Stream> stream;  ///< for the answer
    std::vector<std::byte> address;
  };
  /// `devices`: as of +net-devices.
  static Result<std::unique_ptr<Listener>> open(const std::string& devices);
  ~Listener();

  const Handle& handle() const { return handle_; }
  std::optional<Arrived> look();

 private:
  explicit Listener(int fd) : fd_(fd) {}
  void let_in();
  std::optional<Arrived> hear();

  struct Arriving {
    std::unique_ptr<Stream> stream;
    std::uint64_t since_ns;
  };
  const int fd_;
  Handle handle_;
  std::vector<Arriving> arriving_;  // the oldest first
};

class Connector {
 public:
  struct Answered {
    std::unique_ptr<Stream> stream;
    std::uint64_t id = 0;
    std::vector<std::byte> address;
  };
  /// `address`: of the worker here.
  Connector(const Handle& handle, std::vector<std::byte> address);

  /// Nothing yet, or the answer. A failure: it cannot be reached.
  Result<std::optional<Answered>> look();

 private:
  void try_all();

  const Handle handle_;
  const std::vector<std::byte> address_;
  std::vector<std::unique_ptr<Stream>> tried_;
  std::unique_ptr<Stream> chosen_;
  std::string failure_;
};

}  // namespace periapt::nccl_net
