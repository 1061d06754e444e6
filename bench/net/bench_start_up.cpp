// One process of the start-up benchmark (bench/start_up runs it): how long it takes to find the others, to meet at a
// fence, and to read a value of each. Process 0 prints the longest of each over all processes, in milliseconds.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/clock.h"
#include "machine/bootstrap/world.h"

using periapt::bootstrap::World;

namespace {

constexpr int kFences = 9;
constexpr std::size_t kAddressBytes = 200;  // what a process tells of its transports

double ms_since(std::uint64_t begin) { return static_cast<double>(periapt::clock::now_ns() - begin) * 1e-6; }

// The largest of all processes' figures.
double longest(World& world, const std::string& name, double own) {
  if (!world.put(name, std::to_string(own)) || !world.fence()) return -1;
  for (int rank = 0; rank < world.size(); ++rank) {
    auto other = world.get(rank, name);
    own = other ? std::max(own, std::stod(*other)) : -1;
  }
  return own;
}

}  // namespace

int main() {
  std::uint64_t begin = periapt::clock::now_ns();
  auto found = World::find();
  if (!found) return std::fprintf(stderr, "%s\n", found.message().c_str()), 1;
  World& world = **found;
  double find_ms = ms_since(begin);

  std::vector<double> fences;
  for (int i = 0; i < kFences; ++i) {
    begin = periapt::clock::now_ns();
    if (!world.fence()) return 1;
    fences.push_back(ms_since(begin));
  }
  std::sort(fences.begin(), fences.end());

  if (!world.put("address", std::string(kAddressBytes, 'x')) || !world.fence()) return 1;
  begin = periapt::clock::now_ns();
  for (int rank = 0; rank < world.size(); ++rank) {
    if (!world.get(rank, "address")) return 1;
  }
  double read_ms = ms_since(begin);

  find_ms = longest(world, "find", find_ms);
  double fence_ms = longest(world, "fences", fences[kFences / 2]);
  read_ms = longest(world, "read", read_ms);
  if (world.rank() == 0) std::printf("start-up %d %.3f %.3f %.3f\n", world.size(), find_ms, fence_ms, read_ms);
  world.finalize();
  return 0;
}
