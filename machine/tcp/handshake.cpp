#include "machine/tcp/handshake.h"

#include <algorithm>
#include <cstring>

#include "base/secret.h"

namespace periapt::tcp {

std::array<std::byte, 32> fresh_nonce() {
  std::array<std::byte, 32> nonce;
  fill_random(nonce.data(), nonce.size());
  return nonce;
}

Handshake::Handshake(std::uint64_t self, std::uint64_t peer, Bytes secret)
    : opens_(peer != 0), self_(self), peer_(peer), secret_(secret.begin(), secret.end()) {
  if (!opens()) return;
  first_.from = self;
  first_.to = peer;
  first_.nonce = fresh_nonce();
  send(&first_, sizeof first_);
}

void Handshake::send(const void* bytes, std::size_t size) {
  const auto* begin = static_cast<const std::byte*>(bytes);
  output_.insert(output_.end(), begin, begin + size);
}

/// How many bytes the next message of the other side has.
std::size_t Handshake::wanted() const {
  if (opens()) return step_ == 0 ? sizeof(Challenge) : sizeof(Welcome);
  return step_ == 0 ? sizeof(Opening) : sizeof(Proof);
}

std::size_t Handshake::feed(Bytes bytes) {
  std::size_t used = 0;
  while (state_ == State::talking && used < bytes.size()) {
    std::size_t more = std::min(wanted() - input_.size(), bytes.size() - used);
    input_.insert(input_.end(), bytes.begin() + static_cast<std::ptrdiff_t>(used),
                  bytes.begin() + static_cast<std::ptrdiff_t>(used + more));
    used += more;
    // Another language is told from the first bytes, which are the same in all versions: the rest may never come.
    if (step_ == 0 && !known_language()) {
      if (!opens() && second_.refusal == Refusal::version) send(&second_, sizeof second_);
    } else if (input_.size() == wanted()) {
      if (opens()) {
        step_ == 0 ? take_challenge() : take_welcome();
      } else {
        step_ == 0 ? take_opening() : take_proof();
      }
      input_.clear();
      ++step_;
    }
  }
  return used;
}

/// As far as can be told from what has come in.
bool Handshake::known_language() {
  std::uint32_t version = kVersion;
  if (std::memcmp(input_.data(), &kMagic, std::min(input_.size(), sizeof kMagic)) != 0) {
    refuse("it does not speak this protocol: a stray program, not a worker of a job");
  } else if (input_.size() >= offsetof(Opening, version) + sizeof version) {
    std::memcpy(&version, input_.data() + offsetof(Opening, version), sizeof version);
    if (version == kVersion) return true;
    refuse("it speaks version " + std::to_string(version) + " of the protocol and this program version " +
           std::to_string(kVersion) + ": build both with the same Periapt");
    second_.refusal = Refusal::version;
  }
  return state_ != State::refused;
}

Digest Handshake::proof_of(const char* who) const {
  return hmac(secret_, {std::as_bytes(std::span(who, std::strlen(who))), std::as_bytes(std::span(&first_, 1)),
                        std::as_bytes(std::span(&second_, 1))});
}

void Handshake::take_opening() {
  std::memcpy(&first_, input_.data(), sizeof first_);
  peer_ = first_.from;
  Challenge challenge;
  second_.from = self_;
  second_.to = peer_;
  if (first_.to != self_ || peer_ == 0 || peer_ == self_) {
    refuse("it wants worker " + std::to_string(first_.to) + " and this is another one: its address is out of date");
    second_.refusal = Refusal::not_me;
  } else {
    second_.nonce = fresh_nonce();
    challenge.proof = proof_of("periapt accepter");
  }
  challenge.opening = second_;
  send(&challenge, sizeof challenge);
}

void Handshake::take_challenge() {
  Challenge challenge;
  std::memcpy(&challenge, input_.data(), sizeof challenge);
  second_ = challenge.opening;
  if (second_.refusal != Refusal::none || second_.from != peer_ || second_.to != self_)
    return refuse("another process listens at its address now: the worker has gone, or its address is out of date");
  // Sent in any case: it tells nothing, and the accepter can say what is wrong, too.
  Proof proof{proof_of("periapt opener")};
  send(&proof, sizeof proof);
  if (!equal(challenge.proof, proof_of("periapt accepter")))
    refuse("it doesn't know this job's secret: it belongs to another job");
}

void Handshake::take_proof() {
  Proof proof;
  std::memcpy(&proof, input_.data(), sizeof proof);
  if (!equal(proof.proof, proof_of("periapt opener")))
    return refuse("it doesn't know this job's secret: it belongs to another job");
  state_ = State::proved;
}

void Handshake::welcome() {
  Welcome welcome;
  send(&welcome, sizeof welcome);
  state_ = State::agreed;
}

void Handshake::take_welcome() {
  Welcome welcome;
  std::memcpy(&welcome, input_.data(), sizeof welcome);
  if (welcome.word != kMagic) return refuse("it broke the protocol in the handshake");
  state_ = State::agreed;
}

}  // namespace periapt::tcp
