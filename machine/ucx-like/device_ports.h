// DevicePorts: the devices of this process that a worker has opened, in the order of preference; sleeping on all of
// them; and the file that what was measured of them is kept in.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "machine/ucx-like/context.h"
#include "machine/ucx-like/device_port.h"

namespace periapt::ucx {

class DevicePorts {
 public:
  DevicePorts(Context& context, PeerId self) : context_(context), self_(self), devices_(context.devices()) {}
  ~DevicePorts();
  DevicePorts(const DevicePorts&) = delete;
  DevicePorts& operator=(const DevicePorts&) = delete;

  /// Opens all that is usable. Fails when nothing is.
  Status open(Receiver& receiver);
  /// Closes the transports: nothing arrives any more, and no lent memory is read.
  void close();

  std::size_t size() const { return ports_.size(); }
  auto begin() const { return ports_.begin(); }
  auto end() const { return ports_.end(); }
  DevicePort* of(Transport& transport) const;
  /// The context's, and of those that could not be opened here the reason.
  const std::vector<Device>& devices() const { return devices_; }
  /// The same as lines of text; empty: all are used.
  std::string unused_devices() const;
  /// Of those that a peer's devices have for large messages, as bits: what `+rendezvous` allows. By data where they do
  /// not have what it names.
  unsigned allowed_ways(const Plan& plan) const {
    if (forced_ways_ == 0) return plan.ways;
    const unsigned allowed = forced_ways_ & plan.ways;
    return allowed != 0 ? allowed : bit_of(LargeWay::data);
  }
  bool ways_are_forced() const { return forced_ways_ != 0; }

  /// Those that progress() asks: the loopback from its first use on.
  const std::vector<Transport*>& polled() const { return polled_; }
  void poll(Transport& transport);
  int wait_fd() const;
  bool arm();
  void disarm();

  Buffer allocate(std::uint64_t size);
  void invalidate(std::span<const std::byte> bytes);

  void read_costs();
  Status keep_costs();

 private:
  Context& context_;
  const PeerId self_;
  std::vector<Device> devices_;
  std::vector<std::unique_ptr<DevicePort>> ports_;
  std::vector<Transport*> polled_;
  unsigned forced_ways_ = 0;  ///< +rendezvous; 0: free choice
  bool tried_to_keep_costs_ = false;
  mutable int epoll_ = -1;  ///< around the descriptors of several transports
  mutable int wait_fd_ = -1;
  mutable bool waits_looked_up_ = false;
};

/// "tcp/eth0".
std::string name_of(const DevicePort& port);
/// Bytes from malloc.
Buffer allocate_plain(std::uint64_t size);

}  // namespace periapt::ucx
