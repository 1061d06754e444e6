#include "machine/ucx-like/device_ports.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "base/error_text.h"
#include "base/topology.h"
#include "machine/ucx-like/loopback.h"

namespace periapt::ucx {
namespace {

// What decides which device carries ordered messages, when no order was given.
double small_message_ns(const Device& device) { return device.costs.overhead_ns + device.costs.latency_ns; }

}  // namespace

std::string name_of(const DevicePort& port) { return port.device.transport + "/" + port.device.name; }

Buffer allocate_plain(std::uint64_t size) {
  auto* bytes = static_cast<std::byte*>(std::malloc(size == 0 ? 1 : size));
  return {bytes, size, [](void*, void* given) { std::free(given); }, nullptr};
}

double DevicePort::distance_to(const std::string& gpu) {
  if (gpu.empty() || device.folder.empty()) return 0;
  for (const auto& [known, distance] : distances_) {
    if (known == gpu) return distance;
  }
  return distances_.emplace_back(gpu, topology::distance_between(device.folder, gpu)).second;
}

DevicePorts::~DevicePorts() {
  close();
  if (epoll_ >= 0) ::close(epoll_);
}

void DevicePorts::close() {
  for (auto& port : ports_) {
    port->registrations.reset();
    port->transport.reset();
  }
}

Status DevicePorts::open(Receiver& receiver) {
  const ContextRequest& asked = context_.request();
  OpenRequest request;
  request.receiver = &receiver;
  request.self = self_;
  request.secret = asked.secret;
  request.host = asked.host;
  request.one_host = asked.one_host;
  request.cpus = asked.cpus;
  request.number_on_host = asked.number_on_host;
  request.option = asked.option;
  auto open = [&](const TransportFactory& factory, Device& device) {
    Result<std::unique_ptr<Transport>> opened = factory.open(device, request);
    if (!opened.ok()) {
      device.usable = false;
      device.detail = "could not be opened: " + opened.message();
      return;
    }
    auto port = std::make_unique<DevicePort>();
    port->transport = std::move(*opened);
    port->device = port->transport->device();
    port->loopback = &factory == &kLoopback;
    port->registrations = std::make_unique<Registrations>(
        *port->transport, asked.limits.keep_registrations ? asked.limits.registrations : 0);
    ports_.push_back(std::move(port));
  };
  for (Device& device : devices_) {
    for (const TransportFactory* factory : asked.factories) {
      if (device.usable && device.transport == factory->name) open(*factory, device);
    }
  }
  if (ports_.empty()) return Status::failure("no transport could be opened:" + unused_devices());
  if (asked.transports.empty()) {
    std::stable_sort(ports_.begin(), ports_.end(), [](const auto& a, const auto& b) {
      if (a->can().reach != b->can().reach) return a->can().reach < b->can().reach;
      return small_message_ns(a->device) < small_message_ns(b->device);
    });
  }
  Device loopback = kLoopback.probe(request).front();
  open(kLoopback, loopback);
  std::rotate(ports_.begin(), ports_.end() - 1, ports_.end());
  for (std::size_t i = 0; i < ports_.size(); ++i) ports_[i]->number = static_cast<unsigned>(i);
  for (auto& port : ports_) {
    if (!port->loopback) polled_.push_back(port->transport.get());
  }
  read_costs();
  Result<unsigned> ways =
      ways_by_hand(context_.request().option ? context_.request().option("+rendezvous") : std::string());
  if (ways) forced_ways_ = *ways;
  return ways.status();
}

std::string DevicePorts::unused_devices() const {
  std::string unused;
  for (const Device& device : devices_) {
    if (!device.usable) unused += "\n  not used: " + describe(device);
  }
  return unused;
}

DevicePort* DevicePorts::of(Transport& transport) const {
  for (auto& port : ports_) {
    if (port->transport.get() == &transport) return port.get();
  }
  return nullptr;
}

// ---- waiting

void DevicePorts::poll(Transport& transport) {
  if (std::find(polled_.begin(), polled_.end(), &transport) == polled_.end()) polled_.push_back(&transport);
}

// One descriptor is waited for itself: an epoll around it would be told of each arrival, at the cost of the sender.
int DevicePorts::wait_fd() const {
  if (std::exchange(waits_looked_up_, true)) return wait_fd_;
  std::vector<int> all;
  for (const auto& port : ports_) {
    if (port->loopback) continue;  // only this thread puts something there
    all.push_back(port->transport->wait_fd());
    if (all.back() < 0) return -1;
  }
  if (all.size() == 1) return wait_fd_ = all.front();
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  for (int fd : all) {
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) return -1;
  }
  return wait_fd_ = epoll_;
}

bool DevicePorts::arm() {
  return std::all_of(ports_.begin(), ports_.end(), [](auto& port) { return port->transport->arm(); });
}

void DevicePorts::disarm() {
  for (auto& port : ports_) port->transport->disarm();
}

// ---- memory

Buffer DevicePorts::allocate(std::uint64_t size) {
  for (auto& port : ports_) {
    if (Buffer offered = port->transport->allocate(size)) return offered;
  }
  return allocate_plain(size);
}

void DevicePorts::invalidate(std::span<const std::byte> bytes) {
  for (auto& port : ports_) port->registrations->invalidate(bytes.data(), bytes.size());
}

// ---- the cost file: a line for each device, way and size

void DevicePorts::read_costs() {
  std::ifstream file(context_.request().cost_file);
  for (std::string line; std::getline(file, line);) {
    for (auto& port : ports_) port->times.read_line(name_of(*port), line);
  }
}

Status DevicePorts::keep_costs() {
  const std::string& path = context_.request().cost_file;
  bool changed = false;
  for (auto& port : ports_) changed |= port->times.changed();
  if (path.empty() || !changed || std::exchange(tried_to_keep_costs_, true)) return {};
  // What others have measured for devices that are not here stays.
  std::string text;
  std::ifstream old(path);
  for (std::string line; std::getline(old, line);) {
    bool ours = false;
    for (auto& port : ports_) ours |= line.starts_with(name_of(*port) + " ");
    if (!ours && !line.empty()) text += line + "\n";
  }
  for (auto& port : ports_) {
    if (!port->loopback) text += port->times.lines(name_of(*port));
  }
  // Many processes end at the same time: each replaces the file as a whole.
  std::string mine = path + "." + std::to_string(self_);
  std::ofstream file(mine, std::ios::trunc);
  file << text;
  file.close();
  if (file && std::rename(mine.c_str(), path.c_str()) == 0) return {};
  const std::string why = error_text();
  std::remove(mine.c_str());
  return Status::failure("what was measured of ways for large messages could not be kept in " + path + ": " + why);
}

}  // namespace periapt::ucx
