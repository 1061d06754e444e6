// Processes of one host that were started apart meet and share message memory.
#include "machine/layer/shm_handshake.h"

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
  static int names = 0;
  return "periapt-test-" + std::to_string(::getpid()) + "-" + std::to_string(++names);
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

TEST(ShmHandshake, APeerSeesTheSameMemoryAtTheSameAddress) {
  const std::string name = fresh_name();
  auto handshake = ShmHandshake::listen(name);
  ASSERT_TRUE(handshake) << handshake.message();
  const pid_t peer = child([&] {
    host::ArenaFiles files;
    auto connected = ShmHandshake::connect(name, 0, kSecret, files);
    if (!connected) return 10;
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
  Status inside = handshake->accept(1, files, kSecret);
  ASSERT_TRUE(inside) << inside.message();
  volatile int* word = reinterpret_cast<volatile int*>(arena->host_page());
  *word = 42;
  EXPECT_EQ(status_of(peer), 0);
  EXPECT_EQ(*word, 43);
  EXPECT_STREQ(reinterpret_cast<char*>(arena->slice(2)), "here");
  EXPECT_EQ(*reinterpret_cast<std::byte**>(arena->host_page() + 8), arena->slice(2));
  for (int file : files.files) ::close(file);
}

// What is said while one peer, a child, is accepted: it must be.
std::string said_while_accepting(ShmHandshake& handshake, pid_t peer) {
  host::ArenaFiles files;
  auto arena = host::Arena::create(kTwoProcesses, files);
  EXPECT_TRUE(arena) << arena.message();
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(handshake.accept(1, files, kSecret).ok());
  EXPECT_EQ(status_of(peer), 0);
  for (int file : files.files) ::close(file);
  return ::testing::internal::GetCapturedStderr();
}

TEST(ShmHandshake, AProcessWithoutTheSecretIsRefused) {
  const std::string name = fresh_name();
  auto handshake = ShmHandshake::listen(name);
  ASSERT_TRUE(handshake) << handshake.message();
  const pid_t peer = child([&] {
    const pid_t stranger = child([&] {
      host::ArenaFiles files;
      return ShmHandshake::connect(name, 0, "of another run", files) ? 1 : 0;
    });
    if (status_of(stranger) != 0) return 2;
    host::ArenaFiles files;
    return ShmHandshake::connect(name, 0, kSecret, files) ? 0 : 1;
  });
  EXPECT_THAT(said_while_accepting(*handshake, peer), HasSubstr("does not belong to this run"));
}

// As one that is killed just then does: it is told apart from a stranger.
TEST(ShmHandshake, AProcessThatLeavesWithoutAWordIsNoPeer) {
  const std::string name = fresh_name();
  auto handshake = ShmHandshake::listen(name);
  ASSERT_TRUE(handshake) << handshake.message();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const int silent = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::connect(silent, reinterpret_cast<sockaddr*>(&address),
                      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())),
            0);
  ::close(silent);
  const pid_t peer = child([&] {
    host::ArenaFiles files;
    return ShmHandshake::connect(name, 0, kSecret, files) ? 0 : 1;
  });
  EXPECT_THAT(said_while_accepting(*handshake, peer),
              HasSubstr("(pid " + std::to_string(::getpid()) + ") came for the message memory of this host and left"));
}

TEST(ShmHandshake, TheEndOfAPeerIsSeen) {
  const std::string name = fresh_name();
  auto handshake = ShmHandshake::listen(name);
  ASSERT_TRUE(handshake);
  const pid_t peer = child([&] {
    host::ArenaFiles files;
    auto connected = ShmHandshake::connect(name, 0, kSecret, files);
    while (connected) ::pause();
    return 1;
  });
  host::ArenaFiles files;
  auto arena = host::Arena::create(kTwoProcesses, files);
  ASSERT_TRUE(arena);
  ASSERT_TRUE(handshake->accept(1, files, kSecret).ok());
  pollfd socket{handshake->sockets().at(0), POLLIN, 0};
  EXPECT_EQ(::poll(&socket, 1, 0), 0);
  ::kill(peer, SIGKILL);
  EXPECT_EQ(::poll(&socket, 1, 10'000), 1);
  status_of(peer);
  for (int file : files.files) ::close(file);
}

TEST(ShmHandshake, WithoutAFirstProcessThereIsNoListener) {
  host::ArenaFiles files;
  auto connected = ShmHandshake::connect(fresh_name(), 0, kSecret, files);
  ASSERT_FALSE(connected);
  EXPECT_THAT(connected.message(), HasSubstr("could not reach the first process of this host"));
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
