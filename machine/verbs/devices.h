// The RDMA ports of this host: which can carry a job, which not and why, and which was chosen.
//
// Without "+verbs-devices mlx5_0,mlx5_1:1" the nearest ports are used as rails, as many as "+verbs-rails N" says. What
// shares an adapter shares its way to memory, so of each adapter it is one port, the better one; and all belong to one
// kind of network, for nothing says whether different ones lead to the same hosts. Of a port's GIDs that of RoCE v2
// with an IPv4 address goes first, which routers and switches treat as any UDP; "+verbs-gid INDEX" takes another, and
// "+verbs-gid eth0.100" the best one of that network interface, as of a VLAN. "+verbs-partition-key 0x8001" names the
// partition of the network; without it it is the first that the port is a full member of.
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
  std::string interface {};  ///< of the network, whose address it is; "": not told

  bool is_ip4() const;  ///< ::ffff:10.0.0.1
  bool is_link_local() const { return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80; }
};
std::string text(const Gid& gid);

/// A partition of the network, which the port is a member of. Two ports hear each other when one of them is a full one.
struct Partition {
  static constexpr std::uint16_t kUsual = 0xffff, kFull = 0x8000;
  int index = 0;               ///< in the table of the port
  std::uint16_t key = kUsual;  ///< its number in the lower 15 bits
  bool is_full() const { return (key & kFull) != 0; }
  bool is_of(std::uint16_t other) const { return ((key ^ other) & ~kFull) == 0; }
  bool hears(std::uint16_t other) const { return is_of(other) && ((key | other) & kFull) != 0; }
};

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
  std::vector<Partition> partitions;

  std::string name() const { return number == 0 ? device : device + ":" + std::to_string(number); }
};

struct Choice {
  Port port;
  Gid gid;
  ucx::Device device;
  Partition partition{};
};
inline constexpr int kRailsUsually = 2, kRailsMost = 8;
/// One entry a port, those that are used first, in the order of preference; also for each part of `wanted` that names
/// nothing. `gid` is +verbs-gid, and `partition` the key that +verbs-partition-key names, or 0. Of ports of an
/// InfiniBand subnet that are as good as others, process `number` of the host begins with that one. A pure function.
std::vector<Choice> choose(const std::vector<Port>& ports, const std::string& wanted, const std::string& gid,
                           int rails = kRailsUsually, int number = 0, std::uint16_t partition = 0);

/// All that are there, with their distances from those cpus. `why_none`, with what would help, when there is none.
std::vector<Port> list_ports(const std::vector<int>& cpus, std::string* why_none, std::string* remedy);

/// The choices for a worker, and what the run's options say. One that is not usable when there is none at all.
std::vector<Choice> choices_for(const ucx::OpenRequest& request);

/// A number of an option: empty is `otherwise`.
Result<int> read_number(const std::string& name, const std::string& text, int most, int otherwise, int least = 0);
/// What +verbs-gid says: an index, or the name of an interface.
Status check_gid(const std::string& text);
/// The key that +verbs-partition-key says, "0x8001" or 32769; empty is 0.
Result<std::uint16_t> read_partition_key(const std::string& text);
/// What +verbs-mtu says, as an ibv_mtu; empty is the largest.
Result<int> read_mtu(const std::string& text);

}  // namespace periapt::verbs
