// Another process at the door of the shared memory transport: packets and files that it shouldn't send, and, once it is
// let in, cells of its channel with anything in them. (Not its transfers: they are addresses of two processes that
// trust each other.) The transport is a real one and stays from run to run.
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>

#include "machine/host/keys.h"
#include "machine/shm/channel.h"
#include "machine/shm/rendezvous.h"
#include "machine/shm/segment.h"
#include "machine/shm/transport.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {
namespace {

using namespace shm;

class Careless final : public ucx::Receiver {
 public:
  bool arrived(ucx::Link&, ucx::Header header, Bytes payload) override {
    for (std::byte byte : header) sum += static_cast<unsigned>(byte);
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
    link.transport().close(link);
  }
  std::vector<std::byte> memory;
  unsigned sum = 0;
};

struct Host {
  Careless receiver;
  std::string secret = "s";
  ucx::OpenRequest request;
  std::unique_ptr<ucx::Transport> transport;
  Address address;
  ucx::PeerId peers = 1;

  Host() {
    request.receiver = &receiver;
    request.self = 1;
    request.secret = std::as_bytes(std::span(secret));
    request.host = "fuzz";
    request.option = [](const std::string& name) { return std::string(name.rfind("+shm", 0) == 0 ? "off" : ""); };
    auto opened = shm::factory.open(shm::factory.probe(request).front(), request);
    expect(opened && parse_address((*opened)->address(), address), "the transport opens");
    transport = std::move(*opened);
  }
};

// What a peer brings along.
struct Luggage {
  std::vector<File> files;
  Channel* channel = nullptr;
  File channel_file;

  ~Luggage() {
    if (channel != nullptr) ::munmap(channel, sizeof(Channel));
  }
  void pack(Input& input) {
    auto file = make_memory_file("fuzz-channel", sizeof(Channel));
    expect(file.ok(), "a memory file");
    channel_file = File(*file);
    channel = reinterpret_cast<Channel*>(map_memory_file(*file, sizeof(Channel)));
    expect(channel != nullptr, "mapped");
    const std::size_t how = input.below(8);
    files.emplace_back(::dup(channel_file.get()));
    if (how != 5) files.emplace_back(*make_memory_file("fuzz-keys", how == 6 ? 4096 : sizeof(host::KeyTable)));
    if (how != 7) files.emplace_back(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  }
  std::vector<int> numbers() const {
    std::vector<int> list;
    for (const File& file : files) list.push_back(file.get());
    return list;
  }
  // Some cells of the first lap and halves of them, published, with any kind in any of them.
  void fill(Input& input) {
    std::uint64_t position = 0;
    for (std::size_t n = 0; n < 40 && input.more(); ++n) {
      const bool half = input.flag();
      if (!half) position += position % 2;
      HalfCell& cell = channel->half(position);
      const Bytes body = input.bytes(input.below(1 + (half ? HalfCell::kBodyBytes : host::Slot::kBodyBytes)));
      std::memcpy(reinterpret_cast<std::byte*>(&cell) + sizeof cell.word, body.data(), body.size());
      std::uint64_t meta = input.below(15) | std::uint64_t{input.below(8) == 7 ? input.number<std::uint8_t>() : 40u}
                                                 << 8;
      const std::uint64_t size = input.flag() ? input.below(20000) : input.number<std::uint32_t>();
      meta |= (size & 0xFFFFFFFF) << 16 | std::uint64_t{input.number<std::uint8_t>()} << 48;
      cell.word.store(meta << 8 | Channel::lap(position), std::memory_order_release);
      position += half ? 1 : 2;
    }
  }
};

void send_raw(int socket, const std::vector<std::byte>& bytes, const Luggage& luggage) {
  Packet packet;
  if (bytes.size() == sizeof packet) {
    std::memcpy(&packet, bytes.data(), sizeof packet);
    static_cast<void>(send_packet(socket, packet, luggage.numbers()));
  } else {
    static_cast<void>(!::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }
}

}  // namespace

void target(Input input) {
  static Host host;
  Luggage luggage;
  luggage.pack(input);
  auto socket = connect_to(host.address.socket_name);
  expect(socket && *socket, "the door is there");

  Packet hello;
  hello.kind = PacketKind::hello;
  hello.from = ++host.peers;
  hello.to = 1;
  hello.channel_bytes = sizeof(Channel);
  set_secret(hello, host.request.secret);
  std::vector<std::byte> bytes(sizeof hello);
  std::memcpy(bytes.data(), &hello, sizeof hello);
  if (input.below(4) == 3) input.damage(bytes);
  send_raw(socket->get(), bytes, luggage);
  host.transport->progress();

  luggage.fill(input);
  for (int i = 0; i < 4; ++i) host.transport->progress();
  // More packets: kinds that fit and kinds that don't.
  if (input.flag()) {
    Packet more;
    more.kind = static_cast<PacketKind>(input.below(8));
    more.segment_id = input.below(3);
    more.segment_size = input.flag() ? 4096 : input.number<std::uint64_t>();
    luggage.files.clear();
    luggage.files.emplace_back(*make_memory_file("fuzz-segment", 4096));
    std::vector<std::byte> packed(sizeof more);
    std::memcpy(packed.data(), &more, sizeof more);
    send_raw(socket->get(), packed, luggage);
  }
  for (int i = 0; i < 4; ++i) host.transport->progress();
  socket->reset();
  for (int i = 0; i < 200; ++i) host.transport->progress();
}

}  // namespace periapt::fuzz
