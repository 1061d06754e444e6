// Wire: transports between workers of one process, for tests of the engine. Nothing happens but in progress(), and what
// happens there is drawn from a seed: a test that fails prints it, and runs again the same way.
//
//   Wire wire(seed);                       one network
//   wire.settings.refuse = 0.3;            a third of all requests are answered no_resource
//   auto context = wire.context(7);        for worker 7; as many as one likes
//   wire.lose(7, 9, "cable cut");          both sides are told, in their next progress()
#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>

#include "machine/ucx-like/context.h"
#include "machine/ucx-like/transport.h"

namespace periapt::ucx::testing {

class WireTransport;

struct WireSettings {
  Capabilities can;
  Costs costs;
  unsigned devices = 1;
  double refuse = 0;        ///< share of calls that are answered no_resource
  unsigned delay_max = 0;   ///< rounds of progress() that something may take
  unsigned burst_max = 16;  ///< messages of a link that one progress() delivers at most
  double place = 0.5;       ///< share of lent and owned messages whose bytes come after their header

  WireSettings() {
    can.reach = Reach::network;
    can.max_header = 64;
    can.max_inline = 4096;
    can.max_lent = ~std::size_t{0};
  }
};

class Wire {
 public:
  explicit Wire(std::uint64_t seed, WireSettings settings = {}) : settings(settings), random_(seed) {}
  Wire(const Wire&) = delete;

  WireSettings settings;  ///< may change at any time, but for what devices can do

  std::unique_ptr<Context> context(PeerId self, Limits limits = {}, const std::string& transports = {});
  /// Both workers lose each other, on all devices.
  void lose(PeerId a, PeerId b, const std::string& reason);
  /// A worker's transport itself.
  Transport* transport(PeerId peer, unsigned device = 0);
  /// Messages that wait to be delivered.
  std::size_t in_flight() const;
  /// Those from one peer to another: their headers, and how many bytes follow.
  struct InFlight {
    std::span<const std::byte> header;
    std::size_t payload;
  };
  std::vector<InFlight> in_flight(PeerId from, PeerId to) const;

  bool chance(double share) { return share > 0 && std::uniform_real_distribution<>(0, 1)(random_) < share; }
  std::uint64_t up_to(std::uint64_t most) {
    return most == 0 ? 0 : std::uniform_int_distribution<std::uint64_t>(0, most)(random_);
  }

  struct Region {
    std::byte* address;
    std::uint64_t size;
  };
  std::map<std::string, std::string> options;  ///< that workers are started with
  std::string cost_file;
  MakeDeviceMemory device_memory;
  std::uint64_t now = 0;  ///< calls of progress() so far
  std::map<std::pair<PeerId, unsigned>, WireTransport*> transports;
  std::map<std::uint64_t, Region> regions;
  std::uint64_t next_region = 1;
  std::uint64_t registrations = 0;  ///< made so far
  std::uint64_t gets = 0, puts = 0, directs = 0;
  std::map<unsigned, std::uint64_t> bytes_of_device;  ///< moved by lent messages, puts and gets

 private:
  std::mt19937_64 random_;
};

}  // namespace periapt::ucx::testing
