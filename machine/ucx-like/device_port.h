// DevicePort: a device of this process, opened for one worker; and the memory of an operation that ports have
// registered.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
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
  /// As topology::distance_between() says, which is asked once about each GPU.
  double distance_to(const std::string& gpu);

 private:
  std::vector<std::pair<std::string, double>> distances_;  ///< by the GPU's folder
};

/// Offers memory of a GPU to devices: the nearest one first, until one has taken it and the next one is farther.
/// `folder()` is the GPU's in /sys, asked for where there are several devices; `port_of(item)` is an item's device,
/// `take(item)` whether it has taken it.
template <class Item, class Folder, class PortOf, class Take>
void offer_to_nearest(std::vector<Item> items, Folder folder, PortOf port_of, Take take) {
  const std::string gpu = items.size() < 2 ? std::string() : folder();
  const auto distance = [&](const Item& item) { return port_of(item).distance_to(gpu); };
  std::stable_sort(items.begin(), items.end(),
                   [&](const Item& one, const Item& other) { return distance(one) < distance(other); });
  double taken_at = -1;
  for (const Item& item : items) {
    const double here = distance(item);
    if (taken_at >= 0 && here > taken_at) return;
    if (take(item)) taken_at = here;
  }
}

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
