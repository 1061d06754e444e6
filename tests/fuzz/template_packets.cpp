// Packets of another process at the template transport: strangers, and one that knows the secret and then says anything
// about memory, operations and messages. The transport is a real one and stays from run to run; each run is a peer.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>

#include "machine/transport-template/transport.h"
#include "machine/transport-template/wire.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {
namespace {

using namespace transport_template;

class Careless final : public ucx::Receiver {
 public:
  bool arrived(ucx::Link& from, ucx::Header header, Bytes payload) override {
    link = &from;
    for (std::byte byte : header) sum += static_cast<unsigned>(byte);
    for (std::byte byte : payload) sum += static_cast<unsigned>(byte);
    return true;
  }
  void arrived_owned(ucx::Link&, ucx::Header, ucx::Buffer) override {}
  std::byte* place(ucx::Link&, ucx::Header, std::uint64_t) override { return nullptr; }
  void placed(ucx::Link&) override {}
  void link_lost(ucx::Link& lost, const std::string& reason) override {
    expect(!reason.empty(), "a loss has a reason");
    if (link == &lost) link = nullptr;
    lost.transport().close(lost);
    ++losses;
  }
  ucx::Link* link = nullptr;  // the one that something came from
  unsigned sum = 0;
  std::uint64_t losses = 0;
};

// What the transport has taken ends once each, with an outcome that there is.
struct Ended : ucx::Completion {
  int taken = 0, told = 0;
  Ended() {
    done = [](Completion& self, ucx::Outcome outcome) {
      ++static_cast<Ended&>(self).told;
      expect(outcome <= ucx::Outcome::failed, "an outcome is one of those that there are");
    };
  }
};

struct Host {
  Careless receiver;
  std::string secret = "s";
  ucx::OpenRequest request;
  std::unique_ptr<ucx::Transport> transport;
  std::vector<std::byte> memory = std::vector<std::byte>(4096);
  ucx::MemoryHandle handle;
  ucx::PeerId peers = 1;

  Host() {
    request.receiver = &receiver;
    request.self = 1;
    request.secret = std::as_bytes(std::span(secret));
    transport =
        std::move(*transport_template::factory.open(transport_template::factory.probe(request).front(), request));
    handle = *transport->register_memory(memory.data(), memory.size(), ucx::MemoryKind::host);
  }

  int connect() {
    Address address;
    std::memcpy(&address, transport->address().data(), sizeof address);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const int length = std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "periapt-%016llx%016llx",
                                     static_cast<unsigned long long>(address.name[0]),
                                     static_cast<unsigned long long>(address.name[1]));
    const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
    expect(::connect(fd, reinterpret_cast<sockaddr*>(&name), size) == 0, "a connection");
    return fd;
  }
};

// Near the memory that is registered, and far from it.
std::uint64_t odd_address(Input& input, const Host& host) {
  const std::uint64_t begin = reinterpret_cast<std::uint64_t>(host.memory.data());
  switch (input.below(4)) {
    case 0:
      return begin + input.below(host.memory.size() + 2);
    case 1:
      return begin - 1 - input.below(64);
    case 2:
      return begin + host.memory.size() - input.below(64);
    default:
      return input.number<std::uint64_t>();
  }
}

std::vector<std::byte> packet_of(Input& input, const Host& host) {
  ucx::Packet packet;
  packet.kind = static_cast<ucx::Packet::Kind>(1 + input.below(5));
  packet.outcome = static_cast<std::uint8_t>(input.below(9));
  packet.header_bytes = static_cast<std::uint16_t>(input.below(80));
  packet.key = input.flag() ? host.handle.id : input.below(4);
  packet.address = odd_address(input, host);
  packet.size = input.flag() ? input.below(8192) : input.number<std::uint64_t>();
  const Bytes head = std::as_bytes(std::span(&packet, 1));
  std::vector<std::byte> bytes(head.begin(), head.end());
  bytes.resize(bytes.size() + (input.flag() ? input.below(200) : input.below(kPacketMax)), std::byte{3});
  input.damage(bytes);
  return bytes;
}

// Of our own, so that there is something to be answered.
void operate(Input& input, Host& host, Ended& ended) {
  if (host.receiver.link == nullptr) return;
  ucx::RemoteKey key{input.below(4), nullptr};
  ucx::Accepted answer = ucx::Accepted::lost;
  switch (input.below(3)) {
    case 0:
      answer = host.transport->put(*host.receiver.link, Bytes(host.memory).first(64), nullptr, 0, key, ended);
      break;
    case 1:
      answer = host.transport->get(*host.receiver.link, std::span(host.memory).first(64), &host.handle, 0, key, ended);
      break;
    default:
      answer = host.transport->flush(*host.receiver.link, ended);
  }
  ended.taken += answer == ucx::Accepted::pending;
}

}  // namespace

void target(Input input) {
  static Host host;
  Ended ended;
  const std::uint64_t before = host.receiver.losses;
  const int fd = host.connect();
  const bool stranger = input.below(8) == 7;
  if (stranger) {
    const Bytes said = input.bytes(200);
    static_cast<void>(::send(fd, said.data(), said.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  } else {
    std::vector<std::byte> hello(sizeof(ucx::Packet) + host.secret.size());
    const ucx::Packet packet{.kind = ucx::Packet::Kind::hello, .from = ++host.peers};
    std::memcpy(hello.data(), &packet, sizeof packet);
    std::memcpy(hello.data() + sizeof packet, host.secret.data(), host.secret.size());
    static_cast<void>(::send(fd, hello.data(), hello.size(), MSG_NOSIGNAL));
    const ucx::Packet first{.kind = ucx::Packet::Kind::message};
    static_cast<void>(::send(fd, &first, sizeof first, MSG_NOSIGNAL));
  }
  host.transport->progress();
  for (int packets = 0; input.more() && packets < 100; ++packets) {
    const std::vector<std::byte> bytes = packet_of(input, host);
    static_cast<void>(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    if (input.flag()) operate(input, host, ended);
    host.transport->progress();
    std::byte heard[256];
    while (::recv(fd, heard, sizeof heard, MSG_DONTWAIT) > 0) {
    }
  }
  ::close(fd);
  for (int turns = 0; turns < 8; ++turns) host.transport->progress();
  expect(host.receiver.losses == before + (stranger ? 0 : 1), "each peer is lost once, a stranger never was one");
  expect(ended.told == ended.taken, "what was taken has ended, once");
  host.receiver.link = nullptr;
}

}  // namespace periapt::fuzz
