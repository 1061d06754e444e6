#include "machine/verbs/devices.h"

#include <arpa/inet.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <sstream>

#include "base/error_text.h"
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
    if (gid.bytes != std::array<std::uint8_t, 16>{}) port->gids.push_back(gid);
  }
}

Port faulty(const std::string& device, const std::string& fault, const std::string& remedy) {
  Port port;
  port.device = device;
  port.fault = fault;
  port.remedy = remedy;
  return port;
}

void add_ports(const Library& verbs, ibv_device* device, std::vector<Port>* ports) {
  const std::string name = device->name;
  if (device->transport_type == IBV_TRANSPORT_IWARP)
    return ports->push_back(faulty(name, "iWARP connects by rdma_cm alone, which this transport does not use", ""));
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
    for (const Gid& one : port.gids) {
      if (std::to_string(one.index) == wanted) return *gid = one, true;
    }
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

Device describe_device(const Port& port) {
  Device device;
  device.transport = "verbs";
  device.name = port.name();
  device.can.max_header = kHeaderMax;
  device.can.max_inline = device.can.max_lent = kPayloadMax;
  device.can.max_put = device.can.max_get = std::min(std::max<std::uint64_t>(port.max_message, 1), kMessageMost);
  device.can.needs_registration = true;
  device.costs.overhead_ns = port.software ? 3000 : 300;
  device.costs.latency_ns = port.software ? 10000 : 1500;
  device.costs.bytes_per_ns = std::max(port.bytes_per_ns, 0.1);
  device.costs.registration_ns = port.software ? 20000 : 5000;
  return device;
}

std::string in_words(const Port& port, const Gid& gid) {
  std::ostringstream words;
  words << (port.software ? "soft RoCE, " : port.ethernet ? "RoCE, " : "InfiniBand, ");
  if (!port.ethernet) words << "LID " << port.lid << ", ";
  words << "GID " << gid.index << " " << text(gid) << ", " << port.bytes_per_ns * 8 << " Gb/s";
  return words.str();
}

/// A part of +verbs-devices.
struct Selector {
  std::string text;
  bool met = false;
  bool fits(const Port& port) {
    const bool is = text == port.device || text == port.name();
    met |= is;
    return is;
  }
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
  return std::string(address) + (gid.type == Gid::Type::roce2 ? " (v2)" : gid.type == Gid::Type::roce1 ? " (v1)" : "");
}

std::vector<Port> list_ports(std::string* why_none, std::string* remedy) {
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
  for (int i = 0; devices != nullptr && i < count; ++i) add_ports(verbs, devices[i], &ports);
  if (devices != nullptr) verbs.free_device_list(devices);
  *why_none = "libibverbs knows none of the kernel's devices";
  *remedy = "apt install ibverbs-providers; modprobe ib_uverbs";
  return ports;
}

std::vector<Choice> choose(const std::vector<Port>& ports, const std::string& wanted, const std::string& gid) {
  std::vector<Selector> selectors = read_selectors(wanted);
  std::vector<Choice> choices;
  bool chosen = false;
  for (const Port& port : ports) {
    Choice choice{port, {}, describe_device(port)};
    Device& device = choice.device;
    const bool selected =
        std::count_if(selectors.begin(), selectors.end(), [&](Selector& selector) { return selector.fits(port); }) > 0;
    device.remedy = port.remedy;
    if (!port.fault.empty()) {
      device.detail = port.fault;
    } else if (!port.active) {
      device.detail = "the port is down";
      device.remedy = port.ethernet ? "ip link set the interface of " + port.device + " up" : "start a subnet manager";
    } else if (!choose_gid(port, gid, &choice.gid, &device.detail)) {
      device.remedy = gid.empty() ? "ip address add an address to its interface" : "leave +verbs-gid out";
    } else if (!selectors.empty() ? !selected : chosen) {
      device.detail = in_words(port, choice.gid) +
                      (selectors.empty() ? ": another port is used" : ": is not among +verbs-devices " + wanted);
      device.remedy = "+verbs-devices " + (selectors.empty() ? "" : wanted + ",") + port.name();
    } else {
      device.usable = chosen = true;
      device.detail = in_words(port, choice.gid);
    }
    choices.push_back(std::move(choice));
  }
  for (const Selector& selector : selectors) {
    if (selector.met) continue;
    Choice none;
    none.port.device = selector.text;
    none.device = describe_device(none.port);
    none.device.detail = "+verbs-devices names it, and there is no such port; there are:";
    for (const Port& port : ports) none.device.detail += " " + port.name();
    none.device.remedy = "ibv_devices shows what is there";
    choices.push_back(std::move(none));
  }
  return choices;
}

std::vector<Choice> choices_for(const ucx::OptionText& option) {
  const auto said = [&](const char* name) { return option ? option(name) : std::string(); };
  std::string why_none, remedy;
  const std::vector<Port> ports = list_ports(&why_none, &remedy);
  if (!ports.empty()) return choose(ports, said("+verbs-devices"), said("+verbs-gid"));
  Choice none;
  none.port.device = "RDMA";
  none.device = describe_device(none.port);
  none.device.detail = why_none;
  none.device.remedy = remedy;
  return {none};
}

Result<int> read_number(const std::string& name, const std::string& text, int most, int otherwise) {
  if (text.empty()) return otherwise;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= most) return value;
  return Status::failure(name + " wants a number from 0 to " + std::to_string(most) + ", not \"" + text + "\"");
}

}  // namespace periapt::verbs
