// The providers of libfabric on this host: which can carry a job, which not and why, and which was chosen.
//
// Without "+ofi-provider cxi/cxi0" the first that drives an adapter is used, in libfabric's order, which is that of
// speed; those that are software (tcp, udp, shm ...) only when they are named, since Periapt's own transports are made
// for that.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "machine/ofi/library.h"
#include "machine/ucx-like/transport.h"

namespace periapt::ofi {

/// A provider on one domain (adapter or interface), as libfabric describes it.
struct Provider {
  std::string provider;      ///< "tcp;ofi_rxm"
  std::string domain;        ///< "eth0"
  std::uint32_t format = 0;  ///< of its addresses
  bool memory = false;       ///< puts and gets that say when they are there
  bool software = false;
  bool loopback = false;
  std::uint64_t max_message = 0;
  bool registers_all = false;  ///< memory of this side must be registered as well
  double bytes_per_ns = 0;     ///< 0: it does not say
  std::shared_ptr<fi_info> info = {};

  std::string name() const { return provider + "/" + domain; }
  bool reaches_this_host_only() const { return provider.starts_with("shm"); }
};

/// Is it a provider of software? By its name.
bool is_software(const std::string& provider);

struct Choice {
  Provider provider;
  ucx::Device device;
};
/// One entry a provider and domain that is wanted, or one for a wish that none meets. `wanted` is "cxi", "tcp/eth0" or
/// empty. A pure function.
std::vector<Choice> choose(const std::vector<Provider>& providers, const std::string& wanted, bool one_host);

/// All that can carry messages here. `why_none`, with what would help, when there is none.
std::vector<Provider> list_providers(bool named, std::string* why_none, std::string* remedy);

/// The choices for a run. One that is not usable when there is none at all.
std::vector<Choice> choices_for(const ucx::OpenRequest& request);

}  // namespace periapt::ofi
