#include "machine/tcp/devices.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "base/error_text.h"
#include "base/secret.h"
#include "base/this_host.h"

namespace periapt::tcp {

using ucx::Device;

// ---- what the system says

static int bits_of(const sockaddr* mask, int family) {
  const auto* bytes =
      family == AF_INET ? reinterpret_cast<const unsigned char*>(&reinterpret_cast<const sockaddr_in*>(mask)->sin_addr)
                        : reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr.s6_addr;
  int bits = 0;
  for (int i = 0; i < (family == AF_INET ? 4 : 16); ++i) bits += std::popcount(bytes[i]);
  return bits;
}

static double speed_of(const std::string& name) {
  double megabits = 0;
  std::ifstream("/sys/class/net/" + name + "/speed") >> megabits;
  return megabits > 0 ? megabits / 8000 : 0;
}

Result<std::vector<Interface>> list_interfaces() {
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0)
    return Status::failure("the network interfaces could not be listed: " + error_text(errno));
  std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(raw, ::freeifaddrs);
  std::vector<Interface> list;
  for (const ifaddrs* one = all.get(); one != nullptr; one = one->ifa_next) {
    Interface interface;
    interface.name = one->ifa_name;
    interface.up = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_RUNNING) != 0;
    interface.loopback = (one->ifa_flags & IFF_LOOPBACK) != 0;
    interface.bytes_per_ns = speed_of(interface.name);
    int family = one->ifa_addr == nullptr ? 0 : one->ifa_addr->sa_family;
    if (family == AF_INET || family == AF_INET6) {
      sockaddr_storage socket{};
      std::memcpy(&socket, one->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
      interface.family = family;
      interface.ip = from_socket(socket).ip;
      interface.link_local = family == AF_INET6 && interface.ip[0] == std::byte{0xfe} &&
                             (interface.ip[1] & std::byte{0xc0}) == std::byte{0x80};
      if (one->ifa_netmask != nullptr) interface.prefix_bits = bits_of(one->ifa_netmask, family);
    }
    list.push_back(interface);
  }
  return list;
}

// ---- what is wanted

/// A part of +net-devices.
struct Selector {
  std::string text;
  int family = 0;  // 0: a name
  std::array<std::byte, 16> ip{};
  int bits = 0;
  bool met = false;

  bool fits(const Interface& interface) const {
    if (family == 0) return interface.name == text;
    if (family != interface.family) return false;
    for (int bit = 0; bit < bits; ++bit) {
      auto byte = static_cast<std::size_t>(bit / 8);
      auto mask = std::byte{0x80} >> (bit % 8);
      if (((ip[byte] ^ interface.ip[byte]) & mask) != std::byte{0}) return false;
    }
    return true;
  }
};

static Selector read_selector(const std::string& text) {
  Selector selector{.text = text};
  std::size_t slash = text.find('/');
  std::string address = text.substr(0, slash);
  for (int family : {AF_INET, AF_INET6}) {
    if (::inet_pton(family, address.c_str(), selector.ip.data()) != 1) continue;
    selector.family = family;
    selector.bits = family == AF_INET ? 32 : 128;
    int bits = selector.bits;
    if (slash != std::string::npos) {
      auto [end, error] = std::from_chars(text.data() + slash + 1, text.data() + text.size(), bits);
      if (error != std::errc() || end != text.data() + text.size() || bits < 0 || bits > selector.bits)
        selector.family = 0;  // no network: then it is a name that no interface has, and that is said
    }
    selector.bits = bits;
    break;
  }
  return selector;
}

static std::vector<Selector> read_selectors(const std::string& wanted) {
  std::vector<Selector> selectors;
  std::istringstream parts(wanted);
  for (std::string part; std::getline(parts, part, ',');)
    if (!part.empty()) selectors.push_back(read_selector(part));
  return selectors;
}

// ---- what is chosen

/// Bridges that container engines and hypervisors make: the same address on every host, and no way to another one.
static bool leads_to_containers(const std::string& name) {
  for (const char* prefix : {"docker", "br-", "virbr", "cni", "lxcbr", "lxdbr", "podman", "flannel", "cilium"})
    if (name.starts_with(prefix)) return true;
  return false;
}

static Device describe_device(const Interface& interface) {
  Device device;
  device.transport = "tcp";
  device.name = interface.name;
  device.can.reach = ucx::Reach::network;
  device.can.max_header = kHeaderMax;
  device.can.max_inline = 16 << 10;
  device.can.max_lent = Prefix::kSizeMax;
  device.costs.overhead_ns = 1500;
  device.costs.latency_ns = interface.loopback ? 1500 : 15000;
  // An announcement finds its peer busy with what came before, as no small message of a ping-pong does: 128 KB took 14
  // us more when they were announced.
  if (interface.loopback) device.costs.asking_ns = 12000;
  device.costs.bytes_per_ns = interface.loopback ? 4 : interface.bytes_per_ns > 0 ? interface.bytes_per_ns * 0.95 : 1.1;
  return device;
}

/// Why it can't be used whatever was wanted; empty: it can.
static std::string fault_of(const Interface& interface) {
  if (interface.family == 0) return "has no IPv4 or IPv6 address";
  if (!interface.up) return "is down, or has no carrier";
  if (interface.link_local) return "has a link-local address only, which other hosts can't be told";
  return {};
}

/// Of the addresses of one interface: what fits the selectors, then what can be used, then IPv4.
static const Interface& best_of(const std::vector<const Interface*>& addresses,
                                const std::vector<Selector>& selectors) {
  auto rank = [&](const Interface* one) {
    bool selected =
        std::any_of(selectors.begin(), selectors.end(), [&](const Selector& selector) { return selector.fits(*one); });
    return (selected ? 4 : 0) + (fault_of(*one).empty() ? 2 : 0) + (one->family == AF_INET ? 1 : 0);
  };
  const Interface* best = addresses[0];
  for (const Interface* one : addresses)
    if (rank(one) > rank(best)) best = one;
  return *best;
}

static std::string describe(const Interface& interface) {
  std::string text = ip_text(interface.family, interface.ip);
  if (interface.bytes_per_ns > 0) {
    std::ostringstream speed;
    speed << interface.bytes_per_ns * 8;
    text += ", " + speed.str() + " Gb/s";
  }
  return text;
}

std::vector<Choice> choose(const std::vector<Interface>& interfaces, const std::string& wanted, bool one_host) {
  std::vector<Selector> selectors = read_selectors(wanted);
  std::vector<std::string> names;
  std::map<std::string, std::vector<const Interface*>> by_name;
  for (const Interface& interface : interfaces) {
    if (by_name[interface.name].empty()) names.push_back(interface.name);
    by_name[interface.name].push_back(&interface);
  }
  std::vector<Choice> choices;
  bool outside = false, loopback = false;
  for (const std::string& name : names) {
    const Interface& interface = best_of(by_name[name], selectors);
    Device device = describe_device(interface);
    bool selected = false;
    for (Selector& selector : selectors)
      if (selector.fits(interface)) selected = selector.met = true;
    device.detail = fault_of(interface);
    if (!device.detail.empty()) {
      device.remedy = interface.up ? "ip address add <address>/<bits> dev " + name : "ip link set " + name + " up";
    } else if (!selectors.empty() && !selected) {
      device.detail = describe(interface) + ": is not among +net-devices " + wanted;
      device.remedy = "+net-devices " + wanted + "," + name;
    } else if (selectors.empty() && leads_to_containers(name)) {
      device.detail = describe(interface) + ": looks like a bridge to containers of this host";
      device.remedy = "+net-devices " + name;
    } else {
      device.usable = true;
      device.detail = describe(interface);
      (interface.loopback ? loopback : outside) = true;
    }
    choices.push_back({interface, device});
  }
  // Of loopback and the others, one is enough.
  const bool loopback_alone = one_host && loopback;
  for (Choice& choice : choices) {
    if (!selectors.empty() || !choice.device.usable || choice.interface.loopback == loopback_alone) continue;
    if (!loopback_alone && !outside) continue;
    choice.device.usable = false;
    choice.device.detail +=
        loopback_alone ? ": is not needed, for all processes are on this host" : ": is used when nothing else is there";
    choice.device.remedy = "+net-devices " + choice.device.name;
  }
  for (const Selector& selector : selectors) {
    if (selector.met) continue;
    Interface none;
    none.name = selector.text;
    Device device = describe_device(none);
    device.detail = "+net-devices names it, and no interface has this name or address; there are:";
    for (const std::string& name : names) device.detail += " " + name;
    device.remedy = "ip address shows what is there";
    choices.push_back({none, device});
  }
  return choices;
}

Device unlisted(const Status& why) {
  Device device = describe_device({.name = "any"});
  device.detail = why.message();
  return device;
}

// ---- addresses

std::string ip_text(int family, const std::array<std::byte, 16>& ip) {
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(family, ip.data(), text, sizeof text);
  return text;
}

std::string text(const Address& address) {
  std::string ip = ip_text(address.family == 4 ? AF_INET : AF_INET6, address.ip);
  return (address.family == 4 ? ip : "[" + ip + "]") + ":" + std::to_string(address.port);
}

socklen_t to_socket(const Address& address, sockaddr_storage* socket) {
  *socket = {};
  if (address.family == 4) {
    auto* in = reinterpret_cast<sockaddr_in*>(socket);
    in->sin_family = AF_INET;
    in->sin_port = htons(address.port);
    std::memcpy(&in->sin_addr, address.ip.data(), 4);
    return sizeof *in;
  }
  auto* in6 = reinterpret_cast<sockaddr_in6*>(socket);
  in6->sin6_family = AF_INET6;
  in6->sin6_port = htons(address.port);
  std::memcpy(&in6->sin6_addr, address.ip.data(), 16);
  return sizeof *in6;
}

// Each port that the kernel chooses from is taken for a minute by a connection that has ended: many short runs one
// behind the other leave none.
bool bind_somewhere(int fd, Address address) {
  constexpr int kTries = 200;
  constexpr std::uint16_t kFirst = 10240, kCount = 50000;
  const bool is_free = address.port == 0;
  for (int i = 0; i <= kTries; ++i) {
    sockaddr_storage socket{};
    const socklen_t size = to_socket(address, &socket);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&socket), size) == 0) return true;
    if (errno != EADDRINUSE || !is_free) return false;
    fill_random(&address.port, sizeof address.port);
    address.port = static_cast<std::uint16_t>(kFirst + address.port % kCount);
  }
  return false;
}

Address from_socket(const sockaddr_storage& socket) {
  Address address;
  if (socket.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(socket);
    address.family = 4;
    address.port = ntohs(in.sin_port);
    std::memcpy(address.ip.data(), &in.sin_addr, 4);
  } else if (socket.ss_family == AF_INET6) {
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(socket);
    address.family = 6;
    address.port = ntohs(in6.sin6_port);
    std::memcpy(address.ip.data(), &in6.sin6_addr, 16);
  }
  return address;
}

bool read_address(std::span<const std::byte> bytes, Address* address) {
  if (bytes.size() != sizeof *address) return false;
  std::memcpy(address, bytes.data(), sizeof *address);
  return address->magic == Address{}.magic && (address->family == 4 || address->family == 6) && address->port != 0;
}

void mark_host(Address* address) {
  address->boot = boot_number();
  address->network = namespace_number("net");
}

}  // namespace periapt::tcp
