// The handshake of one connection, as a state machine of bytes: what has come in goes to feed(), what is to go out lies
// in output(). It knows no socket, so tests and the fuzzer drive it as it is.
#pragma once

#include <string>
#include <vector>

#include "machine/tcp/hmac.h"
#include "machine/tcp/wire.h"

namespace periapt::tcp {

class Handshake {
 public:
  enum class State {
    talking,
    proved,   ///< accepter only: the peer is the worker it says; welcome() or hang up
    agreed,   ///< frames from now on
    refused,  ///< reason() says why; send what is in output(), hang up
  };

  /// `peer` 0: of a connection that was accepted.
  Handshake(std::uint64_t self, std::uint64_t peer, Bytes secret);

  /// Takes what has come; returns how many bytes of it belonged to the handshake. The rest is frames.
  std::size_t feed(Bytes bytes);
  /// Accepter: lets a proved peer in.
  void welcome();

  State state() const { return state_; }
  std::uint64_t peer() const { return peer_; }  ///< of an accepted connection: what it claims; true from proved on
  const std::string& reason() const { return reason_; }
  std::vector<std::byte>& output() { return output_; }

 private:
  bool opens() const { return opens_; }
  void send(const void* bytes, std::size_t size);
  void refuse(std::string reason) { state_ = State::refused, reason_ = std::move(reason); }
  std::size_t wanted() const;
  void take_opening();
  void take_challenge();
  void take_proof();
  void take_welcome();
  bool known_language();
  Digest proof_of(const char* who) const;

  State state_ = State::talking;
  bool opens_;
  int step_ = 0;
  std::uint64_t self_, peer_;
  std::vector<std::byte> secret_, input_, output_;
  Opening first_, second_;  // of the opener, of the accepter
  std::string reason_;
};

/// 32 bytes that were never there before.
std::array<std::byte, 32> fresh_nonce();

}  // namespace periapt::tcp
