#include "machine/ofi/providers.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "machine/ofi/wire.h"

namespace periapt::ofi {
namespace {

using ucx::Device;

constexpr std::uint64_t kMessageMost = std::uint64_t{1} << 30;

// ---- what libfabric says

using Info = std::unique_ptr<fi_info, decltype(&::fi_freeinfo)>;

/// What an endpoint must be able to do. `memory`: puts and gets as well, whose end means that the bytes are there.
Info hints(const Library& ofi, bool memory) {
  Info wanted(ofi.dupinfo(nullptr), ofi.freeinfo);
  if (wanted == nullptr) return wanted;
  wanted->caps = FI_MSG | (memory ? FI_RMA : 0);
  wanted->mode = FI_CONTEXT | FI_CONTEXT2;
  wanted->ep_attr->type = FI_EP_RDM;
  wanted->domain_attr->threading = FI_THREAD_DOMAIN;
  wanted->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  wanted->domain_attr->resource_mgmt = FI_RM_ENABLED;
  wanted->tx_attr->msg_order = wanted->rx_attr->msg_order = FI_ORDER_SAS;
  if (memory) wanted->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
  return wanted;
}

/// Of those that are software, only sockets ends a put or get whose key is dead, always: shm and udp say nothing, and
/// tcp and net lose the ends of what shared the connection that breaks. Messages take the place of puts and gets.
bool ends_what_has_a_dead_key(const std::string& provider) {
  return !is_software(provider) || provider.starts_with("sockets");
}

Provider describe(const fi_info& info, bool memory) {
  Provider provider;
  provider.provider = info.fabric_attr->prov_name;
  provider.domain = info.domain_attr->name;
  provider.format = info.addr_format;
  provider.memory = memory && ends_what_has_a_dead_key(provider.provider);
  provider.software = is_software(provider.provider);
  provider.loopback = provider.domain == "lo";
  provider.max_message = info.ep_attr->max_msg_size;
  provider.registers_all = (info.domain_attr->mr_mode & FI_MR_LOCAL) != 0;
  if (info.nic != nullptr && info.nic->link_attr != nullptr)
    provider.bytes_per_ns = static_cast<double>(info.nic->link_attr->speed) / 8e9;
  return provider;
}

/// libfabric lists a domain once for each of its addresses and ways of progress; the first is its best.
void add_providers(const Library& ofi, bool memory, std::vector<Provider>* providers) {
  const Info wanted = hints(ofi, memory);
  fi_info* first = nullptr;
  if (wanted == nullptr || ofi.getinfo(kVersion, nullptr, nullptr, 0, wanted.get(), &first) != 0) return;
  const Info all(first, ofi.freeinfo);
  for (const fi_info* info = first; info != nullptr; info = info->next) {
    Provider provider = describe(*info, memory);
    const auto same = [&](const Provider& other) { return other.name() == provider.name(); };
    if (std::any_of(providers->begin(), providers->end(), same)) continue;
    provider.info.reset(ofi.dupinfo(info), ofi.freeinfo);
    if (provider.info == nullptr || provider.max_message < kSlotBytes) continue;
    provider.info->tx_attr->op_flags = 0;
    providers->push_back(std::move(provider));
  }
}

// ---- what is wanted

/// "tcp" and "tcp;ofi_rxm" name tcp;ofi_rxm on all domains, "tcp/eth0" on one.
bool fits(const Provider& provider, const std::string& wanted) {
  const std::size_t slash = wanted.find('/');
  const std::string name = wanted.substr(0, slash);
  if (slash != std::string::npos && wanted.substr(slash + 1) != provider.domain) return false;
  return name == provider.provider || name == provider.provider.substr(0, provider.provider.find(';'));
}

Device describe_device(const Provider& provider) {
  Device device;
  device.transport = "ofi";
  device.name = provider.name();
  if (provider.reaches_this_host_only()) device.can.reach = ucx::Reach::same_host;
  device.can.max_header = kHeaderMax;
  device.can.max_inline = device.can.max_lent = kPayloadMax;
  if (provider.memory)
    device.can.max_put = device.can.max_get = std::clamp<std::uint64_t>(provider.max_message, 1, kMessageMost);
  device.can.needs_registration = provider.memory && provider.registers_all;
  device.costs.overhead_ns = provider.software ? 4000 : 400;
  device.costs.latency_ns = provider.software ? 15000 : 1700;
  device.costs.bytes_per_ns = provider.bytes_per_ns > 0 ? provider.bytes_per_ns : provider.software ? 1 : 10;
  device.costs.registration_ns = provider.software ? 1000 : 5000;
  return device;
}

std::string in_words(const Provider& provider) {
  std::ostringstream words;
  words << (provider.software ? "software" : "adapter");
  if (provider.bytes_per_ns > 0) words << ", " << provider.bytes_per_ns * 8 << " Gb/s";
  if (!provider.memory) words << ", messages only";
  return words.str();
}

/// Which is used; nullptr: none. A run on one host uses the loopback interface where the provider is one of sockets.
const Provider* best_of(const std::vector<Provider>& providers, const std::string& wanted, bool one_host) {
  const Provider* best = nullptr;
  for (const Provider& provider : providers) {
    if (wanted.empty() ? provider.software : !fits(provider, wanted)) continue;
    const bool same = best != nullptr && best->provider == provider.provider;
    if (best == nullptr || (same && best->loopback != one_host && provider.loopback == one_host)) best = &provider;
  }
  return best;
}

std::string names_of(const std::vector<Provider>& providers) {
  std::string names;
  for (const Provider& provider : providers) names += " " + provider.name();
  return names;
}

}  // namespace

bool is_software(const std::string& provider) {
  constexpr std::array kSoftware = {"tcp", "net", "udp", "sockets", "shm", "sm2"};
  const std::string base = provider.substr(0, provider.find(';'));
  return std::find(kSoftware.begin(), kSoftware.end(), base) != kSoftware.end();
}

std::vector<Provider> list_providers(bool named, std::string* why_none, std::string* remedy) {
  std::vector<Provider> providers;
  if (!named && !kernel_has_adapters()) {
    *why_none = "the kernel lists no adapter in /sys/class/infiniband or /sys/class/cxi";
    *remedy = "+ofi-provider tcp takes a provider that is software; fi_info shows what there is";
    return providers;
  }
  if (!library()) {
    *why_none = library().message();
    *remedy = "apt install libfabric1, or PERIAPT_LIBFABRIC=<full path of a libfabric.so.1>";
    return providers;
  }
  add_providers(library().value(), true, &providers);
  add_providers(library().value(), false, &providers);
  *why_none = "libfabric has no provider here with reliable datagrams (FI_EP_RDM) whose messages keep their order";
  *remedy = "fi_info -t FI_EP_RDM shows what there is; FI_PROVIDER in the environment may hide some";
  return providers;
}

std::vector<Choice> choose(const std::vector<Provider>& providers, const std::string& wanted, bool one_host) {
  const Provider* best = best_of(providers, wanted, one_host);
  std::vector<Choice> choices;
  for (const Provider& provider : providers) {
    if (!wanted.empty() && !fits(provider, wanted)) continue;
    Choice choice{provider, describe_device(provider)};
    choice.device.usable = &provider == best;
    choice.device.detail = in_words(provider);
    if (!choice.device.usable) {
      const bool asked = provider.software && wanted.empty();
      choice.device.detail += asked ? ": used only when it is named" : ": another is used";
      choice.device.remedy = "+ofi-provider '" + provider.name() + "'";
    }
    choices.push_back(std::move(choice));
  }
  if (best != nullptr || wanted.empty()) return choices;
  Choice none;
  none.provider.provider = wanted;
  none.device = describe_device(none.provider);
  none.device.name = wanted;
  none.device.detail =
      "+ofi-provider names it, and libfabric has no such provider here; there are:" + names_of(providers);
  none.device.remedy = "fi_info shows what there is";
  return {none};
}

std::vector<Choice> choices_for(const ucx::OpenRequest& request) {
  const std::string wanted = request.option ? request.option("+ofi-provider") : std::string();
  std::string why_none, remedy;
  const std::vector<Provider> providers = list_providers(!wanted.empty(), &why_none, &remedy);
  if (!providers.empty()) return choose(providers, wanted, request.one_host);
  Choice none;
  none.device = describe_device(none.provider);
  none.device.name = "libfabric";
  none.device.detail = why_none;
  none.device.remedy = remedy;
  return {none};
}

}  // namespace periapt::ofi
