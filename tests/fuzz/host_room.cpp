// Processes of a host that come together: a first process that gives odd things, and guests that say odd things.
#include "machine/layer/host_room.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <thread>

#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {
namespace {

constexpr char kName[] = "periapt-fuzz-room-";

sockaddr_un name_of(const std::string& name, socklen_t& size) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

std::string own_name() { return kName + std::to_string(::getpid()); }

// A first process that answers every guest with these bytes, and leaves.
void enter_where_odd_things_are_given(Bytes given) {
  socklen_t size;
  const sockaddr_un address = name_of(own_name(), size);
  const int door = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  expect(::bind(door, reinterpret_cast<const sockaddr*>(&address), size) == 0 && ::listen(door, 1) == 0, "a door");
  std::thread first([&] {
    const int guest = ::accept4(door, nullptr, nullptr, SOCK_CLOEXEC);
    static_cast<void>(!::send(guest, given.data(), given.size(), MSG_NOSIGNAL));
    ::shutdown(guest, SHUT_WR);
    char heard[256];
    while (::recv(guest, heard, sizeof heard, 0) > 0) {
    }
    ::close(guest);
  });
  host::ArenaFiles files;
  {
    Result<machine::HostRoom> room = machine::HostRoom::enter(own_name(), 0, "secret", files);
    expect(room.ok() || !room.message().empty(), "a failure says why");
  }
  for (int file : files.files) ::close(file);
  first.join();
  ::close(door);
}

}  // namespace

void target(Input input) {
  const Bytes said = input.rest();
  enter_where_odd_things_are_given(said);
}

}  // namespace periapt::fuzz
