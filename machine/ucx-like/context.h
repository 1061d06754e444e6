// Context: which transports and devices a process uses, the limits of the engine, and what was measured about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "machine/ucx-like/device_memory.h"
#include "machine/ucx-like/transport.h"

namespace periapt::ucx {

/// Thresholds and bounds. What is 0 is chosen from measured costs.
struct Limits {
  std::uint64_t eager_copy_max = 0;           ///< above: sent from where it lies
  std::uint64_t rendezvous_min = 0;           ///< from here on by rendezvous
  std::uint64_t credit_bytes = 256 << 10;     ///< eager bytes a peer may have at a receiver that it has not taken
  std::uint64_t unexpected_bytes = 64 << 20;  ///< all peers together; credits shrink when it gets tight
  std::uint64_t registrations = 1024;         ///< that are kept at most, if they are kept
  /// Memory that was lent stays registered for the next time. Right only when Worker::invalidate() hears of memory that
  /// is freed or unmapped; memory from register_memory() is registered as long as its MemoryPtr lives, in any case.
  bool keep_registrations = false;
};

struct ContextRequest {
  std::vector<const TransportFactory*> factories;  ///< those of machine/layer/transports.cpp, or a test's
  std::string transports;  ///< "+transports tcp,shm": only these, in this order; empty: all that are usable
  PeerId self = 0;
  std::string host;
  bool one_host = false;   ///< no worker of the job is on another one
  std::vector<int> cpus;   ///< those that PEs run on; empty: any that this process may use
  int number_on_host = 0;  ///< of this process among the job's
  std::vector<std::byte> secret;
  Limits limits;
  std::function<std::string(const std::string& name)> option;
  MakeDeviceMemory device_memory;  ///< empty: there is no memory but the host's
  std::string cost_file;           ///< where measured costs are kept; empty: nowhere
};

/// "tcp/eth0: is down, or has no carrier (ip link set eth0 up)".
std::string describe(const Device& device);

/// Whether what is asked for makes sense: names of transports, options of the engine and of each transport. Opens
/// nothing.
Status check_request(const ContextRequest& request);

class Context {
 public:
  /// Probes all, keeps what is usable. Fails when nothing is, or for a transport name that is not known (with the
  /// nearest).
  static Result<std::unique_ptr<Context>> create(ContextRequest request);
  virtual ~Context() = default;
  /// All that were found, usable or not: for +verbose and the doctor.
  virtual const std::vector<Device>& devices() const = 0;
  virtual const ContextRequest& request() const = 0;
};

}  // namespace periapt::ucx
