// A program that uses World and nothing above it: every process puts values, waits, and reads those of all others.
//   world_prog [--rounds N] [--value BYTES] [--hosts N] [MODE]
// Modes: exit CODE | abort | kill RANK | late RANK SECONDS | leave RANK | idle | echo | nested | slow-start SECONDS
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "machine/bootstrap/world.h"

using periapt::bootstrap::World;

namespace {

struct Wish {
  int rounds = 1;
  std::size_t value = 100;
  int hosts = 0;
  std::string mode;
  int first = 0, second = 0;
};

[[noreturn]] void fail(World* world, const std::string& what) {
  std::fprintf(stderr, "world_prog: process %d: %s\n", world ? world->rank() : -1, what.c_str());
  if (world) world->abort(3, what);
  std::exit(3);
}

std::string value_of(int rank, int round, std::size_t size) {
  std::string value;  // any byte, zero and newline among them
  for (std::size_t i = 0; i < size; ++i) value += static_cast<char>(rank * 31 + round * 7 + static_cast<int>(i));
  return value;
}

void exchange(World& world, const Wish& wish, int round) {
  // Lengths differ by rank, so that some values are cut into pieces and some are not.
  auto length = [&](int rank) {
    return rank % 3 == 2 ? std::size_t{0} : wish.value * static_cast<std::size_t>(1 + rank % 3);
  };
  std::string name = "v" + std::to_string(round);
  periapt::Status put = world.put(name, value_of(world.rank(), round, length(world.rank())));
  if (!put) fail(&world, put.message());
  periapt::Status fence = world.fence();
  if (!fence) fail(&world, fence.message());
  for (int i = 0; i < world.size(); ++i) {
    int rank = (world.rank() + i) % world.size();
    auto value = world.get(rank, name);
    if (!value) fail(&world, value.message());
    if (*value != value_of(rank, round, length(rank))) fail(&world, "wrong value from process " + std::to_string(rank));
  }
}

// No process leaves a fence before the last one has come to it. (All processes of a test see one clock.)
void check_fence(World& world) {
  std::uint64_t came = periapt::clock::now_ns();
  if (!world.put("came", std::to_string(came)) || !world.fence()) fail(&world, "could not meet the others at a fence");
  std::uint64_t left = periapt::clock::now_ns();
  for (int rank = 0; rank < world.size(); ++rank) {
    auto other = world.get(rank, "came");
    if (!other) fail(&world, other.message());
    if (std::stoull(*other) > left) fail(&world, "a fence did not wait for process " + std::to_string(rank));
  }
}

void check_hosts(World& world, int expected) {
  if (static_cast<int>(world.host_of().size()) != world.size()) fail(&world, "host_of() does not name every process");
  std::set<int> hosts(world.host_of().begin(), world.host_of().end());
  if (expected > 0 && static_cast<int>(hosts.size()) != expected) {
    fail(&world, std::to_string(hosts.size()) + " hosts instead of " + std::to_string(expected));
  }
}

// All must hold the same secret: each shows a hash of it.
void check_secret(World& world) {
  std::size_t own = std::hash<std::string>()(world.secret());
  if (world.secret().size() < 16) fail(&world, "the secret is too short");
  if (!world.put("hash", std::to_string(own)) || !world.fence())
    fail(&world, "the hash of the secret could not be put");
  auto first = world.get(0, "hash");
  if (!first || *first != std::to_string(own)) fail(&world, "the secret differs from that of process 0");
}

}  // namespace

int main(int argc, char** argv) {
  Wish wish;
  int at = 1;
  // What charmrun puts in front for a program with PEs: +p4 +ppn 2.
  while (at < argc && argv[at][0] == '+') at += std::strcmp(argv[at], "+ppn") == 0 ? 2 : 1;
  for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
    if (std::strcmp(argv[at], "--rounds") == 0) wish.rounds = std::atoi(argv[at + 1]);
    if (std::strcmp(argv[at], "--value") == 0) wish.value = static_cast<std::size_t>(std::atol(argv[at + 1]));
    if (std::strcmp(argv[at], "--hosts") == 0) wish.hosts = std::atoi(argv[at + 1]);
  }
  if (at < argc) wish.mode = argv[at];
  if (at + 1 < argc) wish.first = std::atoi(argv[at + 1]);
  if (at + 2 < argc) wish.second = std::atoi(argv[at + 2]);
  periapt::log::set_verbose(std::getenv("WORLD_VERBOSE") != nullptr);

  if (wish.mode == "slow-start") ::sleep(static_cast<unsigned>(wish.first));
  auto found = World::find();
  if (!found) {
    std::fprintf(stderr, "world_prog: %s\n", found.message().c_str());
    return 4;
  }
  World& world = **found;
  periapt::log::detail("found: " + world.describe());
  for (const std::string& other : world.passed_over()) periapt::log::detail("passed over: " + other);
  bool chosen = world.rank() == wish.first;
  if (wish.mode == "kill" && chosen) ::raise(SIGKILL);
  if (wish.mode == "late" && chosen) ::sleep(static_cast<unsigned>(wish.second));
  if (wish.mode == "leave" && chosen) std::_Exit(0);
  check_fence(world);
  for (int round = 0; round < wish.rounds; ++round) exchange(world, wish, round);
  check_hosts(world, wish.hosts);
  check_secret(world);
  if (wish.mode == "abort" && chosen) {
    world.abort(9, "world_prog was asked to abort");
    ::sleep(1000);
  }
  if (wish.mode == "idle" || wish.mode == "abort") {
    std::printf("idle %d %d\n", world.rank(), static_cast<int>(::getpid()));
    std::fflush(stdout);
    std::string reason;
    while (world.well(&reason)) ::usleep(20'000);
    std::fprintf(stderr, "world_prog: process %d ends: %s\n", world.rank(), reason.c_str());
    return 5;
  }
  if (wish.mode == "nested" && std::system(("\"" + std::string(argv[0]) + "\"").c_str()) != 0) fail(&world, "nested");
  if (wish.mode == "echo" && world.rank() == 0) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // whole lines, which no pause of this process can part
    for (int c; (c = std::getchar()) != EOF;) std::putchar(c);
  }
  std::printf("ok %d of %d on host %d\n", world.rank(), world.size(),
              world.host_of()[static_cast<std::size_t>(world.rank())]);
  std::fflush(stdout);
  world.finalize();
  return wish.mode == "exit" && (world.rank() == wish.second) ? wish.first : 0;
}
