// The TCP transport against what well-behaved peers never do: strangers, garbage, dribbled bytes, lack of descriptors,
// peers that are busy for long.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <fstream>
#include <string>
#include <thread>

#include "machine/tcp/transport.h"
#include "tests/machine/conformance.h"
#include "tests/tcp/raw_peer.h"

namespace periapt::tcp {
namespace {

using conformance::Label;
using conformance::pump;
using conformance::settle;
using conformance::Ticket;
using conformance::Worker;

conformance::Subject loopback(std::map<std::string, std::string> more = {}) {
  more["+net-devices"] = "127.0.0.1";
  return {.factory = &factory, .options = more};
}

/// A label and payload that Worker expects as message `number` from `from`.
std::vector<std::byte> message(ucx::PeerId from, std::uint64_t number, std::size_t size) {
  Label label{.from = from, .number = number, .size = size};
  std::vector<std::byte> payload(size);
  conformance::fill(payload, from * 1'000'003 + number);
  return frame(conformance::header_of(label), payload);
}

/// That the worker is as well as before.
void expect_well(Worker& worker) {
  Worker other(loopback(), 500);
  ucx::Link& link = other.connect(worker);
  other.push(link, 100, 0, {&worker});
  pump({&worker, &other}, [&] { return worker.arrived_from(500) == 1; });
  other.close(link);
  pump({&worker, &other}, [&] { return !worker.losses.empty() && worker.losses.back().peer == 500; });
  worker.close(*worker.link_to(500));
  worker.losses.pop_back();
}

TEST(Strangers, AreRefusedWithOneLineEach) {
  Worker worker(loopback(), 1);
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string("\x16\x03\x01\x02", 4) + std::string(600, 'x'),
        std::string(100000, '\0')}) {
    testing::internal::CaptureStderr();
    RawPeer stranger(worker);
    stranger.send(garbage);
    EXPECT_TRUE(stranger.hung_up_on());
    std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_NE(said.find("127.0.0.1"), std::string::npos) << "who it was: " << said;
    EXPECT_NE(said.find("does not speak this protocol"), std::string::npos) << said;
  }
  EXPECT_TRUE(worker.losses.empty());
  expect_well(worker);
}

TEST(Strangers, DoNotFillTheLog) {
  Worker worker(loopback(), 1);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 100; ++i) {
    RawPeer stranger(worker);
    stranger.send("nonsense");
    EXPECT_TRUE(stranger.hung_up_on());
  }
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_LE(std::count(said.begin(), said.end(), '\n'), 20);
}

TEST(Strangers, WhoSaysNothingHindersNobody) {
  Worker worker(loopback(), 1);
  std::deque<RawPeer> silent;
  for (int i = 0; i < 50; ++i) silent.emplace_back(worker);
  settle({&worker});
  expect_well(worker);
}

TEST(Strangers, WhoHangsUpInTheMiddleLeavesNothing) {
  Worker worker(loopback(), 1);
  for (std::size_t part : {1u, 8u, 16u, 63u, 64u}) {
    RawPeer stranger(worker);
    stranger.send(Bytes(stranger.handshake().output()).first(part));
    settle({&worker}, 20);
    stranger.hang_up();
    settle({&worker}, 20);
  }
  expect_well(worker);
}

TEST(Strangers, WithoutTheSecretAreRefusedWithThatReason) {
  Worker worker(loopback(), 1);
  testing::internal::CaptureStderr();
  RawPeer stranger(worker, "guessed");
  EXPECT_THROW(stranger.shake_hands(), std::runtime_error);
  EXPECT_TRUE(stranger.hung_up_on());
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("doesn't know this job's secret"), std::string::npos) << said;
  expect_well(worker);
}

TEST(Strangers, OfAnotherVersionAreToldWhichOneThisIs) {
  Worker worker(loopback(), 1);
  testing::internal::CaptureStderr();
  RawPeer peer(worker);
  std::uint32_t newer = kVersion + 1;
  std::memcpy(peer.handshake().output().data() + offsetof(Opening, version), &newer, sizeof newer);
  peer.send(peer.handshake().output());
  std::vector<std::byte> answer = peer.hear(16);
  ASSERT_EQ(answer.size(), 16u);
  std::uint32_t version = 0;
  std::memcpy(&version, answer.data() + offsetof(Opening, version), sizeof version);
  EXPECT_EQ(version, kVersion);
  while (!peer.hung_up_on()) {
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("build both with the same Periapt"), std::string::npos);
}

TEST(Frames, MayComeInAnyPieces) {
  Worker worker(loopback(), 1);
  RawPeer peer(worker);
  peer.shake_hands();
  std::vector<std::byte> stream;
  std::uint64_t count = 0;
  for (std::size_t size : {0u, 1u, 8u, 100u, 8191u, 8192u, 8193u, 20000u, 3u, 8199u, 0u}) {
    std::vector<std::byte> bytes = message(99, count++, size);
    stream.insert(stream.end(), bytes.begin(), bytes.end());
  }
  // Pieces of 1 byte at the beginnings of frames, larger ones elsewhere.
  std::mt19937 random(3);
  for (std::size_t at = 0; at < stream.size();) {
    std::size_t piece =
        std::min<std::size_t>(random() % 3 == 0 ? 1 + random() % 3000 : 1 + random() % 20, stream.size() - at);
    ASSERT_TRUE(peer.send(Bytes(stream).subspan(at, piece)));
    at += piece;
    for (int i = 0; i < 3; ++i) worker.progress();
  }
  pump({&worker}, [&] { return worker.arrived_from(99) == count; });
  EXPECT_TRUE(worker.losses.empty());
}

// After a large message that was answered little is read at first, and of a large one only so much at a time, or all of
// it where something waits to go out: whatever comes then, Worker checks that it is whole.
TEST(LargeMessages, AndSmallOnesInAnyOrderAfterAnAnswer) {
  Worker a(loopback(), 1), b(loopback(), 2);
  const std::vector<Worker*> both{&a, &b};
  ucx::Link& ab = a.connect(b);
  a.push(ab, 8, 0, {&b});
  pump(both, [&] { return b.arrived_from(1) == 1; });
  ucx::Link& ba = *b.link_to(1);
  const std::vector<std::size_t> sizes = {kReceiveBytes, 8,    kReceiveBytes + 1, kReceiveBytes,      kLargeBegins,
                                          1 << 20,       8193, 1 << 20,           kPlacedAtATime + 8, 0};
  std::deque<Ticket> tickets;
  for (std::size_t of_a : sizes) {
    for (std::size_t of_b : sizes) {
      for (const std::size_t follows : {std::size_t{0}, std::size_t{24}, kPlacedAtATime}) {
        a.push(ab, of_a, 0, {&b});
        if (follows != 0) a.push(ab, follows, 0, {&b});
        pump(both, [&] { return b.arrived_from(1) == a.sent_to(2); });
        b.push(ba, of_b, 0, {&a});
        if (follows > 24) static_cast<void>(a.send_lent(ab, 2 << 20, tickets.emplace_back()));
        pump(both, [&] { return a.arrived_from(2) == b.sent_to(1); });
      }
    }
  }
  pump(both, [&] { return b.arrived_from(1) == a.sent_to(2); });
  EXPECT_TRUE(a.losses.empty() && b.losses.empty());
}

/// So many of them in a row, as one read brings them.
std::vector<std::byte> messages(ucx::PeerId from, std::uint64_t count) {
  std::vector<std::byte> all;
  for (std::uint64_t number = 0; number < count; ++number) {
    const std::vector<std::byte> one = message(from, number, number % 8);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

// Worker checks that they come whole and in order.
TEST(ManyMessages, AreHandedUpAFewAtATimeAndNoneIsForgotten) {
  constexpr std::uint64_t kMany = 2 * kAtATime + 100;
  for (bool reads_on : {true, false}) {
    Worker worker(loopback(), 1);
    RawPeer peer(worker);
    peer.shake_hands();
    worker.wants_more = reads_on;
    peer.send(messages(99, kMany));
    peer.hang_up();
    std::uint64_t most = 0;
    while (worker.losses.empty()) {
      const std::uint64_t before = worker.arrived_from(99);
      worker.progress();
      const std::uint64_t came = worker.arrived_from(99) - before;
      most = std::max(most, came);
      // A sleeper would sleep now on what has been read already.
      const bool sleeps = worker.transport().arm();
      EXPECT_FALSE(sleeps && came == most && worker.arrived_from(99) <= kAtATime);
    }
    EXPECT_EQ(worker.arrived_from(99), kMany);
    EXPECT_EQ(most, reads_on ? kAtATime : 1);
  }
}

// More links than are asked one by one, and more than may keep something.
TEST(ManyMessages, OfManyPeersAllArrive) {
  constexpr std::uint64_t kPeers = kHoldingMax + 8, kEach = kAtATime + 200;
  Worker worker(loopback(), 1);
  std::deque<RawPeer> peers;
  for (std::uint64_t i = 0; i < kPeers; ++i) peers.emplace_back(worker, "a secret of the tests", 100 + i).shake_hands();
  for (std::uint64_t i = 0; i < kPeers; ++i) peers[i].send(messages(100 + i, kEach));
  std::uint64_t all = 0;
  pump({&worker}, [&] {
    all = 0;
    for (std::uint64_t i = 0; i < kPeers; ++i) all += worker.arrived_from(100 + i);
    return all >= kPeers * kEach;
  });
  EXPECT_EQ(all, kPeers * kEach);
}

TEST(ManyMessages, OfALinkThatIsClosedBetweenThemAreForgotten) {
  Worker worker(loopback(), 1);
  RawPeer peer(worker);
  peer.shake_hands();
  std::uint64_t arrived = 0;
  worker.on_arrived = [&](ucx::Link& link) {
    if (++arrived == kAtATime + 5) worker.close(link);
  };
  peer.send(messages(99, 1000));
  pump({&worker}, [&] { return arrived == kAtATime + 5; });
  settle({&worker});
  EXPECT_EQ(arrived, kAtATime + 5u);
  EXPECT_TRUE(worker.transport().arm());
  expect_well(worker);
}

// ---- the set of epoll

/// How many descriptors the worker's epoll knows; two of them are the door and the timer.
int watched_by(Worker& worker) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(worker.transport().wait_fd()));
  int count = 0;
  for (std::string line; std::getline(info, line);) count += line.starts_with("tfd:");
  return count;
}
constexpr int kNobody = 2;

/// Until epoll tells; progress() is not called meanwhile.
void sleep_on(Worker& worker) {
  pollfd ready{worker.transport().wait_fd(), POLLIN, 0};
  while (::poll(&ready, 1, -1) != 1) {
  }
}
/// So long that a link which may leave the set has left it.
void look_for_long(Worker& worker) { settle({&worker}, 2 * kPollEvery); }

TEST(Epoll, DoesNotKnowFewLinksUntilSomebodyWantsToSleep) {
  Worker worker(loopback(), 1);
  RawPeer peer(worker);
  peer.shake_hands();
  EXPECT_EQ(watched_by(worker), kNobody + 1);
  look_for_long(worker);
  EXPECT_EQ(watched_by(worker), kNobody);
  peer.send(message(99, 0, 50));
  pump({&worker}, [&] { return worker.arrived_from(99) == 1; });
  ASSERT_TRUE(worker.transport().arm());
  EXPECT_EQ(watched_by(worker), kNobody + 1);
  peer.send(message(99, 1, 50));
  sleep_on(worker);
  pump({&worker}, [&] { return worker.arrived_from(99) == 2; });
}

TEST(Epoll, TellsOfWhatCameWhileTheLinkWasOut) {
  Worker worker(loopback(), 1);
  RawPeer peer(worker);
  peer.shake_hands();
  look_for_long(worker);
  peer.send(message(99, 0, 50));
  ASSERT_TRUE(worker.transport().arm());
  EXPECT_EQ(watched_by(worker), kNobody + 1);
  sleep_on(worker);
  pump({&worker}, [&] { return worker.arrived_from(99) == 1; });
}

// One may sleep while others look.
TEST(Epoll, KnowsThemUntilAllAreSaidToBeAwake) {
  Worker worker(loopback(), 1);
  RawPeer peer(worker);
  peer.shake_hands();
  ASSERT_TRUE(worker.transport().arm());
  look_for_long(worker);
  EXPECT_EQ(watched_by(worker), kNobody + 1);
  peer.send(message(99, 0, 50));
  sleep_on(worker);
  worker.transport().disarm();
  look_for_long(worker);
  EXPECT_EQ(watched_by(worker), kNobody);
  EXPECT_EQ(worker.arrived_from(99), 1u);
}

TEST(Epoll, AnEndIsSeenInsideAndOutside) {
  for (bool sleeps : {false, true}) {
    Worker worker(loopback(), 1);
    RawPeer peer(worker);
    peer.shake_hands();
    look_for_long(worker);
    ASSERT_EQ(watched_by(worker), kNobody);
    if (sleeps) {
      ASSERT_TRUE(worker.transport().arm());
      EXPECT_EQ(watched_by(worker), kNobody + 1);
    }
    peer.hang_up();
    if (sleeps) sleep_on(worker);
    pump({&worker}, [&] { return worker.losses.size() == 1; });
    EXPECT_NE(worker.losses[0].reason.find("process ended"), std::string::npos) << worker.losses[0].reason;
    EXPECT_EQ(watched_by(worker), kNobody);
    expect_well(worker);
  }
}

TEST(Epoll, KnowsAllWhenTheyAreMoreThanAreAskedOneByOne) {
  constexpr std::uint64_t kMore = kReadDirectly + 1;
  Worker worker(loopback(), 1);
  std::deque<RawPeer> peers;
  auto all_say_something = [&] {
    for (std::uint64_t i = 0; i < peers.size(); ++i) {
      const std::uint64_t number = worker.arrived_from(100 + i);
      peers[i].send(message(100 + i, number, 40));
      pump({&worker}, [&] { return worker.arrived_from(100 + i) == number + 1; });
    }
  };
  for (std::uint64_t i = 0; i < kMore; ++i) {
    peers.emplace_back(worker, "a secret of the tests", 100 + i).shake_hands();
    all_say_something();
    look_for_long(worker);
    const int links = i + 1 <= kReadDirectly ? 0 : static_cast<int>(i + 1);
    EXPECT_EQ(watched_by(worker), kNobody + links) << i + 1 << " links";
  }
  // One leaves, and the others are few again.
  worker.close(*worker.link_to(100));
  peers.front().hang_up();
  settle({&worker}, 4 * kPollEvery);
  EXPECT_EQ(watched_by(worker), kNobody);
  const std::uint64_t number = worker.arrived_from(101);
  peers[1].send(message(101, number, 40));
  pump({&worker}, [&] { return worker.arrived_from(101) == number + 1; });
}

TEST(Epoll, SaysWhenALinkThatWasOutHasRoomAgain) {
  Worker a(loopback(), 1), b(loopback(), 2);
  ucx::Link& link = a.connect(b);
  a.push(link, 8, 0, {&b});
  pump({&a, &b}, [&] { return b.arrived_from(1) == 1; });
  look_for_long(a);
  ASSERT_EQ(watched_by(a), kNobody);
  std::deque<Ticket> tickets;
  for (int i = 0; i < 4; ++i) ASSERT_EQ(a.send_lent(link, 16 << 20, tickets.emplace_back()), ucx::Accepted::pending);
  settle({&a}, 4 * kPollEvery);
  EXPECT_EQ(watched_by(a), kNobody + 1) << "it waits for room";
  pump({&b, &a}, [&] { return b.arrived_from(1) == 5; });
  look_for_long(a);
  EXPECT_EQ(watched_by(a), kNobody);
}

TEST(Epoll, ALinkThatIsClosedWhileItIsOutStillParts) {
  Worker a(loopback(), 1), b(loopback(), 2);
  ucx::Link& link = a.connect(b);
  a.push(link, 8, 0, {&b});
  pump({&a, &b}, [&] { return b.arrived_from(1) == 1; });
  look_for_long(a);
  look_for_long(b);
  a.close(link);
  EXPECT_EQ(watched_by(a), kNobody + 1) << "until the peer has closed it, too";
  pump({&a, &b}, [&] { return b.losses.size() == 1; });
  b.close(*b.link_to(1));
  pump({&a, &b}, [&] { return watched_by(a) == kNobody && watched_by(b) == kNobody; });
}

TEST(Frames, ThatMakeNoSenseLoseTheLink) {
  for (std::uint64_t word : {std::uint64_t{0}, std::uint64_t{0xff}, std::uint64_t{5}, ~std::uint64_t{0},
                             std::uint64_t{0xff01},       // a header of 255 bytes
                             std::uint64_t{0x1'0000'03},  // an answer to a flush that was not asked for
                             std::uint64_t{0x4747'4547'4554}}) {
    Worker worker(loopback(), 1);
    RawPeer peer(worker);
    peer.shake_hands();
    peer.send(std::as_bytes(std::span(&word, 1)));
    peer.send(std::string(300, 'x'));
    pump({&worker}, [&] { return worker.losses.size() == 1; });
    EXPECT_EQ(worker.losses[0].peer, 99u);
    EXPECT_NE(worker.losses[0].reason.find("does not understand"), std::string::npos) << worker.losses[0].reason;
    EXPECT_TRUE(peer.hung_up_on());
  }
}

TEST(Frames, AClosedLinkAndASuddenEndAreToldApart) {
  for (bool orderly : {true, false}) {
    Worker worker(loopback(), 1);
    RawPeer peer(worker);
    peer.shake_hands();
    Prefix close(FrameKind::close, 0, 0);
    if (orderly) peer.send(std::as_bytes(std::span(&close, 1)));
    peer.hang_up();
    pump({&worker}, [&] { return worker.losses.size() == 1; });
    EXPECT_NE(worker.losses[0].reason.find(orderly ? "closed the link" : "process ended"), std::string::npos)
        << worker.losses[0].reason;
    EXPECT_NE(worker.losses[0].reason.find("worker 99 at 127.0.0.1:"), std::string::npos);
  }
}

TEST(Frames, ASecondConnectionOfAPeerDoesNotReplaceTheFirst) {
  Worker worker(loopback(), 1);
  RawPeer first(worker);
  first.shake_hands();
  RawPeer second(worker);
  second.prove();
  settle({&worker});
  EXPECT_TRUE(first.send(message(99, 0, 50)));
  pump({&worker}, [&] { return worker.arrived_from(99) == 1; });
  // When the first has ended, the second takes its place, after the loss was told.
  first.hang_up();
  pump({&worker}, [&] { return worker.losses.size() == 1; });
  worker.close(*worker.link_to(99));
  EXPECT_EQ(second.hear(sizeof(Welcome)).size(), sizeof(Welcome));
  second.send(message(99, 0, 60));
  pump({&worker}, [&] { return worker.arrived_from(99) == 1; });
}

TEST(Frames, AConnectionThatWaitsSurvivesTheCloseOfTheOldOne) {
  // The peer comes a second time while its first link is still there; then this side closes that one.
  Worker worker(loopback(), 1);
  RawPeer first(worker);
  first.shake_hands();
  EXPECT_TRUE(first.send(message(99, 0, 50)));
  pump({&worker}, [&] { return worker.arrived_from(99) == 1; });
  RawPeer second(worker);
  second.prove();
  settle({&worker});
  worker.close(*worker.link_to(99));
  EXPECT_EQ(second.hear(sizeof(Welcome)).size(), sizeof(Welcome));
  second.send(message(99, 0, 60));
  pump({&worker}, [&] { return worker.arrived_from(99) == 1; });
  EXPECT_TRUE(worker.losses.empty());
}

TEST(Listening, HappensOnTheChosenAddressOnly) {
  Worker worker(loopback(), 1);
  Address address;
  ASSERT_TRUE(read_address(worker.address(), &address));
  EXPECT_EQ(ip_text(AF_INET, address.ip), "127.0.0.1");
  address.ip[3] = std::byte{2};  // 127.0.0.2 is this host as well
  sockaddr_storage socket{};
  socklen_t size = to_socket(address, &socket);
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_NE(::connect(fd, reinterpret_cast<sockaddr*>(&socket), size), 0);
  EXPECT_EQ(errno, ECONNREFUSED);
  ::close(fd);
}

TEST(Reaching, LoopbackOfAnotherHostIsOutOfReach) {
  Worker worker(loopback(), 1);
  Address address;
  ASSERT_TRUE(read_address(worker.address(), &address));
  auto reaches = [&](const Address& there) { return worker.transport().reaches(std::as_bytes(std::span(&there, 1))); };
  EXPECT_TRUE(reaches(address));
  Address other = address;
  ++other.boot;
  EXPECT_FALSE(reaches(other));
  other = address;
  ++other.network;
  EXPECT_FALSE(reaches(other)) << "another network namespace has a loopback of its own";
  other = address;
  other.family = 6;
  EXPECT_FALSE(reaches(other));
}

TEST(Limits, WithoutDescriptorsConnectionsWaitAndThenComeIn) {
  Worker worker(loopback({{"+net-timeout", "1"}}), 1);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  RawPeer peer(worker);  // in the kernel's queue, not accepted yet
  rlimit tight = before;
  testing::internal::CaptureStderr();
  int highest = ::dup(0);  // the first that is free now
  ::close(highest);
  tight.rlim_cur = static_cast<rlim_t>(highest);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  settle({&worker}, 50);
  ::setrlimit(RLIMIT_NOFILE, &before);
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("ulimit -n"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  peer.shake_hands();
  peer.send(message(99, 0, 10));
  pump({&worker}, [&] { return worker.arrived_from(99) == 1; });
}

TEST(Silence, APeerThatIsBusyIsNotADeadHost) {
  // The receiver doesn't look for three times the limit while all buffers on the way are full; nothing is lost.
  Worker a(loopback({{"+net-timeout", "1"}}), 1), b(loopback({{"+net-timeout", "1"}}), 2);
  ucx::Link& link = a.connect(b);
  a.push(link, 8, 0, {&b});
  pump({&a, &b}, [&] { return b.arrived_from(1) == 1; });
  std::deque<Ticket> tickets;
  for (int i = 0; i < 4; ++i) ASSERT_EQ(a.send_lent(link, 16 << 20, tickets.emplace_back()), ucx::Accepted::pending);
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (std::chrono::steady_clock::now() < end) {
    a.progress();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(a.losses.empty()) << a.losses[0].reason;
  pump({&a, &b}, [&] { return b.arrived_from(1) == 5; });
}

}  // namespace
}  // namespace periapt::tcp
