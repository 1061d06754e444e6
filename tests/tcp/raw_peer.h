// A connection to a TcpTransport from outside, byte by byte: for what a well-behaved transport never sends.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "machine/tcp/devices.h"
#include "machine/tcp/handshake.h"
#include "tests/machine/conformance.h"

namespace periapt::tcp {

class RawPeer {
 public:
  explicit RawPeer(conformance::Worker& target, const std::string& secret = "a secret of the tests",
                   ucx::PeerId self = 99)
      : target_(target), handshake_(self, target.self(), std::as_bytes(std::span(secret))) {
    Address address;
    if (!read_address(target.address(), &address)) throw std::runtime_error("no address");
    sockaddr_storage socket{};
    socklen_t size = to_socket(address, &socket);
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&socket), size) != 0) throw std::runtime_error("cannot connect");
  }
  ~RawPeer() { hang_up(); }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  void hang_up() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  /// False: the other side has hung up.
  bool send(Bytes bytes) {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  bool send(const std::string& text) { return send(std::as_bytes(std::span(text))); }

  /// What the target says, up to `size` bytes; less only when it has hung up.
  std::vector<std::byte> hear(std::size_t size) {
    std::vector<std::byte> heard;
    while (heard.size() < size) {
      target_.progress();
      std::byte part[512];
      ssize_t got = ::recv(fd_, part, std::min(sizeof part, size - heard.size()), MSG_DONTWAIT);
      if (got > 0) heard.insert(heard.end(), part, part + got);
      if (got == 0 || (got < 0 && errno != EAGAIN)) break;
    }
    return heard;
  }
  bool hung_up_on() { return hear(1).empty(); }

  /// The handshake as it should be.
  void shake_hands() {
    say();
    while (handshake_.state() == Handshake::State::talking) {
      std::vector<std::byte> heard = hear(1);
      if (heard.empty()) throw std::runtime_error("hung up on in the handshake");
      handshake_.feed(heard);
      say();
    }
    if (handshake_.state() != Handshake::State::agreed) throw std::runtime_error(handshake_.reason());
  }
  /// The handshake but for the last word, which the target may keep back.
  void prove() {
    say();
    handshake_.feed(hear(sizeof(Challenge)));
    say();
  }
  Handshake& handshake() { return handshake_; }

 private:
  void say() {
    if (!handshake_.output().empty()) send(handshake_.output());
    handshake_.output().clear();
  }

  conformance::Worker& target_;
  Handshake handshake_;
  int fd_ = -1;
};

/// A message as it travels.
inline std::vector<std::byte> frame(Bytes header, Bytes payload) {
  Prefix prefix(FrameKind::message, header.size(), payload.size());
  std::vector<std::byte> bytes(padded(sizeof prefix + header.size() + payload.size()));
  std::memcpy(bytes.data(), &prefix, sizeof prefix);
  std::copy(header.begin(), header.end(), bytes.begin() + sizeof prefix);
  std::copy(payload.begin(), payload.end(), bytes.begin() + static_cast<std::ptrdiff_t>(sizeof prefix + header.size()));
  return bytes;
}

}  // namespace periapt::tcp
