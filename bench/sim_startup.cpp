// Start-up of up to 10,000 processes, simulated: what a fence costs, and one that brings an address of each process to
// all, when charmrun's hubs carry it (tools/charmrun/hub.h): as a star from charmrun to every host, and as a tree with
// eight hosts below each (++hierarchical-start).
//
//   sim_startup [OPTIONS OF +sim]        default: a network spoken to by TCP: L=20us,o=10us,g=0,G=1.25GB/s
//
// The costs are assumptions, printed with the result; what is computed is how the time grows with the number of
// processes. bench/start_up measures the same for as many as this machine can run.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "machine/sim/machine.h"

namespace {

using namespace periapt::sim;

constexpr int kProcessesAHost = 4;
constexpr int kFanOut = 8;
constexpr std::uint64_t kAddressBytes = 200;
constexpr std::uint64_t kFrameBytes = 24;

// Hosts as hubs: which is above which. The order of numbers is one from the top down.
struct Hubs {
  Hubs(int hosts, int fan_out)
      : below(static_cast<std::size_t>(hosts) + 1), above(below.size(), 0), depth(below.size(), 0) {
    // Hub 0 is charmrun, on a host of its own.
    for (std::size_t hub = 1; hub < below.size(); ++hub) {
      above[hub] = static_cast<int>((hub - 1) / static_cast<std::size_t>(fan_out));
      below[static_cast<std::size_t>(above[hub])].push_back(static_cast<int>(hub));
      depth[hub] = depth[static_cast<std::size_t>(above[hub])] + 1;
    }
  }
  std::vector<std::vector<int>> below;
  std::vector<int> above, depth;
};

// The time until the last process has come out of a fence that all reach at once; `value`: what each has put.
Time fence(const Options& options, const Hubs& hubs, std::uint64_t value) {
  const std::size_t count = hubs.below.size();
  auto topology = Topology::parse(options.topology, static_cast<int>(count));
  if (!topology) return 0;
  Model model(options.costs, std::move(*topology));
  const Time o = options.costs.o;
  std::vector<std::uint64_t> values(count, 0);
  for (std::size_t hub = count; hub-- > 1;) {
    values[hub] += kProcessesAHost * value;
    values[static_cast<std::size_t>(hubs.above[hub])] += values[hub];
  }
  // A hub has heard its own processes, one after another, and then those below.
  std::vector<Time> ready(count, kProcessesAHost * o);
  ready[0] = 0;
  std::vector<std::vector<std::pair<Time, std::size_t>>> arrivals(count);
  for (int depth = *std::max_element(hubs.depth.begin(), hubs.depth.end()); depth >= 0; --depth) {
    std::vector<std::pair<Time, std::size_t>> leave;
    for (std::size_t hub = 0; hub < count; ++hub) {
      if (hubs.depth[hub] != depth) continue;
      std::sort(arrivals[hub].begin(), arrivals[hub].end());
      for (const auto& [at, _] : arrivals[hub]) ready[hub] = std::max(ready[hub], at) + o;
      if (hub != 0) leave.emplace_back(ready[hub] + o, hub);
    }
    std::sort(leave.begin(), leave.end());
    for (const auto& [at, hub] : leave) {
      const int above = hubs.above[hub];
      arrivals[static_cast<std::size_t>(above)].emplace_back(
          model.send(at, static_cast<int>(hub), above, kFrameBytes + values[hub]), hub);
    }
  }
  // Down: everything to each host, from there to each process.
  const std::uint64_t all = kFrameBytes + values[0];
  std::vector<std::pair<Time, std::size_t>> level = {{ready[0], 0}};
  Time last = 0;
  while (!level.empty()) {
    std::vector<std::pair<Time, std::size_t>> sends, next;
    for (const auto& [at, hub] : level) {
      Time clock = at;
      for (int below : hubs.below[hub]) sends.emplace_back(clock += o, static_cast<std::size_t>(below));
      last = std::max(last, clock + kProcessesAHost * o);
    }
    std::sort(sends.begin(), sends.end());
    for (const auto& [at, hub] : sends)
      next.emplace_back(model.send(at, hubs.above[hub], static_cast<int>(hub), all) + o, hub);
    level = std::move(next);
  }
  return last;
}

}  // namespace

int main(int argc, char** argv) {
  auto options = parse_options(argc > 1 ? argv[1] : "L=20us,o=10us,g=0,hop=0,G=1.25GB/s,link-G=1.25GB/s");
  if (!options) return std::fprintf(stderr, "sim_startup: %s\n", options.message().c_str()), 2;
  std::printf("simulated: %d processes a host, L %s, o %s, %.3g GB/s, %llu bytes of address a process\n",
              kProcessesAHost, in_words(options->costs.L).c_str(), in_words(options->costs.o).c_str(),
              1000 / options->costs.G, static_cast<unsigned long long>(kAddressBytes));
  std::printf("%10s %8s %14s %14s %18s %18s\n", "processes", "hosts", "fence, star", "fence, tree", "addresses, star",
              "addresses, tree");
  for (int processes : {16, 64, 256, 1024, 4096, 10000}) {
    const int hosts = (processes + kProcessesAHost - 1) / kProcessesAHost;
    const Hubs star(hosts, hosts), tree(hosts, kFanOut);
    std::printf("%10d %8d %14s %14s %18s %18s\n", processes, hosts, in_words(fence(*options, star, 0)).c_str(),
                in_words(fence(*options, tree, 0)).c_str(), in_words(fence(*options, star, kAddressBytes)).c_str(),
                in_words(fence(*options, tree, kAddressBytes)).c_str());
  }
  return 0;
}
