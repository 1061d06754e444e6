// Ports between processes: the machine layer started for real, all PEs sending to all, nothing lost, nothing left.
#include <gtest/gtest.h>

#include <random>

#include "tests/host/host.h"
#include "tests/machine/job.h"

namespace periapt {
namespace {

using host::Letter;
using host::Port;
using machine::MachineLayer;

constexpr std::uint64_t kForever = ~std::uint64_t{0};
const std::uint64_t kSlower = platform::kThreadSanitizer || platform::kAddressSanitizer ? 10 : 1;

// What one PE does in an all-to-all of `letters` a pair; returns whether all was right.
bool converse(MachineLayer& layer, int pe, std::uint64_t letters, std::uint64_t largest) {
  Port& port = layer.port(pe);
  int pes = layer.pes();
  std::mt19937_64 random(static_cast<std::uint64_t>(pe));
  std::vector<std::uint64_t> next(static_cast<std::size_t>(pes), 0);
  std::uint64_t received = 0;
  bool good = true;
  auto sink = [&](std::uint64_t meta, const void* body, int source) {
    Letter letter;
    good = host::read_letter(port, meta, body, source, letter) && letter.number == next[letter.source]++ && good;
    ++received;
  };
  for (std::uint64_t i = 0; i < letters; ++i) {
    for (int to = 0; to < pes; ++to) {
      std::uint64_t bytes = random() % 4 == 0 ? 64 + random() % largest : 0;
      host::post_letter(port, {static_cast<unsigned>(pe), static_cast<unsigned>(to), i, bytes, 0});
    }
    port.poll(sink, 10);
    while (port.parked() > 100) {
      // A poll may have drained what we wait for.
      if (port.poll(sink, 50) == 0 && port.parked() > 100) port.sleep(kForever);
    }
  }
  while (received < letters * static_cast<std::uint64_t>(pes) || port.parked() > 0) {
    if (port.poll(sink, 50) > 0) continue;
    if (received < letters * static_cast<std::uint64_t>(pes) || port.parked() > 0) port.sleep(kForever);
  }
  return good;
}

int all_to_all(MachineLayer& layer, std::uint64_t letters, std::uint64_t largest) {
  std::atomic<bool> good{true};
  test::run_pes(layer, [&](int pe) {
    if (!converse(layer, pe, letters, largest)) good = false;
    layer.heap(pe).flush_returns();
    if (!layer.barrier()) good = false;
    layer.heap(pe).take_returns();
    if (layer.heap(pe).statistics().live_blocks != 0) good = false;
  });
  return good ? 0 : 3;
}

TEST(PortProcesses, AllToAllBetweenTwoProcesses) {
  test::JobResult job =
      test::run_job(test::layout(2, 2), [](MachineLayer& layer) { return all_to_all(layer, 50'000 / kSlower, 1000); });
  EXPECT_EQ(job.status, 0) << job.errors;
}

TEST(PortProcesses, AllToAllBetweenThreeProcessesOfTwo) {
  test::JobResult job = test::run_job(test::layout(6, 3),
                                      [](MachineLayer& layer) { return all_to_all(layer, 3'000 / kSlower, 100'000); });
  EXPECT_EQ(job.status, 0) << job.errors;
}

TEST(PortProcesses, AMessageOfManyMegabytesChangesOwnerWithoutACopy) {
  test::JobResult job = test::run_job(test::layout(2, 2), [](MachineLayer& layer) {
    constexpr std::size_t kWords = std::size_t{8} << 20;
    Port& port = layer.port(layer.process());
    std::uint64_t* block = nullptr;
    auto sink = [&](std::uint64_t, const void* body, int) { std::memcpy(&block, body, sizeof(block)); };
    if (layer.process() == 0) {
      block = static_cast<std::uint64_t*>(layer.heap(0).allocate(kWords * 8));
      std::uint64_t* address = block;
      for (std::size_t i = 0; i < kWords; ++i) block[i] = i * i;
      port.send(1, 1, block);
      block = nullptr;
      while (port.poll(sink, 1) == 0) port.sleep(kForever);
      return block == address && block[kWords - 1] == 42 ? 0 : 3;
    }
    while (port.poll(sink, 1) == 0) port.sleep(kForever);
    for (std::size_t i = 0; i < kWords; ++i) {
      if (block[i] != i * i) return 4;
    }
    block[kWords - 1] = 42;
    port.send(0, 1, block);
    return 0;
  });
  EXPECT_EQ(job.status, 0) << job.errors;
}

TEST(PortProcesses, NoWakeUpIsLostBetweenProcesses) {
  test::JobResult job = test::run_job(test::layout(2, 2), [](MachineLayer& layer) {
    int pe = layer.process();
    Port& port = layer.port(pe);
    std::mt19937_64 random(static_cast<std::uint64_t>(pe) + 11);
    auto sink = [](std::uint64_t, const void*, int) {};
    for (std::uint64_t i = 0; i < 50'000 / kSlower; ++i) {
      if (pe == 0) host::post_letter(port, {0, 1, i, 0, 0});
      for (std::uint64_t spins = random() % 3 == 0 ? 0 : random() % 200; port.poll(sink, 1) == 0;) {
        if (spins == 0) {
          port.sleep(kForever);
        } else {
          --spins;
        }
      }
      if (pe == 1) host::post_letter(port, {1, 0, i, 0, 0});
    }
    return 0;
  });
  EXPECT_EQ(job.status, 0) << job.errors;
}

}  // namespace
}  // namespace periapt
