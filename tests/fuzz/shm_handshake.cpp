// Processes of a host that come together: a first process that gives odd things, and peers that say odd things.
#include "machine/layer/shm_handshake.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <thread>

#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {
namespace {

constexpr char kName[] = "periapt-fuzz-handshake-";

sockaddr_un name_of(const std::string& name, socklen_t& size) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

std::string own_name() { return kName + std::to_string(::getpid()); }

// A first process that answers every peer with these bytes, and leaves.
void connect_to_odd_answers(Bytes given) {
  socklen_t size;
  const sockaddr_un address = name_of(own_name(), size);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  expect(::bind(listener, reinterpret_cast<const sockaddr*>(&address), size) == 0 && ::listen(listener, 1) == 0,
         "a listener");
  std::thread first([&] {
    const int peer = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    static_cast<void>(!::send(peer, given.data(), given.size(), MSG_NOSIGNAL));
    ::shutdown(peer, SHUT_WR);
    char heard[256];
    while (::recv(peer, heard, sizeof heard, 0) > 0) {
    }
    ::close(peer);
  });
  host::ArenaFiles files;
  {
    Result<machine::ShmHandshake> handshake = machine::ShmHandshake::connect(own_name(), 0, "secret", files);
    expect(handshake.ok() || !handshake.message().empty(), "a failure says why");
  }
  for (int file : files.files) ::close(file);
  first.join();
  ::close(listener);
}

}  // namespace

void target(Input input) {
  const Bytes said = input.rest();
  connect_to_odd_answers(said);
}

}  // namespace periapt::fuzz
