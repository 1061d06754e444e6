// The RDMA ports of this host: which can carry a job, which not and why, and which was chosen.
//
// Without "+verbs-devices mlx5_0,mlx5_1:1" the nearest ports are used as rails, as many as "+verbs-rails N" says. What
// shares an adapter shares its way to memory, so of each adapter it is one port, the better one; and all belong to one
// kind of network, for nothing says whether different ones lead to the same hosts. Of a port's GIDs that of RoCE v2
// with an IPv4 address goes first, which routers and switches treat as any UDP; "+verbs-gid INDEX" takes another.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "machine/ucx-like/transport.h"
#include "machine/verbs/library.h"

namespace periapt::verbs {

struct Gid {
  int index = 0;
  std::array<std::uint8_t, 16> bytes{};
  enum class Type : std::uint8_t { infiniband, roce1, roce2 } type = Type::infiniband;

  bool is_ip4() const;  ///< ::ffff:10.0.0.1
  bool is_link_local() const { return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80; }
};
std::string text(const Gid& gid);

/// A port as its device describes it.
struct Port {
  std::string device;   ///< "mlx5_0"
  unsigned number = 0;  ///< from 1; 0: the device could not be opened, and `fault` says why
  std::string fault, remedy;
  std::string adapter;  ///< the same for all ports of an adapter, whatever devices it shows itself as
  std::string folder;   ///< the adapter's in /sys
  double distance = 0;  ///< from the cpus of the run, as topology::distance_to() says; 0: not known
  bool active = false;
  bool ethernet = false;
  bool software = false;  ///< soft RoCE: kernel threads do the device's work
  std::uint16_t lid = 0;
  int mtu = 0;  ///< ibv_mtu
  double bytes_per_ns = 0;
  std::uint64_t max_message = 0;
  int reads_at_once = 1;  ///< that a queue pair answers and has under way
  std::vector<Gid> gids;

  std::string name() const { return number == 0 ? device : device + ":" + std::to_string(number); }
};

struct Choice {
  Port port;
  Gid gid;
  ucx::Device device;
};
inline constexpr int kRailsUsually = 2, kRailsMost = 8;
/// One entry a port, those that are used first, in the order of preference; also for each part of `wanted` that names
/// nothing. `gid` is +verbs-gid. Of ports of an InfiniBand subnet that are as good as others, process `number` of the
/// host begins with that one. A pure function.
std::vector<Choice> choose(const std::vector<Port>& ports, const std::string& wanted, const std::string& gid,
                           int rails = kRailsUsually, int number = 0);

/// All that are there, with their distances from those cpus. `why_none`, with what would help, when there is none.
std::vector<Port> list_ports(const std::vector<int>& cpus, std::string* why_none, std::string* remedy);

/// The choices for a worker, and what the run's options say. One that is not usable when there is none at all.
std::vector<Choice> choices_for(const ucx::OpenRequest& request);

/// A number of an option: empty is `otherwise`.
Result<int> read_number(const std::string& name, const std::string& text, int most, int otherwise, int least = 0);

}  // namespace periapt::verbs
