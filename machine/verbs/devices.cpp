#include "machine/verbs/devices.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <sstream>

#include "base/error_text.h"
#include "base/topology.h"
#include "machine/verbs/wire.h"

namespace periapt::verbs {
namespace {

using ucx::Device;

constexpr unsigned kSoftRoceVendor = 0xff'ffff;
constexpr std::uint64_t kMessageMost = std::uint64_t{1} << 30;

// ---- what the devices say

double bytes_per_ns_of(const ibv_port_attr& port) {
  const double lanes = port.active_width == 2    ? 4
                       : port.active_width == 4  ? 8
                       : port.active_width == 8  ? 12
                       : port.active_width == 16 ? 2
                                                 : 1;
  double gigabits = 2.5;  // SDR; and each bit of the field above it is the next speed
  constexpr std::pair<int, double> kSpeeds[] = {{2, 5}, {4, 10}, {8, 10}, {16, 14}, {32, 25}, {64, 50}, {128, 100}};
  for (const auto& [speed, rate] : kSpeeds) {
    if (port.active_speed == speed) gigabits = rate;
  }
  return lanes * gigabits / 8;
}

void read_gids(const Library& verbs, ibv_context* context, int count, Port* port) {
  for (int index = 0; index < count; ++index) {
    ibv_gid_entry entry{};
    const auto at = static_cast<std::uint32_t>(index);
    if (verbs.query_gid_ex(context, port->number, at, &entry, 0, sizeof entry) != 0) continue;
    Gid gid;
    gid.index = index;
    std::memcpy(gid.bytes.data(), entry.gid.raw, gid.bytes.size());
    gid.type = entry.gid_type == IBV_GID_TYPE_ROCE_V2   ? Gid::Type::roce2
               : entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? Gid::Type::roce1
                                                        : Gid::Type::infiniband;
    char interface[IF_NAMESIZE] = "";
    if (entry.ndev_ifindex != 0 && ::if_indextoname(entry.ndev_ifindex, interface) != nullptr)
      gid.interface = interface;
    if (gid.bytes != std::array<std::uint8_t, 16>{}) port->gids.push_back(gid);
  }
}

void read_partitions(const Library& verbs, ibv_context* context, int count, Port* port) {
  for (int index = 0; index < count; ++index) {
    std::uint16_t key = 0;  // as it travels
    if (verbs.query_pkey(context, static_cast<std::uint8_t>(port->number), index, &key) != 0) continue;
    const Partition partition{index, ntohs(key)};
    if (!partition.is_of(0)) port->partitions.push_back(partition);  // else the place is free
  }
}

Port faulty(const std::string& device, const std::string& fault, const std::string& remedy) {
  Port port;
  port.device = device;
  port.fault = fault;
  port.remedy = remedy;
  return port;
}

/// Devices of one adapter (its two ports may be two of them, or its virtual functions) have the same system image.
std::string adapter_of(const ibv_device_attr& device, const std::string& name) {
  return device.sys_image_guid == 0 ? name : "image " + std::to_string(device.sys_image_guid);
}

void add_ports(const Library& verbs, ibv_device* device, const std::vector<int>& cpus, std::vector<Port>* ports) {
  const std::string name = device->name;
  if (device->transport_type == IBV_TRANSPORT_IWARP)
    return ports->push_back(faulty(name, "iWARP connects by rdma_cm alone, which the ofi transport does",
                                   "+transports ofi +ofi-provider verbs (apt install libfabric1)"));
  errno = 0;
  const std::unique_ptr<ibv_context, decltype(verbs.close_device)> context(verbs.open_device(device),
                                                                           verbs.close_device);
  if (context == nullptr)
    return ports->push_back(faulty(
        name, std::string("it can't be opened: ") + error_text(),
        std::string("chmod 666 /dev/infiniband/") + device->dev_name + "; containers: --device /dev/infiniband"));
  ibv_device_attr all{};
  if (const int error = verbs.query_device(context.get(), &all); error != 0)
    return ports->push_back(faulty(name, "it does not say what it can: " + error_text(error), ""));
  for (unsigned number = 1; number <= all.phys_port_cnt; ++number) {
    ibv_port_attr said;
    if (verbs.port_of(context.get(), number, &said) != 0) continue;
    Port port;
    port.device = name;
    port.number = number;
    port.adapter = adapter_of(all, name);
    port.folder = std::string(device->ibdev_path) + "/device";
    port.distance = topology::distance_to(port.folder, cpus);
    if (all.max_srq <= 0) port.fault = "it has no shared receive queues";
    port.active = said.state == IBV_PORT_ACTIVE;
    port.ethernet = said.link_layer == IBV_LINK_LAYER_ETHERNET;
    port.software = all.vendor_id == kSoftRoceVendor;
    port.lid = said.lid;
    port.mtu = said.active_mtu;
    port.bytes_per_ns = bytes_per_ns_of(said);
    port.max_message = said.max_msg_sz;
    port.reads_at_once = std::clamp(std::min(all.max_qp_rd_atom, all.max_qp_init_rd_atom), 1, 16);
    read_gids(verbs, context.get(), said.gid_tbl_len, &port);
    read_partitions(verbs, context.get(), said.pkey_tbl_len, &port);
    ports->push_back(std::move(port));
  }
}

// ---- what is wanted

int rank_of(const Gid& gid) {
  if (gid.type != Gid::Type::roce2) return 3;
  if (gid.is_ip4()) return 0;
  return gid.is_link_local() ? 2 : 1;
}

/// False: `fault` says why.
bool choose_gid(const Port& port, const std::string& wanted, Gid* gid, std::string* fault) {
  if (!wanted.empty()) {
    const Gid* best = nullptr;
    for (const Gid& one : port.gids) {
      if (std::to_string(one.index) != wanted && one.interface != wanted) continue;
      if (best == nullptr || rank_of(one) < rank_of(*best)) best = &one;
    }
    if (best != nullptr) return *gid = *best, true;
    *fault = "+verbs-gid " + wanted + " names none of its GIDs; there are:";
    for (const Gid& one : port.gids) *fault += " " + std::to_string(one.index) + " (" + text(one) + ")";
    return false;
  }
  if (port.gids.empty()) {
    *fault = "it has no GID, so that no other can address it";
    return false;
  }
  *gid = port.ethernet ? *std::min_element(port.gids.begin(), port.gids.end(),
                                           [](const Gid& a, const Gid& b) { return rank_of(a) < rank_of(b); })
                       : port.gids.front();
  return true;
}

std::string in_hex(std::uint16_t key) {
  char digits[5] = "";
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, key, 16);
  return "0x" + std::string(digits, end);
}

/// False: `fault` says why. A port that tells of none has the usual one.
bool choose_partition(const Port& port, std::uint16_t wanted, Partition* partition, std::string* fault) {
  const auto take_first = [&](bool full) {
    for (const Partition& one : port.partitions) {
      if (one.is_full() == full && (wanted == 0 || one.is_of(wanted))) return *partition = one, true;
    }
    return false;
  };
  if (take_first(true) || take_first(false) || (wanted == 0 && port.partitions.empty())) return true;
  *fault = "+verbs-partition-key " + in_hex(wanted) + " names none of its partitions; there are:";
  for (const Partition& one : port.partitions) *fault += " " + in_hex(one.key);
  return false;
}

Device describe_device(const Port& port) {
  Device device;
  device.transport = "verbs";
  device.name = port.name();
  device.folder = port.folder;
  device.can.max_header = kHeaderMax;
  device.can.max_inline = device.can.max_lent = kPayloadMax;
  device.can.max_put = device.can.max_get = std::min(std::max<std::uint64_t>(port.max_message, 1), kMessageMost);
  device.can.needs_registration = true;
  // Whether it really does, is found by the first registration.
  device.can.memory_kinds |= bit_of(ucx::MemoryKind::cuda) | bit_of(ucx::MemoryKind::hip);
  device.costs.overhead_ns = port.software ? 3000 : 300;
  device.costs.latency_ns = port.software ? 10000 : 1500;
  device.costs.bytes_per_ns = std::max(port.bytes_per_ns, 0.1);
  device.costs.registration_ns = port.software ? 20000 : 5000;
  return device;
}

std::string in_words(const Port& port, const Gid& gid, const Partition& partition) {
  std::ostringstream words;
  words << (port.software ? "soft RoCE, " : port.ethernet ? "RoCE, " : "InfiniBand, ");
  if (!port.ethernet) words << "LID " << port.lid << ", ";
  words << "GID " << gid.index << " " << text(gid) << ", " << port.bytes_per_ns * 8 << " Gb/s";
  if (!partition.is_of(Partition::kUsual)) words << ", partition " << in_hex(partition.key);
  if (port.distance > 0) words << ", distance " << port.distance;
  return words.str();
}

/// A part of +verbs-devices.
struct Selector {
  std::string text;
  bool met = false;
  bool fits(const Port& port) const { return text == port.device || text == port.name(); }
};
std::vector<Selector> read_selectors(const std::string& list) {
  std::vector<Selector> selectors;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    if (!part.empty()) selectors.push_back({part});
  }
  return selectors;
}

}  // namespace

bool Gid::is_ip4() const {
  constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kMapped.begin(), kMapped.end(), bytes.begin());
}

std::string text(const Gid& gid) {
  char address[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(AF_INET6, gid.bytes.data(), address, sizeof address);
  return std::string(address) +
         (gid.type == Gid::Type::roce2   ? " (v2)"
          : gid.type == Gid::Type::roce1 ? " (v1)"
                                         : "") +
         (gid.interface.empty() ? "" : " of " + gid.interface);
}

std::vector<Port> list_ports(const std::vector<int>& cpus, std::string* why_none, std::string* remedy) {
  std::vector<Port> ports;
  if (!kernel_has_devices()) {
    *why_none = "the kernel lists no RDMA device in /sys/class/infiniband";
    return ports;
  }
  if (!library()) {
    *why_none = library().message();
    *remedy = "apt install ibverbs-providers, or PERIAPT_LIBIBVERBS=<full path of a libibverbs.so.1>";
    return ports;
  }
  const Library& verbs = library().value();
  int count = 0;
  ibv_device** devices = verbs.get_device_list(&count);
  for (int i = 0; devices != nullptr && i < count; ++i) add_ports(verbs, devices[i], cpus, &ports);
  if (devices != nullptr) verbs.free_device_list(devices);
  *why_none = "libibverbs knows none of the kernel's devices";
  *remedy = "apt install ibverbs-providers; modprobe ib_uverbs";
  return ports;
}

namespace {

bool is_better(const Port& a, const Port& b) {
  // What is not known counts as near: most hosts have one node of memory, and their firmware may say nothing.
  const auto distance = [](const Port& port) { return std::max(port.distance, 10.0); };
  if (a.software != b.software) return b.software;
  if (distance(a) != distance(b)) return distance(a) < distance(b);
  return a.bytes_per_ns > b.bytes_per_ns;
}

/// Of other ports nothing says that each leads to the same peers, and both sides pair theirs in the order of each.
bool are_of_one_subnet(const Choice& a, const Choice& b) {
  constexpr std::ptrdiff_t kPrefix = 8;
  return !a.port.ethernet && !b.port.ethernet &&
         std::equal(a.gid.bytes.begin(), a.gid.bytes.begin() + kPrefix, b.gid.bytes.begin());
}

/// The best first; of those of an InfiniBand subnet that are as good as others, process `number` of the host begins
/// with that one.
void sort_by_worth(std::vector<Choice*>* able, int number) {
  const auto better = [](const Choice* a, const Choice* b) { return is_better(a->port, b->port); };
  std::stable_sort(able->begin(), able->end(), better);
  for (auto first = able->begin(); first != able->end();) {
    const auto end = std::upper_bound(first, able->end(), *first, better);
    const Choice& one = **first;
    if (std::all_of(first, end, [&](const Choice* other) { return are_of_one_subnet(one, *other); }))
      std::rotate(first, first + number % (end - first), end);
    first = end;
  }
}

/// Takes the rails from among the `able`, the best first, and says of the others why not.
std::vector<Choice*> choose_rails(std::vector<Choice*> able, int rails, int number) {
  double fastest = 0;
  for (const Choice* choice : able) {
    if (!choice->port.software) fastest = std::max(fastest, choice->port.bytes_per_ns);
  }
  sort_by_worth(&able, number);
  std::vector<Choice*> chosen, left_out;
  for (Choice* choice : able) {
    const Port& port = choice->port;
    std::string why_not;
    const auto same_adapter = std::find_if(chosen.begin(), chosen.end(),
                                           [&](const Choice* other) { return other->port.adapter == port.adapter; });
    // Slower by more, it is of a network for other purposes.
    if (port.bytes_per_ns * ucx::kSlowerMost < fastest) {
      why_not = "another port is more than eight times as fast";
    } else if (same_adapter != chosen.end()) {
      why_not = (*same_adapter)->port.name() + " of the same adapter is used";
    } else if (!chosen.empty() &&
               (port.software != chosen.front()->port.software || port.ethernet != chosen.front()->port.ethernet)) {
      why_not = "it is of another kind of network than " + chosen.front()->port.name() + ", which is used";
    } else if (static_cast<int>(chosen.size()) >= rails) {
      why_not = rails == 1 ? "another port is used" : std::to_string(rails) + " others are used";
    }
    if (why_not.empty()) {
      chosen.push_back(choice);
    } else {
      choice->device.detail += ": " + why_not;
      left_out.push_back(choice);
    }
  }
  for (Choice* choice : left_out) {
    choice->device.remedy = "+verbs-devices ";
    for (const Choice* other : chosen) choice->device.remedy += other->port.name() + ",";
    choice->device.remedy += choice->port.name();
  }
  return chosen;
}

/// Those that +verbs-devices names, in its order.
std::vector<Choice*> choose_named(const std::vector<Choice*>& able, const std::vector<Selector>& selectors,
                                  const std::string& wanted) {
  std::vector<Choice*> chosen;
  for (const Selector& selector : selectors) {
    for (Choice* choice : able) {
      if (!selector.fits(choice->port)) continue;
      if (std::count(chosen.begin(), chosen.end(), choice) == 0) chosen.push_back(choice);
    }
  }
  for (Choice* choice : able) {
    if (std::count(chosen.begin(), chosen.end(), choice) != 0) continue;
    choice->device.detail += ": is not among +verbs-devices " + wanted;
    choice->device.remedy = "+verbs-devices " + wanted + "," + choice->port.name();
  }
  return chosen;
}

}  // namespace

std::vector<Choice> choose(const std::vector<Port>& ports, const std::string& wanted, const std::string& gid, int rails,
                           int number, std::uint16_t partition) {
  std::vector<Selector> selectors = read_selectors(wanted);
  std::vector<Choice> choices;
  std::vector<std::size_t> able_at;
  for (const Port& port : ports) {
    Choice choice;
    choice.port = port;
    choice.device = describe_device(port);
    Device& device = choice.device;
    for (Selector& selector : selectors) selector.met |= selector.fits(port);
    device.remedy = port.remedy;
    if (!port.fault.empty()) {
      device.detail = port.fault;
    } else if (!port.active) {
      device.detail = "the port is down";
      device.remedy = port.ethernet ? "ip link set the interface of " + port.device + " up" : "start a subnet manager";
    } else if (!choose_gid(port, gid, &choice.gid, &device.detail)) {
      device.remedy = gid.empty() ? "ip address add an address to its interface" : "leave +verbs-gid out";
    } else if (!choose_partition(port, partition, &choice.partition, &device.detail)) {
      device.remedy = port.ethernet ? "leave +verbs-partition-key out"
                                    : "leave +verbs-partition-key out, or have the subnet manager add the port";
    } else {
      device.detail = in_words(port, choice.gid, choice.partition);
      able_at.push_back(choices.size());
    }
    choices.push_back(std::move(choice));
  }
  std::vector<Choice*> able;
  for (std::size_t at : able_at) able.push_back(&choices[at]);
  const std::vector<Choice*> chosen =
      selectors.empty() ? choose_rails(able, rails, number) : choose_named(able, selectors, wanted);
  std::vector<Choice> in_order;
  for (Choice* choice : chosen) {
    choice->device.usable = true;
    in_order.push_back(*choice);
  }
  for (Choice& choice : choices) {
    if (!choice.device.usable) in_order.push_back(std::move(choice));
  }
  for (const Selector& selector : selectors) {
    if (selector.met) continue;
    Choice none;
    none.port.device = selector.text;
    none.device = describe_device(none.port);
    none.device.detail = "+verbs-devices names it, and there is no such port; there are:";
    for (const Port& port : ports) none.device.detail += " " + port.name();
    none.device.remedy = "ibv_devices shows what is there";
    in_order.push_back(std::move(none));
  }
  return in_order;
}

std::vector<Choice> choices_for(const ucx::OpenRequest& request) {
  const auto said = [&](const char* name) { return request.option ? request.option(name) : std::string(); };
  std::string why_none, remedy;
  const std::vector<int> cpus = request.cpus.empty() ? topology::allowed_cpus() : request.cpus;
  const std::vector<Port> ports = list_ports(cpus, &why_none, &remedy);
  const Result<int> rails = read_number("+verbs-rails", said("+verbs-rails"), kRailsMost, kRailsUsually, 1);
  const Result<std::uint16_t> partition = read_partition_key(said("+verbs-partition-key"));
  if (!ports.empty()) {
    return choose(ports, said("+verbs-devices"), said("+verbs-gid"), rails ? *rails : kRailsUsually,
                  request.number_on_host, partition ? *partition : std::uint16_t{0});
  }
  Choice none;
  none.port.device = "RDMA";
  none.device = describe_device(none.port);
  none.device.detail = why_none;
  none.device.remedy = remedy;
  return {none};
}

Result<int> read_number(const std::string& name, const std::string& text, int most, int otherwise, int least) {
  if (text.empty()) return otherwise;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most) return value;
  return Status::failure(name + " wants a number from " + std::to_string(least) + " to " + std::to_string(most) +
                         ", not \"" + text + "\"");
}

Status check_gid(const std::string& text) {
  constexpr int kGidMost = 255;
  const bool is_index = text.find_first_not_of("0123456789") == std::string::npos;
  if (is_index ? read_number("", text, kGidMost, 0).ok()
               : text.size() < IF_NAMESIZE && text.find_first_of("/ ,:") == std::string::npos && text[0] != '-')
    return {};
  return Status::failure("+verbs-gid wants an index from 0 to 255, or the name of a network interface, not \"" + text +
                         "\"");
}

Result<std::uint16_t> read_partition_key(const std::string& text) {
  if (text.empty()) return std::uint16_t{0};
  const bool hex = text.starts_with("0x");
  std::uint16_t key = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data() + (hex ? 2 : 0), end, key, hex ? 16 : 10);
  if (error == std::errc() && stopped == end && !Partition{0, key}.is_of(0)) return key;
  return Status::failure(
      "+verbs-partition-key wants the key of a partition, 0x1 to 0x7fff, or as a full member's 0x8001 to 0xffff, not "
      "\"" +
      text + "\"");
}

Result<int> read_mtu(const std::string& text) {
  if (text.empty()) return int{IBV_MTU_4096};
  for (int mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; ++mtu) {
    if (text == std::to_string(128 << mtu)) return mtu;
  }
  return Status::failure("+verbs-mtu wants 256, 512, 1024, 2048 or 4096 bytes, not \"" + text + "\"");
}

}  // namespace periapt::verbs
