// What comes from the network on bytes that nobody meant: the handshake as a state machine, and a whole transport
// behind a socket whose peer knows the secret and then goes mad. Seeds are fixed; a failure prints its own. What is
// asked: no crash (sanitizers look on), the link ends with a reason or goes on, and other peers are not concerned.
#include <gtest/gtest.h>

#include <random>

#include "base/platform.h"
#include "machine/tcp/transport.h"
#include "tests/tcp/raw_peer.h"

namespace periapt::tcp {
namespace {

using conformance::Worker;

constexpr unsigned kRounds = platform::kAddressSanitizer || platform::kThreadSanitizer ? 300 : 2000;

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}
  std::size_t pick(std::size_t below) { return below == 0 ? 0 : random_() % below; }

  void operator()(std::vector<std::byte>& bytes) {
    for (std::size_t change = pick(5); change > 0 && !bytes.empty(); --change) {
      auto at = bytes.begin() + static_cast<std::ptrdiff_t>(pick(bytes.size()));
      switch (pick(5)) {
        case 0:
          *at ^= std::byte{1} << pick(8);
          break;
        case 1:
          *at = static_cast<std::byte>(pick(256));
          break;
        case 2:
          bytes.erase(at, at + static_cast<std::ptrdiff_t>(
                                   std::min<std::size_t>(pick(9), static_cast<std::size_t>(bytes.end() - at))));
          break;
        case 3:
          bytes.insert(at, pick(9), static_cast<std::byte>(pick(256)));
          break;
        default: {
          std::uint64_t word = ~std::uint64_t{0} >> pick(64);
          std::memcpy(&*at, &word, std::min<std::size_t>(8, static_cast<std::size_t>(bytes.end() - at)));
        }
      }
    }
  }

 private:
  std::mt19937_64 random_;
};

TEST(Fuzz, Handshake) {
  const std::string secret = "a secret of the tests";
  Bytes key = std::as_bytes(std::span(secret));
  for (unsigned seed = 1; seed <= 20 * kRounds; ++seed) {
    Mutator mutate(seed);
    Handshake opener(1, 2, key), accepter(2, 0, key);
    bool changed = false;
    Handshake* from = &opener;
    Handshake* to = &accepter;
    for (int turn = 0; turn < 6; ++turn, std::swap(from, to)) {
      std::vector<std::byte> bytes = from->output();
      from->output().clear();
      std::vector<std::byte> original = bytes;
      if (mutate.pick(3) == 0) mutate(bytes);
      changed = changed || bytes != original;
      for (std::size_t at = 0; at < bytes.size();) {
        std::size_t piece = std::min(1 + mutate.pick(100), bytes.size() - at);
        std::size_t used = to->feed(Bytes(bytes).subspan(at, piece));
        ASSERT_LE(used, piece) << "seed " << seed;
        at += piece;
      }
      if (to->state() == Handshake::State::proved) to->welcome();
    }
    if (!changed) {
      ASSERT_EQ(opener.state(), Handshake::State::agreed) << "seed " << seed;
      ASSERT_EQ(accepter.state(), Handshake::State::agreed) << "seed " << seed;
    }
    // Nobody comes in on changed proofs. (Changed bytes behind the handshake belong to frames.)
    for (Handshake* side : {&opener, &accepter})
      if (side->state() == Handshake::State::refused) {
        ASSERT_FALSE(side->reason().empty()) << "seed " << seed;
      }
  }
}

/// Takes everything, at any size that memory allows; checks nothing.
class Careless final : public ucx::Receiver {
 public:
  void arrived(ucx::Link&, ucx::Header, Bytes payload) override { sum += payload.size(); }
  void arrived_owned(ucx::Link&, ucx::Header, ucx::Buffer) override {}
  std::byte* place(ucx::Link&, ucx::Header, std::uint64_t size) override {
    if (size > memory.size()) return nullptr;
    return memory.data() + memory.size() - size;  // so that one byte too much is one too far
  }
  void placed(ucx::Link&) override { ++placements; }
  void link_lost(ucx::Link& link, const std::string& reason) override {
    EXPECT_FALSE(reason.empty());
    ++losses;
    link.transport().close(link);
  }
  std::vector<std::byte> memory = std::vector<std::byte>(1 << 16);
  std::size_t sum = 0, placements = 0, losses = 0;
};

TEST(Fuzz, FramesOfAPeerGoneMad) {
  Careless receiver;
  const std::string secret = "s";
  ucx::OpenRequest request;
  request.receiver = &receiver;
  request.self = 1;
  request.secret = std::as_bytes(std::span(secret));
  request.option = [](const std::string& name) { return std::string(name == "+net-devices" ? "127.0.0.1" : ""); };
  std::unique_ptr<ucx::Transport> transport;
  for (const ucx::Device& device : factory.probe(request))
    if (device.usable) transport = std::move(*factory.open(device, request));
  Address address;
  ASSERT_TRUE(read_address(transport->address(), &address));
  sockaddr_storage socket{};
  socklen_t size = to_socket(address, &socket);

  for (unsigned seed = 1; seed <= kRounds; ++seed) {
    Mutator mutate(seed);
    int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&socket), size), 0);
    Handshake handshake(2 + seed, 1, request.secret);
    while (handshake.state() == Handshake::State::talking) {
      ASSERT_GE(::send(fd, handshake.output().data(), handshake.output().size(), MSG_NOSIGNAL), 0);
      handshake.output().clear();
      transport->progress();
      std::byte part[256];
      ssize_t got = ::recv(fd, part, sizeof part, MSG_DONTWAIT);
      if (got > 0) handshake.feed({part, static_cast<std::size_t>(got)});
    }
    std::vector<std::byte> stream, header(40);
    for (std::size_t count = 1 + mutate.pick(6); count > 0; --count) {
      std::vector<std::byte> payload(mutate.pick(3) == 0 ? mutate.pick(40000) : mutate.pick(200));
      std::vector<std::byte> one = frame(header, payload);
      if (mutate.pick(4) == 0) {
        Prefix control(static_cast<FrameKind>(mutate.pick(6)), mutate.pick(2) * mutate.pick(256), mutate.pick(1000));
        std::memcpy(one.data(), &control, sizeof control);
      }
      stream.insert(stream.end(), one.begin(), one.end());
    }
    mutate(stream);
    for (std::size_t at = 0; at < stream.size();) {
      std::size_t piece = std::min(1 + mutate.pick(8000), stream.size() - at);
      if (::send(fd, stream.data() + at, piece, MSG_NOSIGNAL) < 0) break;  // hung up on, as it should be
      at += piece;
      transport->progress();
    }
    ::close(fd);
    std::size_t before = receiver.losses;
    while (receiver.losses < seed) transport->progress();
    ASSERT_LE(receiver.losses - before, 1u) << "seed " << seed;
    ASSERT_EQ(receiver.losses, seed) << "each connection ends once";
  }
  EXPECT_GT(receiver.placements, 0u);
  EXPECT_GT(receiver.sum, 0u);
}

}  // namespace
}  // namespace periapt::tcp
