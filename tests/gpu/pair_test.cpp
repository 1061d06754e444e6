// Two processes of this host exchange memory of GPUs through the engine: over each transport, mapped and not. Built
// twice: on fake GPUs, and (gpu_device_pair_test) to be taken to a machine with GPUs, without a compiler.
#include "bench/gpu/pair.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "machine/gpu/imports.h"
#include "tests/gpu/by_hand.h"

namespace periapt::gpu {
namespace {

using bench::Pair;
using bench::Way;
using ucx::Outcome;
using ucx::RequestPtr;

constexpr bool kOnFakes = sizeof(PERIAPT_FAKE_CUDA) > 1;

int faults = 0;
void fault(Pair& pair, const std::string& what) {
  if (++faults < 20) std::fprintf(stderr, "process %d: %s\n", pair.rank(), what.c_str());
}

constexpr MemoryType kAll[] = {MemoryType::host, MemoryType::pinned, MemoryType::device, MemoryType::managed,
                               MemoryType::pool};

// Each sends to the other, from each kind of memory to each, unaligned.
int contents(Pair& pair) {
  const std::uint64_t largest = pair.way().largest;
  struct Memory {
    std::byte *out, *in;
  };
  std::map<MemoryType, Memory> all;
  for (MemoryType kind : kAll) all[kind] = {pair.make(kind, largest + 16), pair.make(kind, largest + 16)};
  unsigned seed = 0;
  for (MemoryType from : kAll) {
    for (MemoryType to : kAll) {
      for (std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{13}, std::uint64_t{4096},
                                 std::uint64_t{65'537}, largest}) {
        for (std::uint64_t offset : {0, 3}) {
          ++seed;
          pair.fill(from, all[from].out + offset, size, 2 * seed + static_cast<unsigned>(pair.rank()));
          pair.fill(to, all[to].in, size + offset + 8, 7);
          pair.barrier();  // the other one reads it where it is
          RequestPtr receive = pair.worker().tag_receive_into(pair.kind_of(to), {all[to].in + offset, size + 8}, seed);
          RequestPtr send = pair.peer().tag_send_from(pair.kind_of(from), {all[from].out + offset, size}, seed);
          pair.wait(receive);
          pair.wait(send);
          if (pair.holds(to, all[to].in + offset, size, 2 * seed + static_cast<unsigned>(1 - pair.rank()))) continue;
          fault(pair, std::string(name_of(from)) + " to " + name_of(to) + ", " + std::to_string(size) + " bytes at " +
                          std::to_string(offset) + ": other contents");
        }
      }
    }
  }
  pair.barrier();
  return faults == 0 ? 0 : 1;
}

// One of 1 GiB from and to each kind of memory, at addresses that are no multiples of anything.
int largest_of_all(Pair& pair) {
  const std::uint64_t size = kOnFakes ? (std::uint64_t{5} << 20) + 7 : (std::uint64_t{1} << 30) + 7;
  unsigned seed = 0;
  for (MemoryType kind : kAll) {
    for (const auto& [from, to] : {std::pair(kind, MemoryType::device), std::pair(MemoryType::device, kind)}) {
      ++seed;
      std::byte *out = pair.make(from, size + 3) + 3, *in = pair.make(to, size + 1) + 1;
      pair.fill(from, out, size, 2 * seed + static_cast<unsigned>(pair.rank()));
      pair.barrier();
      RequestPtr receive = pair.worker().tag_receive_into(pair.kind_of(to), {in, size}, seed);
      RequestPtr send = pair.peer().tag_send_from(pair.kind_of(from), {out, size}, seed);
      pair.wait(receive);
      pair.wait(send);
      if (!pair.holds(to, in, size, 2 * seed + static_cast<unsigned>(1 - pair.rank())))
        fault(pair, std::string(name_of(from)) + " to " + name_of(to) + ": other contents");
      pair.barrier();
      pair.free(from, out - 3);
      pair.free(to, in - 1);
    }
  }
  return faults == 0 ? 0 : 1;
}

// An address that comes back with another allocation must not be read through the old one's mapping.
int freed(Pair& pair) {
  for (unsigned round = 1; round <= 12; ++round) {
    const std::uint64_t size = (round % 3 + 1) * 700'000;
    std::byte *out = pair.make(MemoryType::device, size), *in = pair.make(MemoryType::device, size);
    pair.fill(MemoryType::device, out, size, 2 * round + static_cast<unsigned>(pair.rank()));
    pair.fill(MemoryType::device, in, size, 1000);
    pair.barrier();
    RequestPtr receive = pair.worker().tag_receive_into(pair.kind_of(MemoryType::device), {in, size}, round);
    RequestPtr send = pair.peer().tag_send_from(pair.kind_of(MemoryType::device), {out, size}, round);
    pair.wait(receive);
    pair.wait(send);
    if (!pair.holds(MemoryType::device, in, size, 2 * round + static_cast<unsigned>(1 - pair.rank()))) {
      fault(pair, "round " + std::to_string(round) + ": other contents");
    }
    pair.barrier();
    pair.free(MemoryType::device, out);
    pair.free(MemoryType::device, in);
  }
  return faults == 0 ? 0 : 1;
}

// The first process puts into the other's memory, and gets from it.
int one_sided(Pair& pair) {
  const std::uint64_t largest = pair.way().largest;
  for (MemoryType there : {MemoryType::device, MemoryType::managed, MemoryType::pool}) {
    for (MemoryType here : kAll) {
      std::byte* memory = pair.make(pair.rank() == 0 ? here : there, largest);
      if (pair.rank() == 1) {
        auto registered = pair.worker().register_memory({memory, largest}, pair.kind_of(there));
        if (!registered) return fault(pair, registered.message()), 1;
        pair.fill(there, memory, largest, 1);
        pair.tell(pair.worker().pack_key(*registered));
        const auto address = reinterpret_cast<std::uintptr_t>(memory);
        pair.tell({reinterpret_cast<const std::byte*>(&address), reinterpret_cast<const std::byte*>(&address + 1)});
        pair.barrier();
        if (!pair.holds(there, memory + 5, largest - 5, 2)) fault(pair, "what was put is not there");
        continue;
      }
      auto key = pair.peer().unpack(pair.told());
      std::uintptr_t address = 0;
      std::memcpy(&address, pair.told().data(), sizeof(address));
      if (!key) return fault(pair, key.message()), 1;
      pair.wait(pair.peer().get({memory, largest}, address, *key, nullptr, nullptr, pair.kind_of(here)));
      if (!pair.holds(here, memory, largest, 1)) fault(pair, "got other contents");
      pair.fill(here, memory, largest, 2);
      pair.wait(pair.peer().put({memory, largest - 5}, address + 5, *key, nullptr, nullptr, pair.kind_of(here)));
      pair.wait(pair.peer().flush());
      pair.barrier();
    }
  }
  return faults == 0 ? 0 : 1;
}

// Memory that the program maps by hand, three pieces side by side, the third without a file: one is mapped by the other
// process, once; what two hold goes through pinned memory; and an address that has other memory by then is not read
// through the old mapping.
int by_hand(Pair& pair) {
  constexpr std::uint64_t kPiece = by_hand::Pieces::kBytes;
  if (std::string(pair.driver().vendor()) != "cuda") return 0;
  const Imports& imports = Imports::of(pair.driver());
  const std::size_t kept = imports.mapped();  // of earlier pairs
  std::byte* const in = pair.make(MemoryType::device, 2 * kPiece);
  by_hand::Pieces pieces(pair.gpu(), 3);
  for (std::size_t piece = 0; piece < 3; ++piece) pieces.map(piece, piece < 2);
  unsigned seed = 0;
  const auto exchange = [&](std::byte* out, std::uint64_t size, std::uint64_t maps) {
    ++seed;
    const std::uint64_t before = imports.maps();
    pair.fill(MemoryType::device, out, size, 2 * seed + static_cast<unsigned>(pair.rank()));
    pair.fill(MemoryType::device, in, size, 1000);
    pair.barrier();
    RequestPtr receive = pair.worker().tag_receive_into(pair.kind_of(MemoryType::device), {in, size}, seed);
    RequestPtr send = pair.peer().tag_send_from(pair.kind_of(MemoryType::device), {out, size}, seed);
    pair.wait(receive);
    pair.wait(send);
    const std::string which = "message " + std::to_string(seed);
    if (!pair.holds(MemoryType::device, in, size, 2 * seed + static_cast<unsigned>(1 - pair.rank())))
      fault(pair, which + ": other contents");
    if (const std::uint64_t made = imports.maps() - before; made != (pair.way().maps ? maps : 0))
      fault(pair, which + ": " + std::to_string(made) + " mappings were made");
    pair.barrier();
  };
  exchange(pieces.at(0) + 1000, 300'000, 1);
  exchange(pieces.at(0) + kPiece - 300'000, 300'000, 0);
  exchange(pieces.at(1), kPiece, 1);
  exchange(pieces.at(1) - 200'000, 400'000, 0);
  exchange(pieces.at(2) + 5, 300'000, 0);
  exchange(pieces.at(2) - 200'000, 400'000, 0);
  for (int round = 0; round < 6; ++round) {
    pieces.unmap(0);
    pieces.map(0, true);
    exchange(pieces.at(0), 300'000, 1);
    if (pair.way().maps && imports.mapped() != kept + 2)
      fault(pair, std::to_string(imports.mapped() - kept) + " mappings are kept, of two pieces");
  }
  for (std::size_t piece = 0; piece < 3; ++piece) pieces.unmap(piece);
  return faults == 0 ? 0 : 1;
}

// The other process ends in the middle of many large messages.
int dies(Pair& pair) {
  const std::uint64_t size = pair.way().largest;
  const ucx::MemoryKind kind = pair.kind_of(MemoryType::device);
  std::byte *out = pair.make(MemoryType::device, size), *in = pair.make(MemoryType::device, size);
  pair.barrier();
  std::vector<RequestPtr> requests;
  for (unsigned i = 0; i < 20; ++i) {
    requests.push_back(pair.worker().tag_receive_into(kind, {in, size}, i));
    requests.push_back(pair.peer().tag_send_from(kind, {out, size}, i));
  }
  if (pair.rank() == 1) {
    for (unsigned i = 0; i < 7; ++i) pair.wait(requests[i]);
    std::_Exit(0);
  }
  while (pair.peer().failure().empty()) pair.worker().progress();
  for (const RequestPtr& request : requests) {
    if (request != nullptr && !request->ended()) request->cancel();  // a receive that found no message
    pair.wait(request, true);
  }
  return 0;
}

const bench::Parts kParts = {{"contents", contents}, {"largest_of_all", largest_of_all},
                             {"freed", freed},       {"one_sided", one_sided},
                             {"by_hand", by_hand},   {"dies", dies}};

struct Case {
  unsigned vendor;
  const char* transport;
  bool maps, courier = false;
};

class PairTest : public ::testing::TestWithParam<Case> {
 protected:
  static void run(const char* part) {
    const Vendor& vendor = vendors()[GetParam().vendor];
    if (!vendor.driver()) GTEST_SKIP() << vendor.title << ": " << vendor.driver().message();
    Way way{GetParam().transport, GetParam().maps, kLargest, GetParam().courier};
    EXPECT_EQ(bench::run_pair(kParts, part, vendor, way), 0) << "what was found wrong stands above";
  }
  static constexpr std::uint64_t kLargest = kOnFakes ? 1'500'001 : (std::uint64_t{32} << 20) + 1;
};

TEST_P(PairTest, ContentsSurviveFromEveryKindOfMemoryToEveryKind) { run("contents"); }
TEST_P(PairTest, AGibibyteArrivesWhole) {
  if (GetParam().courier) GTEST_SKIP() << "couriers take none as large";
  run("largest_of_all");
}
TEST_P(PairTest, FreedMemoryIsNotReadThroughAnOldMapping) { run("freed"); }
TEST_P(PairTest, PutsAndGetsReachMemoryOfTheOtherProcess) { run("one_sided"); }
TEST_P(PairTest, MemoryThatIsMappedByHandIsMappedByItsFile) { run("by_hand"); }
TEST_P(PairTest, APeerThatDiesInTheMiddleIsAnEndOfItsMessages) { run("dies"); }

INSTANTIATE_TEST_SUITE_P(Ways, PairTest,
                         ::testing::Values(Case{0, "shm", true}, Case{0, "shm", false}, Case{0, "tcp", true},
                                           Case{0, "tcp", false}, Case{1, "shm", true}, Case{1, "tcp", false},
                                           Case{0, "shm", true, true}, Case{0, "tcp", false, true},
                                           Case{1, "shm", true, true}),
                         [](const auto& info) {
                           return std::string(vendors()[info.param.vendor].name) + "_" + info.param.transport +
                                  (info.param.maps ? "_mapped" : "_staged") + (info.param.courier ? "_courier" : "");
                         });

}  // namespace
}  // namespace periapt::gpu

int main(int argc, char** argv) {
  if (periapt::gpu::kOnFakes) {
    ::setenv("PERIAPT_FAKE_GPU", "warps=2,clock=1", 0);
    ::setenv("PERIAPT_LIBCUDA", PERIAPT_FAKE_CUDA, 1);
    ::setenv("PERIAPT_LIBAMDHIP64", PERIAPT_FAKE_HIP, 1);
  }
  if (const std::optional<int> status = periapt::bench::other_of_pair(periapt::gpu::kParts)) return *status;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
