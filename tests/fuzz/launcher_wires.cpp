// What a launcher says on the wire that it left open for this process: PMI_FD or charmrun's socket. All of it is there
// at once, then the launcher hangs up.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "machine/bootstrap/frames.h"
#include "machine/bootstrap/world.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {
namespace {

// The other end of a connection on which `said` waits to be read; whatever is written to it is taken.
int launcher_that_says(Bytes said) {
  int ends[2];
  expect(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "a socket pair");
  const int room = 1 << 20;
  ::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  static_cast<void>(!::send(ends[0], said.data(), said.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  ::shutdown(ends[0], SHUT_WR);
  ::close(ends[0]);
  return ends[1];
}

void use(bootstrap::World& world) {
  expect(world.size() >= 1 && world.rank() >= 0 && world.rank() < world.size(), "the rank is one of the world's");
  expect(static_cast<int>(world.host_of().size()) == world.size(), "every process has a host");
  if (!world.put("a", "b") || !world.fence()) return;
  static_cast<void>(world.get(0, "a").ok());
  std::string reason;
  static_cast<void>(world.well(&reason));
}

}  // namespace

void target(Input input) {
  const std::size_t kind = input.below(3);
  const int fd = launcher_that_says(input.rest());
  const std::string number = std::to_string(fd);
  ::setenv("PERIAPT_STARTUP_WATCHDOG", "0", 1);
  ::unsetenv("PERIAPT_PLACE_TAKEN");
  if (kind == 0) {
    ::setenv(bootstrap::kWorldVariable, number.c_str(), 1);
    ::setenv("PERIAPT_LAUNCHER", "charmrun", 1);
  } else {
    ::setenv("PMI_FD", number.c_str(), 1);
    ::setenv("PERIAPT_LAUNCHER", kind == 1 ? "pmi1" : "pmi2", 1);
  }
  {
    Result<std::unique_ptr<bootstrap::World>> world = bootstrap::World::find();
    if (world) {
      use(**world);
    } else {
      expect(!world.message().empty(), "a failure says why");
    }
  }
  ::close(fd);  // where it was not taken
}

}  // namespace periapt::fuzz
