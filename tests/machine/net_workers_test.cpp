// Several workers a process: whatever PE speaks to whatever PE of another host, messages come in their order, memory is
// reached whichever worker it is registered with, sleepers are woken, and no driver leaves a worker alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "machine/layer/net_peers.h"
#include "tests/machine/job.h"
#include "tests/machine/told.h"

namespace periapt {
namespace {

using machine::MachineLayer;
using machine::MemoryKey;
using ::testing::HasSubstr;
using ::testing::Not;

// What is sent: so many bytes, from whom, and the how-manieth to that PE.
struct Block {
  std::uint64_t bytes;
  int from;
  int number;
};
std::size_t bytes_of(const void* block) { return static_cast<const Block*>(block)->bytes; }

// Where the processes of a job meet.
struct Board {
  std::atomic<int> done;
  std::atomic<int> stop;
  MemoryKey keys[8];
};

class NetWorkers : public ::testing::Test {
 protected:
  NetWorkers() {
    void* shared = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    board_ = new (shared) Board{};
  }
  ~NetWorkers() override { ::munmap(board_, sizeof(Board)); }

  test::JobResult run(std::vector<std::string> arguments, const test::Body& body) {
    return test::run_job(std::move(arguments), [&](MachineLayer& layer) {
      layer.set_wire_format({.block_min = sizeof(Block), .block_bytes = bytes_of});
      return body(layer);
    });
  }
  void expect_good(const test::JobResult& job) {
    EXPECT_EQ(job.status, 0) << job.errors;
    EXPECT_EQ(job.errors, "");
    EXPECT_FALSE(job.left_behind);
  }
  Board* board_;
};

bool is_far(MachineLayer& layer, int pe) { return layer.route(pe) == machine::Route::other_host; }

void send(MachineLayer& layer, int from, int to, int number, std::size_t bytes) {
  auto* block = new (layer.heap(from).allocate(bytes)) Block{bytes, from, number};
  layer.port(from).send(to, 0, block);
}

// The same in a line: its meta says that it is one.
constexpr std::uint64_t kLineMeta = 5;
struct NumberedLine {
  std::uint64_t meta;
  int from, number;
};
void send_line(MachineLayer& layer, int from, int to, int number) {
  const NumberedLine line{kLineMeta, from, number};
  layer.port(from).far()->send_line(layer.port(from), to, &line, sizeof line);
}

// What has come for one PE; from each sender in its order, or `wrong` says how often not.
struct Arrivals {
  Arrivals(MachineLayer& the_layer, int the_pe)
      : layer(the_layer), pe(the_pe), next(static_cast<std::size_t>(the_layer.pes())) {}
  bool poll() {
    host::Port& port = layer.port(pe);
    return port.far()->progress(
        port,
        [](void* self, std::uint64_t meta, const void* body) {
          if (meta == kLineMeta) {
            int line[2];
            std::memcpy(line, body, sizeof line);
            return static_cast<Arrivals*>(self)->take(line[0], line[1]);
          }
          void* block;
          std::memcpy(&block, body, sizeof block);
          static_cast<Arrivals*>(self)->take(block);
        },
        this);
  }
  void take(void* bytes) {
    auto* block = static_cast<Block*>(bytes);
    take(block->from, block->number);
    layer.heap(pe).release(bytes);
  }
  void take(int from, int number) {
    if (number != next[static_cast<std::size_t>(from)]++) ++wrong;
    ++count;
  }
  MachineLayer& layer;
  int pe;
  std::vector<int> next;
  int count = 0, wrong = 0;
};

class Order : public NetWorkers, public ::testing::WithParamInterface<std::vector<std::string>> {};

// Large messages, which are announced and fetched, between small ones and lines, which overtake them on the way.
TEST_P(Order, OfMessagesBetweenTwoPesIsKept) {
  expect_good(run(GetParam(), [&](MachineLayer& layer) {
    constexpr int kMessages = 120;
    std::atomic<int> wrong{0};
    test::run_pes(layer, [&](int pe) {
      Arrivals arrivals(layer, pe);
      int far = 0;
      for (int to = 0; to < layer.pes(); ++to) far += is_far(layer, to) ? 1 : 0;
      for (int number = 0; number < kMessages; ++number) {
        for (int to = 0; to < layer.pes(); ++to) {
          const std::size_t bytes = number % 7 == to % 7 ? 300'000 : sizeof(Block) + static_cast<std::size_t>(number);
          if (is_far(layer, to))
            number % 3 == 1 ? send_line(layer, pe, to, number) : send(layer, pe, to, number, bytes);
        }
        arrivals.poll();
      }
      while (arrivals.count < far * kMessages) arrivals.poll();
      wrong += arrivals.wrong;
      board_->done.fetch_add(1);
      while (board_->done.load() < layer.pes()) arrivals.poll();
    });
    return wrong.load();
  }));
}

// Also where the workers of a process have different numbers of PEs.
INSTANTIATE_TEST_SUITE_P(
    Workers, Order,
    ::testing::Values(std::vector<std::string>{"+p6", "+ppn", "3", "+transports", "tcp", "+workers", "1"},
                      std::vector<std::string>{"+p6", "+ppn", "3", "+transports", "tcp", "+workers", "2"},
                      std::vector<std::string>{"+p8", "+ppn", "4", "+transports", "tcp", "+workers", "4"},
                      std::vector<std::string>{"+p8", "+ppn", "4", "+transports", "tcp", "+workers", "3",
                                               "+rendezvous-min", "100"},
                      std::vector<std::string>{"+p6", "+ppn", "3", "+no-shared-memory", "+workers", "2"}));

// All PEs of a process on one thread, as on a crowded machine, and asleep whenever there is nothing to do.
TEST_F(NetWorkers, SleepersAreWokenWhicheverWorkerHasSomething) {
  expect_good(run({"+p6", "+ppn", "3", "+transports", "tcp", "+workers", "3"}, [&](MachineLayer& layer) {
    constexpr int kRounds = 60;
    const int first = layer.first_pe(), own = layer.own_pes();
    std::vector<Arrivals> arrivals;
    for (int pe = first; pe < first + own; ++pe) arrivals.emplace_back(layer, pe);
    const bool begins = first == 0;
    for (int round = 0; round < kRounds; ++round) {
      const int pe = first + round % own, peer = (begins ? own : 0) + round % own;
      Arrivals& mine = arrivals[static_cast<std::size_t>(round % own)];
      if (begins) send(layer, pe, peer, round / own, 64);
      for (const int before = mine.count; mine.count == before;) {
        bool moved = false;
        for (Arrivals& one : arrivals) moved |= one.poll();
        if (!moved) layer.sleep(first, ~std::uint64_t{0});
      }
      if (!begins) send(layer, pe, peer, round / own, 64);
    }
    board_->done.fetch_add(1);
    while (board_->done.load() < 2) arrivals.front().poll();
    return arrivals[0].wrong + arrivals[1].wrong + arrivals[2].wrong;
  }));
}

// How many connections of this process an epoll set knows.
int connections_watched() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream info(entry.path());
    for (std::string word; info >> word;) {
      if (word != "tfd:") continue;
      int fd = -1;
      sockaddr_in peer{};
      socklen_t size = sizeof peer;
      info >> fd;
      count += ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 && peer.sin_family == AF_INET ? 1 : 0;
    }
  }
  return count;
}

// A PE sleeps; another one drives for long, and computes then. Only epoll can tell the first one of its message, so the
// connection must be known to it; when all are awake it is not.
TEST_F(NetWorkers, ASleeperIsToldThoughAnotherPeHasDrivenSince) {
  expect_good(run({"+p4", "+ppn", "2", "+transports", "tcp", "+workers", "1"}, [&](MachineLayer& layer) {
    std::atomic<int> wrong{0}, connected{0}, woken{0}, out{0};
    test::run_pes(layer, [&](int pe) {
      Arrivals arrivals(layer, pe);
      if (pe == 0) {
        while (arrivals.count < 2) {
          if (!arrivals.poll()) layer.sleep(pe, ~std::uint64_t{0});
          connected.store(arrivals.count);
        }
        woken.store(1);
        while (out.load() == 0) arrivals.poll();
      } else if (pe == 1) {
        while (connected.load() == 0) arrivals.poll();
        do {
          while (connections_watched() == 0) arrivals.poll();
          for (int i = 0; i < 1000; ++i) arrivals.poll();
        } while (connections_watched() == 0);
        board_->stop.store(1);
        while (woken.load() == 0) {
        }
        while (connections_watched() != 0) arrivals.poll();
        out.store(1);
      } else if (pe == 2) {
        send(layer, 2, 0, 0, 64);
        while (board_->stop.load() == 0) arrivals.poll();
        send(layer, 2, 0, 1, 64);
      }
      wrong += arrivals.wrong;
      board_->done.fetch_add(1);
      while (board_->done.load() < layer.pes()) arrivals.poll();
    });
    return wrong.load();
  }));
}

// An entry method that sends and sends, far more than there is credit for: what was received is paid back meanwhile.
TEST_F(NetWorkers, WhoSendsManyMessagesWithoutLookingForWorkGetsThemThrough) {
  expect_good(run({"+p2", "+ppn", "1", "+transports", "tcp"}, [&](MachineLayer& layer) {
    constexpr int kEnough = 10'000;  // of them, about 1300 fit the window
    const int pe = layer.first_pe();
    Arrivals arrivals(layer, pe);
    for (int number = 0; pe == 0 && board_->stop.load() == 0; ++number) {
      send(layer, 0, 1, number, 64);
      if (number % 500 == 0) ::sched_yield();
    }
    while (pe == 1 && arrivals.count < kEnough) arrivals.poll();
    board_->stop.store(1);
    board_->done.fetch_add(1);
    while (board_->done.load() < 2) arrivals.poll();
    return arrivals.wrong;
  }));
}

// Both do, so each takes in what the other has sent while it sends itself: that waits, and comes before what is
// younger.
TEST_F(NetWorkers, WhatComesWhileAPeSendsIsDeliveredLaterInItsOrder) {
  expect_good(run({"+p2", "+ppn", "1", "+transports", "tcp"}, [&](MachineLayer& layer) {
    constexpr int kMessages = 60'000;
    const int pe = layer.first_pe();
    Arrivals arrivals(layer, pe);
    for (int number = 0; number < kMessages; ++number) {
      send(layer, pe, 1 - pe, number, 64);
      if (number % 2000 == 0) arrivals.poll();  // more than fit the window
    }
    while (arrivals.count < kMessages) arrivals.poll();
    board_->done.fetch_add(1);
    while (board_->done.load() < 2) arrivals.poll();
    return arrivals.wrong;
  }));
}

// As a PE does that passes a broadcast on: what it sends goes out, though its worker is in use, by itself.
TEST_F(NetWorkers, WhatIsDeliveredMayBeAnsweredAtOnce) {
  expect_good(run({"+p2", "+ppn", "1", "+transports", "tcp"}, [&](MachineLayer& layer) {
    constexpr int kRounds = 1000;
    struct Answering {
      MachineLayer& layer;
      int pe, rounds = 0;
    } mine{layer, layer.first_pe()};
    const auto answer = [](void* context, std::uint64_t, const void* body) {
      auto& me = *static_cast<Answering*>(context);
      void* block;
      std::memcpy(&block, body, sizeof block);
      me.layer.heap(me.pe).release(block);
      if (++me.rounds < kRounds || me.pe == 1) send(me.layer, me.pe, 1 - me.pe, me.rounds, 64);
    };
    host::Port& port = layer.port(mine.pe);
    if (mine.pe == 0) send(layer, 0, 1, 0, 64);
    while (mine.rounds < kRounds) port.far()->progress(port, answer, &mine);
    board_->done.fetch_add(1);
    while (board_->done.load() < 2) port.far()->progress(port, answer, &mine);
    return 0;
  }));
}

// Messages that another build, or damaged memory, would send. A reader of more than has come would find memory of its
// heap that happens to make sense: zeros behind the four bytes that say "four".
struct Damage {
  std::size_t sent, says;
  const char* sentence;
};
class Damaged : public NetWorkers, public ::testing::WithParamInterface<Damage> {};

TEST_P(Damaged, AMessageOfAnotherLengthThanItSaysEndsTheRunWithASentence) {
  static std::size_t sent;
  sent = GetParam().sent;
  const test::JobResult job = run({"+p2", "+ppn", "1", "+transports", "tcp"}, [&](MachineLayer& layer) {
    Arrivals arrivals(layer, layer.first_pe());
    if (layer.first_pe() == 0) {
      layer.set_wire_format({.block_bytes = [](const void*) { return sent; }});
      layer.port(0).send(1, 0, new (layer.heap(0).allocate(sizeof(Block) + sent)) Block{GetParam().says, 0, 0});
    }
    while (arrivals.count == 0 && board_->stop.load() == 0) arrivals.poll();
    board_->stop.store(1);
    return 0;
  });
  EXPECT_EQ(job.status, 1);
  EXPECT_THAT(job.errors, HasSubstr("a message of " + std::to_string(sent) +
                                    " bytes from process 0 makes no sense: " + GetParam().sentence));
  EXPECT_FALSE(job.left_behind);
}

INSTANTIATE_TEST_SUITE_P(Lengths, Damaged,
                         ::testing::Values(Damage{4, 4, "it is shorter than any message"},
                                           Damage{0, 0, "it is shorter than any message"},
                                           Damage{64, 65, "it says that it has another length"},
                                           Damage{64, 63, "it says that it has another length"},
                                           Damage{70'000, ~std::size_t{0}, "it says that it has another length"}));

// From PE 0 to PE 1: 8 bytes behind its meta.
void send_forged(MachineLayer& layer, std::uint64_t meta) {
  const std::uint64_t line[] = {meta, 0};
  layer.port(0).far()->send_line(layer.port(0), 1, line, sizeof line);
}

// What a line says of itself the runtime knows; here, one may say whatever is even.
class Forged : public NetWorkers, public ::testing::WithParamInterface<bool> {};

TEST_P(Forged, ALineThatSaysWhatCannotBeEndsTheRunWithASentence) {
  const bool driver_is_receiver = GetParam();
  const test::JobResult job = run({"+p2", "+ppn", "1", "+transports", "tcp"}, [&](MachineLayer& layer) {
    layer.set_wire_format({.block_min = sizeof(Block),
                           .block_bytes = bytes_of,
                           .wrong_line = [](std::uint64_t meta, std::span<const std::byte>) {
                             return meta % 2 == 0 ? nullptr : "it says something odd";
                           }});
    if (layer.first_pe() == 0) {
      send_forged(layer, 4);
      if (!driver_is_receiver) send(layer, 0, 1, 0, 300'000);  // the line waits behind it, in a block
      send_forged(layer, 7);
    }
    host::Port& port = layer.port(layer.first_pe());
    while (board_->stop.load() == 0)
      port.far()->progress(
          port, [](void*, std::uint64_t, const void*) {}, nullptr);
    return 0;
  });
  EXPECT_EQ(job.status, 1);
  EXPECT_THAT(job.errors, HasSubstr("a message of 16 bytes from process 0 makes no sense: it says something odd"));
  EXPECT_FALSE(job.left_behind);
}

INSTANTIATE_TEST_SUITE_P(InOrder, Forged, ::testing::Bool());

// Memory is registered with one worker or another. Where it lies, the PEs of one of them compute and never look.
TEST_F(NetWorkers, APeThatLooksForWorkDrivesTheWorkerOfABusyOne) {
  expect_good(run({"+p4", "+ppn", "2", "+transports", "tcp", "+workers", "2"}, [&](MachineLayer& layer) {
    constexpr int kPieces = 4;
    std::vector<std::uint64_t> memory(kPieces);
    std::atomic<int> wrong{0};
    if (layer.first_pe() != 0) {
      for (std::size_t i = 0; i < kPieces; ++i) {
        memory[i] = 100 + i;
        board_->keys[i] = *layer.one_sided().register_memory(&memory[i], sizeof memory[i]);
      }
    }
    board_->done.fetch_add(1);
    while (board_->done.load() < 2) {
    }
    test::run_pes(layer, [&](int pe) {
      Arrivals arrivals(layer, pe);
      if (pe == 3) {  // busy
        while (board_->stop.load() < 2) {
        }
      } else if (pe == 2) {
        while (board_->stop.load() < 2) arrivals.poll();
      } else {
        for (const MemoryKey& key : std::span(board_->keys, kPieces)) {
          std::uint64_t got = 0;
          Told told;
          layer.one_sided().get(pe, &got, sizeof got, key, key.address, told);
          while (told.times == 0) {
            arrivals.poll();
            layer.one_sided().poll(pe);
          }
          if (!told.status.ok() || got != 100 + static_cast<std::uint64_t>(&key - board_->keys)) ++wrong;
        }
        board_->stop.fetch_add(1);
      }
    });
    return wrong.load();
  }));
}

TEST_F(NetWorkers, WhatWasChosenIsToldOfEachWorker) {
  const std::vector<std::string> line = {"+p4", "+ppn", "2", "+transports", "tcp", "+verbose", "+explain-transport"};
  const test::Body exchange = [&](MachineLayer& layer) {
    test::run_pes(layer, [&](int pe) {
      Arrivals arrivals(layer, pe);
      send(layer, pe, (pe + 2) % 4, 0, 64);
      while (arrivals.count == 0) arrivals.poll();
      board_->done.fetch_add(1);
      while (board_->done.load() % 4 != 0) arrivals.poll();
    });
    return 0;
  };
  std::vector<std::string> one_worker = line;
  one_worker.insert(one_worker.end(), {"+workers", "1"});
  test::JobResult one = run(one_worker, exchange);
  EXPECT_THAT(one.errors, HasSubstr("network: 1 worker for"));
  EXPECT_THAT(one.errors, HasSubstr("\nprocess 0: over tcp/"));
  EXPECT_THAT(one.errors, Not(HasSubstr("of this process:")));
  std::vector<std::string> two_workers = line;
  two_workers.insert(two_workers.end(), {"+workers", "2"});
  test::JobResult two = run(two_workers, exchange);
  EXPECT_THAT(two.errors, HasSubstr("network: 2 workers for"));
  EXPECT_THAT(two.errors, HasSubstr("worker 1 of this process:\n"));
  EXPECT_THAT(two.errors, HasSubstr("\nprocess 0, worker 1: over tcp/"));
}

// ---- +cost-file

// Large messages from PE 0 to PE 1 and back, enough of them for a measurement to count.
int exchange_large(MachineLayer& layer, Board& board) {
  const int pe = layer.first_pe();
  Arrivals arrivals(layer, pe);
  for (int number = 0; number < 20; ++number) {
    send(layer, pe, 1 - pe, number, 600'000);
    while (arrivals.count <= number) arrivals.poll();
  }
  board.done.fetch_add(1);
  while (board.done.load() % 2 != 0) arrivals.poll();
  return 0;
}

TEST_F(NetWorkers, WhatWasMeasuredIsKeptInTheCostFileAndReadFromIt) {
  const std::string path = ::testing::TempDir() + "periapt-costs-" + std::to_string(::getpid());
  const std::vector<std::string> line = {"+p2", "+ppn",       "1",  "+transports",
                                         "tcp", "+cost-file", path, "+explain-transport"};
  test::JobResult first = run(line, [&](MachineLayer& layer) { return exchange_large(layer, *board_); });
  EXPECT_EQ(first.status, 0) << first.errors;
  std::ifstream file(path);
  std::string device, way, bin, rate;
  ASSERT_TRUE(file >> device >> way >> bin >> rate) << "nothing was kept in " << path << "\n" << first.errors;
  EXPECT_EQ(device.rfind("tcp/", 0), 0u) << device;
  // A rate that was never measured must be what the next run goes by.
  std::ofstream(path) << device << ' ' << way << ' ' << bin << " 4321\n";
  test::JobResult second = run(line, [&](MachineLayer& layer) { return exchange_large(layer, *board_); });
  EXPECT_EQ(second.status, 0) << second.errors;
  EXPECT_THAT(second.errors, HasSubstr(way + " 4321.0 GB/s"));
  ::unlink(path.c_str());
}

// ---- what all workers of a process know together

TEST(NetPeers, AProcessWhoseWorkersHaveGoneIsLostOnce) {
  bootstrap::JobLayout job;
  job.layout = test::layout(6, 3);
  std::vector<std::string> told;
  machine::NetConfig config;
  config.job = &job;
  config.lost = [&](int process, const std::string& reason) { told.push_back(std::to_string(process) + " " + reason); };
  machine::NetPeers peers(config);
  const auto id = [&](int process, int worker) { return peers.id_of(peers.index_of(process, worker)); };
  EXPECT_NE(id(1, 0), id(1, 1));
  EXPECT_EQ(peers.process_of(id(2, 3)), 2);
  peers.lost(id(1, 0), "a");
  peers.lost(id(1, 1), "b");
  peers.lost(id(2, 1), "c");
  EXPECT_EQ(told, (std::vector<std::string>{"1 a", "2 c"}));
  EXPECT_EQ(peers.ended_by(), -1);
  peers.disconnected(id(2, 1));
  peers.disconnected(id(0, 0));
  EXPECT_EQ(peers.ended_by(), 2);
}

}  // namespace
}  // namespace periapt
