// What the command line says about the network: `+transports tcp,shm`, `+net-devices eth0`, `+rendezvous-min 64K`,
// `+explain-transport` ... An option that looks like one of these and is none is refused, with the nearest one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "machine/ucx-like/context.h"

namespace periapt::machine {

struct NetOptions {
  static constexpr int kWorkersMax = 16;  ///< their addresses must fit what a process may tell at start-up
  std::string transports;                 ///< +transports: only these; empty: all that are usable
  bool no_shared_memory = false;          ///< +no-shared-memory: processes of one host don't share message memory
  bool explain = false;                   ///< +explain-transport
  bool verbose = false;                   ///< +verbose
  int workers = 0;                        ///< +workers: of a process; 0: chosen from its size
  ucx::Limits limits;  ///< +eager-copy-max, +rendezvous-min, +credit-bytes, +unexpected-bytes, +registrations
  std::map<std::string, std::string> others;  ///< "+net-devices" ...: by name, for the transports

  /// Are processes of one host to talk through a transport, as if they were on different ones?
  bool apart() const;
  /// May processes of one host copy from each other by the kernel, where it lets them? (+shm-cma off)
  bool kernel_copies() const;
};

/// Takes them out of argv; argv stays null-terminated.
Result<NetOptions> take_net_options(int& argc, char** argv);
/// The names of those that are about the network, without plus signs.
void add_net_options(std::vector<std::string_view>& names);

}  // namespace periapt::machine
