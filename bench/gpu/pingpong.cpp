// gpu_pingpong: latency and bandwidth between memory of GPUs of two processes of this host, through the engine. For
// each vendor whose GPUs are here, and each way there is: mapped and copied once, by copy engines and, where they are
// small, by the courier; through pinned memory over shm and tcp.
//
//   gpu_pingpong [LARGEST] [WAY...]     e.g. gpu_pingpong 1M shm-mapped
//
// The bare figure is that of one copy of the driver's between the same two GPUs, with its event, in one process.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "bench/gpu/pair.h"

namespace periapt::bench {
namespace {

using gpu::MemoryType;

unsigned rounds_for(std::uint64_t size) {
  return static_cast<unsigned>(std::clamp<std::uint64_t>((std::uint64_t{2} << 30) / (size + (1 << 20)), 10, 1000));
}

double median(std::vector<double>& times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

// One way, in us: the median of half round trips.
double one_way(Pair& pair, MemoryType from, MemoryType to, std::byte* source, std::byte* target, std::uint64_t size) {
  std::vector<double> times;
  const unsigned rounds = rounds_for(size), warm = 5;
  pair.barrier();
  for (unsigned round = 0; round < rounds + warm; ++round) {
    const std::uint64_t began = clock::now_ns();
    if (pair.rank() == 0) {
      pair.send(from, source, size, 1);
      pair.receive(to, target, size, 2);
    } else {
      pair.receive(to, target, size, 1);
      pair.send(from, source, size, 2);
    }
    if (round >= warm) times.push_back(static_cast<double>(clock::now_ns() - began) / 2000);
  }
  return median(times);
}

// Several messages under way, to the second process or both ways: GB/s.
double stream(Pair& pair, std::byte* source, std::byte* target, std::uint64_t size, bool both) {
  constexpr unsigned kWindow = 4;
  const unsigned rounds = std::max(2u, rounds_for(size) / kWindow);
  std::vector<double> rates;
  for (unsigned round = 0; round < rounds + 2; ++round) {
    pair.barrier();
    const std::uint64_t began = clock::now_ns();
    std::vector<ucx::RequestPtr> requests;
    for (unsigned i = 0; i < kWindow; ++i) {
      const ucx::MemoryKind kind = pair.kind_of(MemoryType::device);
      if (both || pair.rank() == 1) requests.push_back(pair.worker().tag_receive_into(kind, {target, size}, i));
      if (both || pair.rank() == 0) requests.push_back(pair.peer().tag_send_from(kind, {source, size}, i));
    }
    for (const ucx::RequestPtr& request : requests) pair.wait(request);
    const auto ns = static_cast<double>(clock::now_ns() - began);
    if (round >= 2) rates.push_back(static_cast<double>(size * kWindow * (both ? 2 : 1)) / ns);
  }
  return median(rates);
}

// The driver's own copy between the two GPUs, begun and looked for.
double bare(Pair& pair, const std::byte* source, std::uint64_t size) {
  gpu::Driver& driver = pair.driver();
  const int other = static_cast<int>(driver.gpus().size()) - 1;
  Result<std::byte*> target = driver.allocate(other, MemoryType::device, size);
  Result<gpu::Stream> stream = driver.make_stream(other);
  Result<gpu::Event> event = driver.make_event(other);
  if (!target || !stream || !event) return 0;
  if (other != 0) static_cast<void>(driver.reach(other, 0));
  std::vector<double> times;
  for (unsigned round = 0; round < rounds_for(size) + 5; ++round) {
    const std::uint64_t began = clock::now_ns();
    Status given = driver.copy(*stream, *target, source, size);
    if (given) given = driver.record(*event, *stream);
    Result<bool> reached = false;
    while (given && reached && !*reached) reached = driver.reached(*event);
    if (round >= 5) times.push_back(static_cast<double>(clock::now_ns() - began) / 1000);
  }
  static_cast<void>(driver.free(other, MemoryType::device, *target));
  driver.destroy(*event);
  driver.destroy(*stream);
  return median(times);
}

int pingpong(Pair& pair) {
  const std::uint64_t largest = pair.way().largest;
  std::byte *source = pair.make(MemoryType::device, largest), *target = pair.make(MemoryType::device, largest);
  std::byte* host = pair.make(MemoryType::pinned, largest);
  pair.fill(MemoryType::device, source, largest, 1);
  const bool shows = pair.rank() == 0;
  if (shows) {
    std::printf("%10s %12s %12s %12s %12s %12s %12s %12s\n", "bytes", "bare us", "D D us", "D H us", "H D us",
                "D D GB/s", "stream GB/s", "both GB/s");
  }
  for (std::uint64_t size = 8; size <= largest; size *= size < 8192 ? 8 : 4) {
    const double copy = shows ? bare(pair, source, size) : 0;
    const double device = one_way(pair, MemoryType::device, MemoryType::device, source, target, size);
    const double out = one_way(pair, MemoryType::device, MemoryType::pinned, source, host, size);
    const double in = one_way(pair, MemoryType::pinned, MemoryType::device, host, target, size);
    const double rate = stream(pair, source, target, size, false);
    const double both = stream(pair, source, target, size, true);
    if (!shows) continue;
    std::printf("%10llu %12.2f %12.2f %12.2f %12.2f %12.2f %12.2f %12.2f\n", static_cast<unsigned long long>(size),
                copy, device, out, in, static_cast<double>(size) / device / 1000, rate, both);
    std::fflush(stdout);
  }
  pair.barrier();
  return 0;
}

struct Named {
  const char* name;
  Way way;
};
const std::uint64_t kLargest = Way().largest;
const Named kWays[] = {{"shm-mapped", {"shm", true}},
                       {"shm-courier", {"shm", true, kLargest, true}},
                       {"shm-staged", {"shm", false}},
                       {"tcp-staged", {"tcp", false}}};

}  // namespace
}  // namespace periapt::bench

int main(int argc, char** argv) {
  namespace bench = periapt::bench;
  const bench::Parts parts = {{"pingpong", bench::pingpong}};
  if (const std::optional<int> status = bench::other_of_pair(parts)) return *status;
  std::uint64_t largest = bench::Way().largest;
  std::vector<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    char* end = nullptr;
    const std::uint64_t number = std::strtoull(argv[i], &end, 10);
    if (end == argv[i]) {
      wanted.emplace_back(argv[i]);
    } else {
      largest = number << (*end == 'K' ? 10 : *end == 'M' ? 20 : 0);
    }
  }
  int status = 0;
  bool found = false;
  for (const periapt::gpu::Vendor& vendor : periapt::gpu::vendors()) {
    if (!vendor.driver()) {
      std::printf("%s: %s\n", vendor.title, vendor.driver().message().c_str());
      continue;
    }
    found = true;
    for (bench::Named named : bench::kWays) {
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), named.name) == wanted.end()) continue;
      named.way.largest = largest;
      std::printf("%s, %zu GPUs, %s\n", vendor.driver().value()->gpus()[0].name.c_str(),
                  vendor.driver().value()->gpus().size(), named.name);
      status = std::max(status, bench::run_pair(parts, "pingpong", vendor, named.way));
    }
  }
  if (!found) {
    std::printf("skipped: no GPU here\n");
    return 77;
  }
  return status;
}
