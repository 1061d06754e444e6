// The network interfaces of this host: which can carry a job, which not and why, and which were chosen.
//
// "+net-devices eth0,10.0.0.0/8,fd00::7" chooses by name, by network or by address. Without it, everything that is up
// and has an address is used, but not what only leads to containers of this host, and loopback only when there is
// nothing else. A job on one host uses loopback alone: nothing of it can be reached from outside.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "machine/tcp/wire.h"
#include "machine/ucx-like/transport.h"

namespace periapt::tcp {

/// An address of an interface, as the system lists them.
struct Interface {
  std::string name;
  int family = 0;  ///< AF_INET, AF_INET6; 0: it has no address
  std::array<std::byte, 16> ip{};
  int prefix_bits = 0;
  bool up = false;  ///< and has a carrier
  bool loopback = false;
  bool link_local = false;
  double bytes_per_ns = 0;  ///< as its driver says; 0: it doesn't
};

/// Fails where the system does not tell them: no descriptor is left.
Result<std::vector<Interface>> list_interfaces();

struct Choice {
  Interface interface;
  ucx::Device device;
};
/// One entry an interface; also for each part of `wanted` that names nothing. `one_host`: no peer is on another host. A
/// pure function.
std::vector<Choice> choose(const std::vector<Interface>& interfaces, const std::string& wanted, bool one_host = false);

/// What stands in the place of all interfaces where they could not be listed.
ucx::Device unlisted(const Status& why);

std::string ip_text(int family, const std::array<std::byte, 16>& ip);
std::string text(const Address& address);
/// Of an address for bind() and connect(); returns its length.
socklen_t to_socket(const Address& address, sockaddr_storage* socket);
/// To the address's port; where that is 0, to one that the kernel chooses or, where it has none left, that is tried by
/// chance. False: errno says why not.
bool bind_somewhere(int fd, Address address);
Address from_socket(const sockaddr_storage& socket);
/// False: no address of this transport.
bool read_address(std::span<const std::byte> bytes, Address* address);
/// The boot of this machine and its network namespace: where a loopback address means something.
void mark_host(Address* address);

}  // namespace periapt::tcp
