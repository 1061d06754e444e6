// What the command line says about the network: `+transports tcp,shm`, `+rendezvous-min 64K`, `+explain-transport` ...,
// and the options that transports declare, those that are loaded at run time included: `+net-devices eth0`. An option
// that looks like one of these and is none is refused, with the nearest one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "machine/gpu/couriers.h"
#include "machine/layer/transports.h"
#include "machine/ucx-like/context.h"

namespace periapt::machine {

struct NetOptions {
  std::vector<const ucx::TransportFactory*> known = machine::transports();  ///< with those of +transport-path
  static constexpr int kWorkersMax = 16;  ///< their addresses must fit what a process may tell at start-up
  std::string transports;                 ///< +transports: only these; empty: all that are usable
  bool no_shared_memory = false;          ///< +no-shared-memory: processes of one host don't share message memory
  bool explain = false;                   ///< +explain-transport
  bool verbose = false;                   ///< +verbose
  int workers = 0;                        ///< +workers: of a process; 0: chosen from its size
  ucx::Limits limits;  ///< +eager-copy-max, +rendezvous-min, +credit-bytes, +unexpected-bytes, +registrations
  std::map<std::string, std::string> others;  ///< "+net-devices", "+rendezvous" ...: by name

  ucx::OptionText texts() const;  ///< `others`
  /// Are processes of one host to talk through a transport, as if they were on different ones?
  bool apart() const;
  /// May processes of one host copy from each other by the kernel, where it lets them? (+shm-cma off)
  bool kernel_copies() const;
  /// +gpu-courier on or off: do couriers (machine/gpu/couriers.h) take small messages of GPUs?
  gpu::CourierUse gpu_courier() const { return courier_use(texts()); }
  static gpu::CourierUse courier_use(const ucx::OptionText& texts);
};

/// Takes them out of argv, which stays null-terminated, after loading the transports of +transport-path.
Result<NetOptions> take_net_options(int& argc, char** argv);
/// The same with these transports, loading none.
Result<NetOptions> take_net_options(int& argc, char** argv, std::vector<const ucx::TransportFactory*> known);
/// The names of those that are about the network, without plus signs.
void add_net_options(std::vector<std::string_view>& names);

/// Whether each option of these transports has a name of its own, that no other transport, the network, or the layout
/// of a run has. The failure names both.
Status check_option_names(const std::vector<const ucx::TransportFactory*>& transports);

}  // namespace periapt::machine
