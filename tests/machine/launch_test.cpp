// Several processes of one run: how they are started, how they end, and that none is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <set>

#include "tests/machine/job.h"

namespace periapt {
namespace {

using machine::MachineLayer;
using machine::Route;
using ::testing::HasSubstr;

// In a job: tells the test, through memory both share, which is which.
struct Roll {
  std::atomic<pid_t> pid[8];
  std::atomic<int> present;
};
Roll* roll_call() {
  static Roll* roll =
      static_cast<Roll*>(::mmap(nullptr, sizeof(Roll), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (auto& pid : roll->pid) pid = 0;
  roll->present = 0;
  return roll;
}
void report(Roll* roll, MachineLayer& layer) {
  roll->pid[layer.process()] = ::getpid();
  roll->present.fetch_add(1);
}
void await(Roll* roll, int processes) {
  while (roll->present < processes) ::usleep(1000);
}
// Atomic only for ThreadSanitizer, which does not see the part of a barrier that another process plays.
std::atomic<int>& word(std::byte* page) { return *reinterpret_cast<std::atomic<int>*>(page); }
[[noreturn]] void work_for_ever() {
  for (;;) ::pause();
}

int report_and_work(Roll* roll, MachineLayer& layer) {
  report(roll, layer);
  work_for_ever();
}

TEST(Launch, EachProcessHasItsPesAndAllMeetAtTheBarrier) {
  test::JobResult job = test::run_job(test::layout(6, 3), [](MachineLayer& layer) {
    if (layer.own_pes() != 2 || layer.first_pe() != 2 * layer.process() || layer.pes() != 6) return 3;
    if (layer.route(layer.first_pe()) != Route::self_process || layer.route(6) != Route::other_host) return 4;
    if (layer.route((layer.first_pe() + 2) % 6) != Route::same_host) return 5;
    std::atomic<int> wrong{0};
    test::run_pes(layer, [&](int pe) {
      for (int round = 1; round <= 200; ++round) {
        word(layer.pe_page(pe)) = round;
        if (!layer.barrier()) wrong = 6;
        for (int other = 0; other < layer.pes(); ++other) {
          if (word(layer.pe_page(other)) != round) wrong = 7;
        }
        if (!layer.barrier()) wrong = 6;
      }
    });
    return wrong.load();
  });
  EXPECT_EQ(job.status, 0) << job.errors;
  EXPECT_EQ(job.errors, "");
  EXPECT_FALSE(job.left_behind);
}

TEST(Launch, TheStatusOfTheRunIsTheFirstOneThatIsNotZero) {
  test::JobResult job = test::run_job(test::layout(2, 2), [](MachineLayer& layer) {
    layer.announce_exit(7);
    while (!layer.exit_announced()) {
    }
    return layer.exit_code();
  });
  EXPECT_EQ(job.status, 7);
  EXPECT_EQ(job.errors, "");
}

TEST(Launch, TheFirstAnnouncedExitStands) {
  auto layer = MachineLayer::start(test::layout(2, 1));
  ASSERT_TRUE(layer.ok()) << layer.message();
  EXPECT_FALSE((*layer)->exit_announced());
  (*layer)->announce_exit(-3);
  (*layer)->announce_exit(5);
  EXPECT_TRUE((*layer)->exit_announced());
  EXPECT_EQ((*layer)->exit_code(), -3);
  EXPECT_FALSE((*layer)->barrier()) << "a run that ends holds nobody at a barrier";
}

TEST(Launch, AProcessThatIsKilledIsNamedAndTheOthersEnd) {
  Roll* roll = roll_call();
  pid_t victim = 0;
  test::JobResult job = test::run_job(
      test::layout(6, 3), [roll](MachineLayer& layer) { return report_and_work(roll, layer); },
      [&](pid_t) {
        await(roll, 3);
        ::kill(victim = roll->pid[1], SIGKILL);
      });
  EXPECT_EQ(job.status, 128 + SIGKILL);
  EXPECT_THAT(job.errors, HasSubstr("process 1 (pid " + std::to_string(victim) + ", PEs 2-3) was killed by signal 9"));
  EXPECT_FALSE(job.left_behind);
}

TEST(Launch, TheDeathOfProcessZeroEndsARunThatIgnoresSigterm) {
  Roll* roll = roll_call();
  test::JobResult job = test::run_job(
      test::layout(2, 2),
      [roll](MachineLayer& layer) {
        ::signal(SIGTERM, SIG_IGN);
        return report_and_work(roll, layer);
      },
      [&](pid_t) {
        await(roll, 2);
        ::kill(roll->pid[0], SIGUSR1);
      });
  EXPECT_EQ(job.status, 128 + SIGUSR1);
  EXPECT_THAT(job.errors, HasSubstr("process 0"));
  EXPECT_FALSE(job.left_behind);
}

TEST(Launch, TheDeathOfTheParentEndsAllWithOneSentence) {
  Roll* roll = roll_call();
  test::JobResult job = test::run_job(
      test::layout(3, 3), [roll](MachineLayer& layer) { return report_and_work(roll, layer); },
      [&](pid_t parent) {
        await(roll, 3);
        ::kill(parent, SIGKILL);
      });
  EXPECT_EQ(job.status, 1000 + SIGKILL);
  EXPECT_EQ(job.errors, "periapt: the parent process of this run was killed; its other processes end\n");
  EXPECT_FALSE(job.left_behind);
}

TEST(Launch, ASignalToTheParentReachesTheProcesses) {
  Roll* roll = roll_call();
  test::JobResult job = test::run_job(
      test::layout(2, 2), [roll](MachineLayer& layer) { return report_and_work(roll, layer); },
      [&](pid_t parent) {
        await(roll, 2);
        ::kill(parent, SIGINT);
      });
  EXPECT_EQ(job.status, 128 + SIGINT);
  EXPECT_EQ(job.errors, "");
  EXPECT_FALSE(job.left_behind);
}

TEST(Launch, AProcessThatLeavesEarlyWithAStatusIsNamed) {
  test::JobResult job = test::run_job(test::layout(2, 2), [](MachineLayer& layer) {
    if (layer.process() == 1) std::_Exit(9);
    work_for_ever();
    return 0;
  });
  EXPECT_EQ(job.status, 9);
  EXPECT_THAT(job.errors, HasSubstr("process 1"));
  EXPECT_THAT(job.errors, HasSubstr("left with status 9"));
}

TEST(Launch, AProcessThatLeavesQuietlyWhileOthersWorkIsNamed) {
  test::JobResult job = test::run_job(test::layout(2, 2), [](MachineLayer& layer) {
    if (layer.process() == 0) std::_Exit(0);
    work_for_ever();
    return 0;
  });
  EXPECT_EQ(job.status, 1);
  EXPECT_THAT(job.errors, HasSubstr("process 0"));
  EXPECT_THAT(job.errors, HasSubstr("left with status 0"));
}

TEST(Launch, AFatalErrorOnOneEndsAll) {
  test::JobResult job = test::run_job(test::layout(3, 3), [](MachineLayer& layer) {
    if (layer.process() == 2) fatal("it broke", "a test");
    if (layer.barrier()) return 3;
    return layer.exit_code();
  });
  EXPECT_EQ(job.status, 1);
  EXPECT_THAT(job.errors, HasSubstr("it broke"));
  EXPECT_THAT(job.errors, ::testing::Not(HasSubstr("left with status")));
}

TEST(Launch, OnlyProcessZeroReadsStandardInput) {
  int input[2];
  ASSERT_EQ(::pipe(input), 0);
  ASSERT_EQ(::write(input[1], "x", 1), 1);
  ::close(input[1]);
  int former = ::dup(STDIN_FILENO);
  ::dup2(input[0], STDIN_FILENO);
  test::JobResult job = test::run_job(test::layout(2, 2), [](MachineLayer& layer) {
    char c = 0;
    ssize_t n = layer.process() == 0 ? 0 : ::read(STDIN_FILENO, &c, 1);
    if (!layer.barrier()) return 3;
    if (layer.process() == 0) n = ::read(STDIN_FILENO, &c, 1) - 1;
    if (!layer.barrier()) return 4;
    return n == 0 ? 0 : 5;
  });
  ::dup2(former, STDIN_FILENO);
  ::close(former);
  ::close(input[0]);
  EXPECT_EQ(job.status, 0) << job.errors;
}

// The memory of a run has no name: nothing of it in /dev/shm, and its size is sealed.
TEST(Launch, MemoryIsAtOneAddressAndHasNoName) {
  test::JobResult job = test::run_job(test::layout(2, 2), [](MachineLayer& layer) {
    std::memcpy(layer.pe_page(layer.process()), "here", 4);
    void* base = layer.arena().host_page();
    std::memcpy(layer.pe_page(layer.process()) + 8, &base, sizeof(base));
    if (!layer.barrier()) return 3;
    if (std::memcmp(layer.pe_page(0), layer.pe_page(1), 16) != 0) return 4;
    std::ifstream maps("/proc/self/maps");
    bool memfd = false;
    for (std::string line; std::getline(maps, line);) {
      if (line.find("/dev/shm") != std::string::npos) return 5;
      memfd = memfd || line.find("/memfd:periapt-process-1") != std::string::npos;
    }
    return memfd ? 0 : 6;
  });
  EXPECT_EQ(job.status, 0) << job.errors;
}

TEST(LaunchDeathTest, AMachineThatMayNotReserveAddressesIsExplained) {
  if (platform::kThreadSanitizer || platform::kAddressSanitizer) GTEST_SKIP() << "sanitizers need the addresses";
  EXPECT_EXIT(
      {
        rlimit limit;
        limit.rlim_cur = limit.rlim_max = std::size_t{256} << 20;
        ::setrlimit(RLIMIT_AS, &limit);
        auto layer = MachineLayer::start(test::layout(16, 1));
        fatal(layer ? "it started" : layer.message());
      },
      ::testing::ExitedWithCode(1), "ulimit -v unlimited");
}

}  // namespace
}  // namespace periapt
