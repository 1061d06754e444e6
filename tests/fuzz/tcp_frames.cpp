// Frames on a TCP connection whose other end knows the secret and says anything, in pieces of any size. The transport
// is a real one and stays from run to run; each run is a connection.
#include "machine/tcp/transport.h"
#include "tests/fuzz/fuzz.h"
#include "tests/tcp/raw_peer.h"

namespace periapt::fuzz {
namespace {

// Takes everything, checks that memory it gave is written within its bounds (under a sanitizer).
class Careless final : public ucx::Receiver {
 public:
  bool arrived(ucx::Link&, ucx::Header, Bytes payload) override {
    for (std::byte byte : payload) sum += static_cast<unsigned>(byte);
    return true;
  }
  void arrived_owned(ucx::Link&, ucx::Header, ucx::Buffer) override {}
  std::byte* place(ucx::Link&, ucx::Header, std::uint64_t size) override {
    if (size > 1 << 20) return nullptr;
    memory.assign(size, std::byte{});
    memory.shrink_to_fit();
    return memory.data();
  }
  void placed(ucx::Link&) override {}
  void link_lost(ucx::Link& link, const std::string& reason) override {
    expect(!reason.empty(), "a loss has a reason");
    ++losses;
    link.transport().close(link);
  }
  std::vector<std::byte> memory;
  unsigned sum = 0;
  std::uint64_t losses = 0;
};

struct Host {
  Careless receiver;
  std::string secret = "s";
  ucx::OpenRequest request;
  std::unique_ptr<ucx::Transport> transport;
  sockaddr_storage socket{};
  socklen_t size = 0;
  ucx::PeerId peers = 1;

  Host() {
    request.receiver = &receiver;
    request.self = 1;
    request.secret = std::as_bytes(std::span(secret));
    request.option = [](const std::string& name) { return std::string(name == "+net-devices" ? "127.0.0.1" : ""); };
    for (const ucx::Device& device : tcp::factory.probe(request))
      if (device.usable) transport = std::move(*tcp::factory.open(device, request));
    tcp::Address address;
    expect(transport && tcp::read_address(transport->address(), &address), "there is a loopback device");
    size = tcp::to_socket(address, &socket);
  }

  // A connection whose handshake is over; -1: it was refused.
  int connect() {
    const int fd = ::socket(socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(::connect(fd, reinterpret_cast<sockaddr*>(&socket), size) == 0, "a connection");
    tcp::Handshake handshake(++peers, 1, request.secret);
    while (handshake.state() == tcp::Handshake::State::talking) {
      static_cast<void>(!::send(fd, handshake.output().data(), handshake.output().size(), MSG_NOSIGNAL));
      handshake.output().clear();
      transport->progress();
      std::byte part[256];
      const ssize_t got = ::recv(fd, part, sizeof part, MSG_DONTWAIT);
      if (got > 0) handshake.feed({part, static_cast<std::size_t>(got)});
    }
    expect(handshake.state() == tcp::Handshake::State::agreed, "who knows the secret comes in");
    return fd;
  }
};

// Frames as the input describes them, damaged.
std::vector<std::byte> stream_of(Input& input) {
  std::vector<std::byte> stream;
  for (std::size_t count = 1 + input.below(6); count > 0; --count) {
    const std::size_t how = input.below(4);
    const std::vector<std::byte> header(how == 3 ? input.below(70) : 40, std::byte{1});
    const std::vector<std::byte> payload(how == 0 ? input.below(70000) : input.below(200), std::byte{2});
    std::vector<std::byte> one = tcp::frame(header, payload);
    if (input.below(4) == 3) {
      const tcp::Prefix control(static_cast<tcp::FrameKind>(input.below(6)), input.below(256),
                                input.number<std::uint64_t>());
      std::memcpy(one.data(), &control, sizeof control);
    }
    stream.insert(stream.end(), one.begin(), one.end());
  }
  input.damage(stream);
  return stream;
}

}  // namespace

void target(Input input) {
  static Host host;
  const int fd = host.connect();
  const std::vector<std::byte> stream = stream_of(input);
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t left = stream.size() - at;
    const std::size_t piece = input.more() ? std::min(1 + input.below(9000), left) : left;
    if (::send(fd, stream.data() + at, piece, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;  // hung up on, or it is full
    at += piece;
    host.transport->progress();
  }
  ::close(fd);
  const std::uint64_t before = host.receiver.losses;
  const bool lost_already = before == host.peers - 1;
  while (!lost_already && host.receiver.losses == before) host.transport->progress();
  expect(host.receiver.losses == host.peers - 1, "each connection is lost once");
}

}  // namespace periapt::fuzz
