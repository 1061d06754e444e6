// Processes of one host that were started apart meet and share message memory.
#include "machine/layer/host_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>

namespace periapt::machine {
namespace {

using ::testing::HasSubstr;

const std::vector<int> kTwoProcesses = {0, 0, 1};
const std::string kSecret = "of this run";

std::string fresh_name() {
  static int rooms = 0;
  return "periapt-test-" + std::to_string(::getpid()) + "-" + std::to_string(++rooms);
}

// A child that leaves with what body returns.
pid_t child(const std::function<int()>& body) {
  pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  return pid;
}
int status_of(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(HostRoom, AGuestSeesTheSameMemoryAtTheSameAddress) {
  const std::string name = fresh_name();
  auto room = HostRoom::open(name);
  ASSERT_TRUE(room) << room.message();
  const pid_t guest = child([&] {
    host::ArenaFiles files;
    auto entered = HostRoom::enter(name, 0, kSecret, files);
    if (!entered) return 10;
    auto arena = host::Arena::join(kTwoProcesses, files);
    if (!arena) return 11;
    // It waits for a word in the host page, answers in its own slice, and says where that is.
    volatile int* word = reinterpret_cast<volatile int*>(arena->host_page());
    while (*word != 42) ::usleep(100);
    std::strcpy(reinterpret_cast<char*>(arena->slice(2)), "here");
    *reinterpret_cast<volatile std::byte**>(arena->host_page() + 8) = arena->slice(2);
    *word = 43;
    return 0;
  });
  host::ArenaFiles files;
  auto arena = host::Arena::create(kTwoProcesses, files);
  ASSERT_TRUE(arena) << arena.message();
  EXPECT_EQ(files.files.size(), 2u);
  Status inside = room->let_in(1, files, kSecret);
  ASSERT_TRUE(inside) << inside.message();
  volatile int* word = reinterpret_cast<volatile int*>(arena->host_page());
  *word = 42;
  EXPECT_EQ(status_of(guest), 0);
  EXPECT_EQ(*word, 43);
  EXPECT_STREQ(reinterpret_cast<char*>(arena->slice(2)), "here");
  EXPECT_EQ(*reinterpret_cast<std::byte**>(arena->host_page() + 8), arena->slice(2));
  for (int file : files.files) ::close(file);
}

// What is said while one guest, a child, is let in: it must get in.
std::string said_while_let_in(HostRoom& room, pid_t guest) {
  host::ArenaFiles files;
  auto arena = host::Arena::create(kTwoProcesses, files);
  EXPECT_TRUE(arena) << arena.message();
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(room.let_in(1, files, kSecret).ok());
  EXPECT_EQ(status_of(guest), 0);
  for (int file : files.files) ::close(file);
  return ::testing::internal::GetCapturedStderr();
}

TEST(HostRoom, WhoDoesNotKnowTheSecretStaysOutside) {
  const std::string name = fresh_name();
  auto room = HostRoom::open(name);
  ASSERT_TRUE(room) << room.message();
  const pid_t guest = child([&] {
    const pid_t stranger = child([&] {
      host::ArenaFiles files;
      return HostRoom::enter(name, 0, "of another run", files) ? 1 : 0;
    });
    if (status_of(stranger) != 0) return 2;
    host::ArenaFiles files;
    return HostRoom::enter(name, 0, kSecret, files) ? 0 : 1;
  });
  EXPECT_THAT(said_while_let_in(*room, guest), HasSubstr("does not belong to this run"));
}

// As one that is killed just then does: it is told apart from a stranger.
TEST(HostRoom, WhoComesAndLeavesWithoutAWordIsNoGuest) {
  const std::string name = fresh_name();
  auto room = HostRoom::open(name);
  ASSERT_TRUE(room) << room.message();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const int silent = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::connect(silent, reinterpret_cast<sockaddr*>(&address),
                      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())),
            0);
  ::close(silent);
  const pid_t guest = child([&] {
    host::ArenaFiles files;
    return HostRoom::enter(name, 0, kSecret, files) ? 0 : 1;
  });
  EXPECT_THAT(said_while_let_in(*room, guest),
              HasSubstr("(pid " + std::to_string(::getpid()) + ") came for the message memory of this host and left"));
}

TEST(HostRoom, TheEndOfAGuestIsSeen) {
  const std::string name = fresh_name();
  auto room = HostRoom::open(name);
  ASSERT_TRUE(room);
  const pid_t guest = child([&] {
    host::ArenaFiles files;
    auto entered = HostRoom::enter(name, 0, kSecret, files);
    while (entered) ::pause();
    return 1;
  });
  host::ArenaFiles files;
  auto arena = host::Arena::create(kTwoProcesses, files);
  ASSERT_TRUE(arena);
  ASSERT_TRUE(room->let_in(1, files, kSecret).ok());
  pollfd socket{room->sockets().at(0), POLLIN, 0};
  EXPECT_EQ(::poll(&socket, 1, 0), 0);
  ::kill(guest, SIGKILL);
  EXPECT_EQ(::poll(&socket, 1, 10'000), 1);
  status_of(guest);
  for (int file : files.files) ::close(file);
}

TEST(HostRoom, WithoutAHostTheDoorIsNotFound) {
  host::ArenaFiles files;
  auto entered = HostRoom::enter(fresh_name(), 0, kSecret, files);
  ASSERT_FALSE(entered);
  EXPECT_THAT(entered.message(), HasSubstr("could not reach the first process of this host"));
}

TEST(Arena, FilesThatDoNotFitTheLayoutAreRefused) {
  host::ArenaFiles files;
  files.base = 0x100'0000'0000;
  files.slice_bytes = 1 << 20;
  auto arena = host::Arena::join(kTwoProcesses, files);
  ASSERT_FALSE(arena);
  EXPECT_THAT(arena.message(), HasSubstr("0 files"));
}

}  // namespace
}  // namespace periapt::machine
