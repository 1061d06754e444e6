// Where the sides of a benchmark on two hosts meet: one that waits for a side that never comes ends, and says so.
#include "bench/net/meeting_socket.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>

namespace periapt::bench {
namespace {

using namespace std::chrono_literals;

/// Where nothing listens.
std::string free_place() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size), 0);
  ::close(socket);
  return "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
}

TEST(MeetingSocket, BothSidesMeetWhicheverComesFirst) {
  for (const bool listens_first : {false, true}) {
    const std::string place = free_place();
    std::thread other([&] {
      if (listens_first) std::this_thread::sleep_for(50ms);
      MeetingSocket socket(place, listens_first);
      socket.write(std::as_bytes(std::span("there", 6)));
    });
    if (!listens_first) std::this_thread::sleep_for(50ms);
    MeetingSocket socket(place, !listens_first);
    std::array<char, 6> said{};
    socket.read(std::as_writable_bytes(std::span(said)));
    EXPECT_STREQ(said.data(), "there");
    other.join();
  }
}

TEST(MeetingSocket, ASideThatNeverComesIsNotAwaitedForEver) {
  const std::string place = free_place();
  EXPECT_DEATH(MeetingSocket(place, true, 0ms), "the side at " + place + " can't be reached");
  EXPECT_DEATH(MeetingSocket(place, true, 250ms), "start it there with --side 1");
  EXPECT_DEATH(MeetingSocket(place, false, 50ms), "has not come to " + place + ": start it there with --side 0");
}

}  // namespace
}  // namespace periapt::bench
