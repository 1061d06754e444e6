// DevicePort: a device of this process, opened for one worker; and the memory of an operation that ports have
// registered.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "machine/ucx-like/plan.h"
#include "machine/ucx-like/registration.h"
#include "machine/ucx-like/transport.h"

namespace periapt::ucx {

struct DevicePort {
  std::unique_ptr<Transport> transport;
  Device device;
  std::unique_ptr<Registrations> registrations;
  unsigned number = 0;  ///< in the worker's address, and in the order of preference
  WayTimes times;
  bool loopback = false;
  const Capabilities& can() const { return device.can; }
};

/// A piece of memory of this process, at those ports that it was registered with.
class LocalMemory {
 public:
  LocalMemory() = default;
  LocalMemory(const LocalMemory&) = delete;
  LocalMemory& operator=(const LocalMemory&) = delete;
  ~LocalMemory() { release(); }

  /// Its registration with that port, made at the first call. All calls name the same memory.
  Result<Registration*> at(DevicePort& port, std::byte* address, std::uint64_t size, MemoryKind kind) {
    for (auto& [known, registration] : registered_) {
      if (known == &port) return registration;
    }
    Result<Registration*> made = port.registrations->acquire(address, size, kind);
    if (made.ok()) registered_.emplace_back(&port, *made);
    return made;
  }
  void release() {
    for (auto& [port, registration] : registered_) {
      if (port->registrations != nullptr) port->registrations->release(registration);  // null: the worker is ending
    }
    registered_.clear();
  }
  bool empty() const { return registered_.empty(); }
  bool is_known_to(const DevicePort& port) const {
    return std::any_of(registered_.begin(), registered_.end(), [&](const auto& one) { return one.first == &port; });
  }
  auto begin() const { return registered_.begin(); }
  auto end() const { return registered_.end(); }

 private:
  std::vector<std::pair<DevicePort*, Registration*>> registered_;
};

}  // namespace periapt::ucx
