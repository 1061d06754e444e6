// What comes to the door of a shared memory transport, and when it is heard.
#include <gtest/gtest.h>
#include <poll.h>

#include "machine/shm/rendezvous.h"
#include "machine/shm/transport.h"

namespace periapt::shm {
namespace {

class Nobody final : public ucx::Receiver {
 public:
  bool arrived(ucx::Link&, ucx::Header, std::span<const std::byte>) override { return true; }
  void arrived_owned(ucx::Link&, ucx::Header, ucx::Buffer) override {}
  std::byte* place(ucx::Link&, ucx::Header, std::uint64_t) override { return nullptr; }
  void placed(ucx::Link&) override {}
  void link_lost(ucx::Link& link, const std::string&) override { link.transport().close(link); }
};

struct Door : testing::Test {
  Door() {
    request.receiver = &receiver;
    request.self = 1;
    request.secret = std::as_bytes(std::span(secret));
    request.host = "here";
    request.option = [](const std::string&) { return std::string(); };
    auto opened = factory.open(factory.probe(request).front(), request);
    if (!opened) throw std::runtime_error(opened.message());
    transport = std::move(*opened);
    EXPECT_TRUE(parse_address(transport->address(), address));
  }
  bool readable() const {
    pollfd state{transport->wait_fd(), POLLIN, 0};
    return ::poll(&state, 1, 0) == 1;
  }
  File visitor() const {
    auto socket = connect_to(address.socket_name);
    EXPECT_TRUE(socket && *socket) << socket.message();
    return std::move(*socket);
  }
  Nobody receiver;
  const std::string secret = "s";
  ucx::OpenRequest request;
  std::unique_ptr<ucx::Transport> transport;
  Address address;
};

// A worker that had let a visitor in that had not spoken yet slept through what came then: the run stood still.
TEST_F(Door, AVisitorWhoSpeaksLateWakesTheSleeper) {
  File late = visitor();
  for (int i = 0; i < 1000; ++i) transport->progress();  // it is inside
  ASSERT_TRUE(transport->arm());
  EXPECT_FALSE(readable());
  Packet packet;
  packet.kind = PacketKind::hello;
  packet.from = 2;
  packet.to = 1;
  ASSERT_EQ(send_packet(late.get(), packet, {}), Sent::yes);
  EXPECT_TRUE(readable());
  for (int i = 0; i < 1000; ++i) transport->progress();
  Arrival answer = receive_packet(late.get());
  ASSERT_EQ(answer.what, Arrival::What::packet);
  EXPECT_EQ(answer.packet.kind, PacketKind::refuse);
  EXPECT_EQ(answer.packet.reason(), "it has not the secret of this job");
}

TEST_F(Door, AVisitorWhoLeavesWithoutAWordIsForgotten) {
  visitor();
  for (int i = 0; i < 1000; ++i) transport->progress();
  ASSERT_TRUE(transport->arm());
  EXPECT_FALSE(readable());
}

TEST_F(Door, AnotherVersionIsToldSo) {
  File stranger = visitor();
  Packet packet;
  packet.version = Packet::kVersion + 1;
  packet.kind = PacketKind::hello;
  ASSERT_EQ(send_packet(stranger.get(), packet, {}), Sent::yes);
  for (int i = 0; i < 1000; ++i) transport->progress();
  Arrival answer = receive_packet(stranger.get());
  ASSERT_EQ(answer.what, Arrival::What::packet);
  EXPECT_EQ(answer.packet.reason(), "it speaks another version of the shm transport, or none");
}

}  // namespace
}  // namespace periapt::shm
