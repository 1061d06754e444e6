// bench_shm: the message path of one host, beside what the machine can do at all.
//
// Two PEs, first as threads of one process, then as two processes; in each run the bare figures (one cache line
// bounced, a bare ring of one-line cells) stand beside those of Port and Heap. Every figure comes from many rounds
// shorter than a time slice: the best, the 10th percentile and the median, because the cores may be shared with others.
//
//   bench_shm [--rounds N] [threads|processes]
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/fatal.h"
#include "bench/bare.h"
#include "machine/layer/machine_layer.h"

using periapt::bare::Bare;
using periapt::clock::now_ns;
using periapt::host::Heap;
using periapt::host::Port;
using periapt::host::Slot;
using periapt::machine::MachineLayer;

namespace {

int rounds = 101;

struct Party {
  MachineLayer& layer;
  int pe;
  Bare* bare;
  Port& port;
  Heap& heap;

  int other() const { return 1 - pe; }
  void meet() {
    if (!layer.barrier()) std::_Exit(1);
  }
  // Runs `round` (which returns ns per operation on PE 0) several times on both sides; PE 0 prints.
  template <class Round>
  void measure(const char* name, Round&& round) {
    std::vector<double> ns;
    round();  // warm
    for (int i = 0; i < rounds; ++i) {
      meet();
      ns.push_back(round());
    }
    meet();
    if (pe != 0) return;
    std::sort(ns.begin(), ns.end());
    std::printf("  %-60s %8.1f %8.1f %8.1f\n", name, ns.front(), ns[ns.size() / 10], ns[ns.size() / 2]);
    std::fflush(stdout);
  }
};

// ---- bare figures (bare.h)

double bounce_one_line(Party& p, int n) {
  return periapt::bare::bounce_one_line(*p.bare, p.pe, n, [&] { p.meet(); });
}
double bare_ring(Party& p, int n) {
  return periapt::bare::ring_ping_pong(*p.bare, p.pe, n, [&] { p.meet(); });
}
double bare_stream(Party& p, int n) {
  return periapt::bare::ring_stream(*p.bare, p.pe, n, [&] { p.meet(); });
}

// ---- Port

void post(Party& p, std::uint64_t value) {
  Slot* slot;
  while ((slot = p.port.claim(p.other())) == nullptr) {
  }
  std::memcpy(slot->body, &value, 8);
  p.port.publish(p.other(), slot, value & 0xFFFF);
}

template <bool kGap>
double port_ping_pong(Party& p, int n) {
  std::uint64_t sum = 0;
  auto sink = [&](std::uint64_t, const void* body, int) {
    std::uint64_t value;
    std::memcpy(&value, body, 8);
    sum += value;
  };
  auto receive = [&] {
    while (p.port.poll(sink, 16) == 0) {
      if (kGap) Port::relax();
    }
  };
  p.meet();
  std::uint64_t begin = now_ns();
  for (int i = 0; i < n; ++i) {
    if (p.pe == 0) post(p, static_cast<std::uint64_t>(i));
    receive();
    if (p.pe == 1) post(p, static_cast<std::uint64_t>(i));
  }
  double ns = static_cast<double>(now_ns() - begin) / (2.0 * n);
  if (sum != static_cast<std::uint64_t>(n) * (n - 1) / 2) periapt::fatal("ping-pong lost something");
  return ns;
}

template <std::size_t kBytes, bool kGap>
double port_stream(Party& p, int n) {
  p.meet();
  std::uint64_t begin = now_ns();
  if (p.pe == 0) {
    for (int i = 0; i < n; ++i) {
      Slot* slot;
      while ((slot = p.port.claim(1)) == nullptr) {
      }
      std::uint64_t value[kBytes / 8];
      for (std::uint64_t& word : value) word = static_cast<std::uint64_t>(i);
      std::memcpy(slot->body, value, kBytes);
      p.port.publish(1, slot, 7);
    }
    bool done = false;
    while (!done) p.port.poll([&](std::uint64_t, const void*, int) { done = true; }, 1);
    return static_cast<double>(now_ns() - begin) / n;
  }
  std::uint64_t sum = 0;
  for (int got = 0; got < n;) {
    int now = p.port.poll(
        [&](std::uint64_t, const void* body, int) {
          std::uint64_t value[kBytes / 8];
          std::memcpy(value, body, kBytes);
          sum += value[kBytes / 8 - 1];
        },
        64);
    if (kGap && now == 0) Port::relax();
    got += now;
  }
  if (sum != static_cast<std::uint64_t>(n) * (n - 1) / 2) periapt::fatal("stream lost something");
  post(p, 1);
  return static_cast<double>(now_ns() - begin) / n;
}

// A block goes to and fro; the receiver reads its first payload line when `touch`.
double block_ping_pong(Party& p, int n, std::size_t bytes, bool touch) {
  void* block = p.pe == 0 ? p.heap.allocate(bytes) : nullptr;
  std::uint64_t seen = 0;
  auto sink = [&](std::uint64_t, const void* body, int) {
    std::memcpy(&block, body, sizeof(block));
    if (touch) seen += static_cast<std::uint64_t*>(block)[7];
  };
  p.meet();
  std::uint64_t begin = now_ns();
  for (int i = 0; i < n; ++i) {
    if (p.pe == 0) p.port.send(1, 1, block);
    while (p.port.poll(sink, 1) == 0) Port::relax();
    if (touch) static_cast<std::uint64_t*>(block)[7] = seen;
    if (p.pe == 1) p.port.send(0, 1, block);
  }
  double ns = static_cast<double>(now_ns() - begin) / (2.0 * n);
  if (p.pe == 0) p.heap.release(block);
  return ns;
}

// PE 0 allocates, writes and sends; PE 1 reads and releases; blocks come home in batches.
double block_stream(Party& p, int n, std::size_t bytes) {
  p.meet();
  std::uint64_t begin = now_ns();
  if (p.pe == 0) {
    auto none = [](std::uint64_t, const void*, int) {};
    for (int i = 0; i < n; ++i) {
      while (p.port.parked() > 0) p.port.poll(none, 1);
      auto* block = static_cast<std::uint64_t*>(p.heap.allocate(bytes));
      block[0] = block[5] = static_cast<std::uint64_t>(i);
      p.port.send(1, 1, block);
    }
    bool done = false;
    while (!done) p.port.poll([&](std::uint64_t, const void*, int) { done = true; }, 1);
    return static_cast<double>(now_ns() - begin) / n;
  }
  std::uint64_t sum = 0;
  for (int got = 0; got < n;) {
    int now = p.port.poll(
        [&](std::uint64_t, const void* body, int) {
          std::uint64_t* block;
          std::memcpy(&block, body, sizeof(block));
          sum += block[5];
          p.heap.release(block);
        },
        64);
    if (now == 0) Port::relax();
    got += now;
  }
  if (sum != static_cast<std::uint64_t>(n) * (n - 1) / 2) periapt::fatal("block stream lost something");
  p.heap.flush_returns();
  post(p, 1);
  return static_cast<double>(now_ns() - begin) / n;
}

double local_cycle(Party& p, int n, std::size_t bytes) {
  if (p.pe != 0) return 0;
  std::uint64_t begin = now_ns();
  for (int i = 0; i < n; ++i) {
    void* block = p.heap.allocate(bytes);
    asm volatile("" : : "r"(block) : "memory");
    p.heap.release(block);
  }
  return static_cast<double>(now_ns() - begin) / n;
}

double local_batch(Party& p, int n, std::size_t bytes) {
  if (p.pe != 0) return 0;
  static void* blocks[512];
  std::uint64_t begin = now_ns();
  for (int i = 0; i < n; i += 512) {
    for (void*& block : blocks) block = p.heap.allocate(bytes);
    for (void* block : blocks) p.heap.release(block);
  }
  return static_cast<double>(now_ns() - begin) / n;
}

// Both go to sleep at once when there is nothing; often the last look before the futex finds the message.
double sleep_ping_pong(Party& p, int n) {
  auto sink = [](std::uint64_t, const void*, int) {};
  p.meet();
  std::uint64_t begin = now_ns();
  for (int i = 0; i < n; ++i) {
    if (p.pe == 0) post(p, 1);
    while (p.port.poll(sink, 1) == 0) p.port.sleep(~std::uint64_t{0});
    if (p.pe == 1) post(p, 1);
  }
  return static_cast<double>(now_ns() - begin) / (2.0 * n);
}

double port_poll_empty(Party& p, int n) {
  auto sink = [](std::uint64_t, const void*, int) {};
  std::uint64_t begin = now_ns();
  for (int i = 0; i < n; ++i) p.port.poll(sink, 1);
  return static_cast<double>(now_ns() - begin) / n;
}

void run(MachineLayer& layer, int pe) {
  layer.enter(layer.layout().carrier_of[static_cast<std::size_t>(pe)]);
  if (pe == 0) {
    void* memory = layer.heap(0).allocate_permanent(sizeof(Bare));
    std::memset(memory, 0, sizeof(Bare));
    std::memcpy(layer.pe_page(0), &memory, sizeof(memory));
  }
  if (!layer.barrier()) return;
  Bare* bare;
  std::memcpy(static_cast<void*>(&bare), layer.pe_page(0), sizeof(bare));
  Party p{layer, pe, bare, layer.port(pe), layer.heap(pe)};

  p.measure("bare: one cache line bounced, one way", [&] { return bounce_one_line(p, 2'000); });
  p.measure("bare: ring of one-line cells, 8 B, one way", [&] { return bare_ring(p, 2'000); });
  p.measure("bare: ring of one-line cells, stream of 8 B", [&] { return bare_stream(p, 20'000); });
  p.measure("Port: 8 B, one way, tight poll", [&] { return port_ping_pong<false>(p, 2'000); });
  p.measure("Port: 8 B, one way, poll with gap (Port::relax)", [&] { return port_ping_pong<true>(p, 2'000); });
  p.measure("Port: stream of 8 B, tight poll", [&] { return port_stream<8, false>(p, 20'000); });
  p.measure("Port: stream of 8 B, poll with gap", [&] { return port_stream<8, true>(p, 20'000); });
  p.measure("Port: stream of 56 B, poll with gap", [&] { return port_stream<56, true>(p, 20'000); });
  p.measure("Port: block of 112 B, one way, untouched", [&] { return block_ping_pong(p, 2'000, 112, false); });
  p.measure("Port: block of 112 B, one way, payload line changed",
            [&] { return block_ping_pong(p, 2'000, 112, true); });
  p.measure("Port: block of 4 MB, one way, untouched", [&] { return block_ping_pong(p, 2'000, 4 << 20, false); });
  p.measure("Port + Heap: allocate 48 B, send, release on the other PE", [&] { return block_stream(p, 20'000, 48); });
  p.measure("Port + Heap: the same, 112 B", [&] { return block_stream(p, 20'000, 112); });
  p.measure("Port + Heap: the same, 1000 B", [&] { return block_stream(p, 20'000, 1000); });
  p.measure("Port: poll that finds nothing", [&] { return port_poll_empty(p, 20'000); });
  p.measure("Heap: allocate + release 112 B on one PE", [&] { return local_cycle(p, 51'200, 112); });
  p.measure("Heap: the same in batches of 512", [&] { return local_batch(p, 51'200, 112); });
  p.measure("Port: 8 B, one way, sleep() after every empty poll", [&] { return sleep_ping_pong(p, 200); });
}

int run_mode(const std::string& mode) {
  const char* title = mode == "threads" ? "two PEs, threads of one process" : "two PEs, two processes";
  std::printf("%-62s %8s %8s %8s\n", title, "best", "10 %", "median ns");
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    periapt::bootstrap::LayoutRequest request;
    request.pes = 2;
    request.pes_a_process = mode == "threads" ? 2 : 1;
    auto layout = periapt::bootstrap::resolve_layout(request, periapt::bootstrap::find_usable_cpus(2));
    if (!layout) periapt::fatal(layout.message());
    if (layout->carrier_count() < 2) periapt::fatal("this benchmark needs two cpus, and may use one", "bench_shm");
    auto layer = MachineLayer::start(*layout);
    if (!layer) periapt::fatal(layer.message());
    MachineLayer& l = **layer;
    std::vector<std::thread> threads;
    for (int pe = l.first_pe(); pe < l.first_pe() + l.own_pes(); ++pe) threads.emplace_back([&l, pe] { run(l, pe); });
    for (std::thread& thread : threads) thread.join();
    std::fflush(stdout);
    l.announce_exit(0);
    std::_Exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> modes;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--rounds" && i + 1 < argc) {
      rounds = std::max(1, std::atoi(argv[++i]));
    } else {
      modes.push_back(argument);
    }
  }
  if (modes.empty()) modes = {"threads", "processes"};
  int code = 0;
  for (const std::string& mode : modes) code = std::max(code, run_mode(mode));
  return code;
}
