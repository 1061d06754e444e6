// The small things of base/: the map of the hot path, the clock, values for failures, the block a fatal error prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/bits.h"
#include "base/clock.h"
#include "base/error_text.h"
#include "base/fatal.h"
#include "base/file_text.h"
#include "base/flat_map.h"
#include "base/futex.h"
#include "base/leaving.h"
#include "base/nearest.h"
#include "base/output.h"
#include "base/platform.h"
#include "base/program.h"
#include "base/readable.h"
#include "base/secret.h"
#include "base/status.h"
#include "base/topology.h"

namespace periapt {
namespace {

using ::testing::HasSubstr;

TEST(FlatMap, AgreesWithTheStandardMapOverRandomInsertionsAndErasures) {
  std::mt19937_64 random(1);
  for (std::uint64_t range : {8u, 100u, 5000u}) {
    FlatMap<std::uint64_t> map;
    std::unordered_map<std::uint64_t, std::uint64_t> expected;
    for (int i = 0; i < 100'000; ++i) {
      // Keys a power of two apart fall together in a bad hash.
      std::uint64_t key = (random() % range) << (random() % 2 * 32);
      if (random() % 2 == 0) {
        bool made = map.try_emplace(key, i).second;
        EXPECT_EQ(made, expected.try_emplace(key, i).second);
      } else {
        EXPECT_EQ(map.erase(key), expected.erase(key) == 1);
      }
      EXPECT_EQ(map.size(), expected.size());
    }
    for (std::uint64_t key = 0; key < range; ++key) EXPECT_EQ(map.contains(key), expected.count(key) == 1);
    std::size_t visited = 0;
    map.for_each([&](std::uint64_t key, std::uint64_t& value) {
      EXPECT_EQ(expected.at(key), value);
      ++visited;
    });
    EXPECT_EQ(visited, expected.size());
  }
}

TEST(FlatMap, FindsNothingInAnEmptyMapAndInOneThatWasMovedFrom) {
  FlatMap<int> map;
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_EQ(map.find(FlatMap<int>::kEmpty), nullptr);
  EXPECT_FALSE(map.erase(7));
  map[7] = 1;
  EXPECT_EQ(map.find(FlatMap<int>::kEmpty), nullptr);
  FlatMap<int> other(std::move(map));
  EXPECT_EQ(*other.find(7), 1);
  EXPECT_EQ(map.find(7), nullptr);
}

TEST(FlatMap, DestroysEachValueOnce) {
  auto witness = std::make_shared<int>(0);
  {
    FlatMap<std::shared_ptr<int>> map;
    for (std::uint64_t key = 0; key < 100; ++key) map[key] = witness;
    EXPECT_EQ(witness.use_count(), 101);
    for (std::uint64_t key = 0; key < 100; key += 2) map.erase(key);
    EXPECT_EQ(witness.use_count(), 51);
    map.reserve(10'000);
    EXPECT_EQ(witness.use_count(), 51);
  }
  EXPECT_EQ(witness.use_count(), 1);
}

std::uint64_t kernel_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

TEST(Readable, SaysWhatAProcessorMayTouchAndTouchesNothing) {
  const long page = ::sysconf(_SC_PAGESIZE);
  void* range = ::mmap(nullptr, 3 * static_cast<std::size_t>(page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(range, MAP_FAILED);
  char* const at = static_cast<char*>(range);
  ASSERT_EQ(::mprotect(at + page, static_cast<std::size_t>(page), PROT_READ), 0);
  errno = 7;
  EXPECT_FALSE(is_readable(at + page - 1)) << "reserved and no more, as GPUs' addresses are";
  EXPECT_TRUE(is_readable(at + page));
  EXPECT_TRUE(is_readable(at + 2 * page - 1));
  EXPECT_FALSE(is_readable(at + 2 * page));
  EXPECT_FALSE(is_readable(nullptr));
  EXPECT_TRUE(is_readable(&page));
  EXPECT_EQ(errno, 7);
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_FALSE(::sigismember(&mask, SIGTERM));
  ::munmap(range, 3 * static_cast<std::size_t>(page));
  EXPECT_FALSE(is_readable(at + page));
}

TEST(Clock, NeverGoesBackAndStaysWithTheKernelsClock) {
  std::uint64_t last = 0;
  std::uint64_t begin = kernel_now();
  while (kernel_now() - begin < 50'000'000) {
    std::uint64_t before = kernel_now();
    std::uint64_t now = clock::now_ns();
    std::uint64_t after = kernel_now();
    ASSERT_GE(now, last);
    last = now;
    // A microsecond for the rate; being interrupted between readings only widens the window.
    ASSERT_GE(now + 1'000, before);
    ASSERT_LE(now, after + 1'000);
  }
}

TEST(Clock, ThreadsStartTheirOwnReadings) {
  std::uint64_t here = clock::now_ns();
  std::uint64_t there = 0;
  std::thread([&] { there = clock::now_ns(); }).join();
  EXPECT_GE(there + 1'000, here);
  EXPECT_LE(there, clock::now_ns() + 1'000);
}

TEST(Bits, RoundAndCount) {
  EXPECT_EQ(round_up(1, 64), 64u);
  EXPECT_EQ(round_up(64, 64), 64u);
  EXPECT_EQ(ceil_log2(1), 0u);
  EXPECT_EQ(ceil_log2(5), 3u);
  EXPECT_EQ(round_up_power_of_two(5), 8u);
  EXPECT_EQ(floor_log2(std::uint64_t{1} << 63), 63u);
}

TEST(Status, CarriesItsSentence) {
  Result<int> good(3);
  Result<int> bad(Status::failure("no"));
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(*good, 3);
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.message(), "no");
}

TEST(Nearest, IsTheNameWithTheFewestLettersChangedAddedOrLeftOut) {
  EXPECT_EQ(nearest("GredyLB", {"RefineLB", "GreedyLB", "RotateLB"}), "GreedyLB");
  EXPECT_EQ(nearest("kitten", {"sitting", "mitten"}), "mitten");
  EXPECT_EQ(nearest("", {"three", "six"}), "six");
  EXPECT_EQ(nearest("same", {"sane", "same", "some"}), "same");
}

TEST(Nearest, OfSeveralIsTheFirst) { EXPECT_EQ(nearest("cat", {"horse", "bat", "car"}), "bat"); }

TEST(Nearest, IsEmptyWhenNoneIsNearerThanTheLimit) {
  EXPECT_EQ(nearest("kitten", {"sitting"}, 4), "sitting");
  EXPECT_EQ(nearest("kitten", {"sitting"}, 3), "");
  EXPECT_EQ(nearest("kitten", {}), "");
}

TEST(Nearest, LooksAtTheFirstSixtyFourLetters) {
  const std::string word(64, 'a');
  EXPECT_EQ(nearest(word + std::string(100'000, 'b'), {"a", word}, 1), word);
}

TEST(Futex, AWaiterSleepsUntilItIsWokenOrTheWordHasChangedOrTheLimitHasPassed) {
  for (bool across_processes : {false, true}) {
    std::atomic<std::uint32_t> word{0};
    futex_wait(word, 1, kNoLimit, across_processes);   // it is not 1: no sleep
    futex_wait(word, 0, 1'000'000, across_processes);  // no waker comes
    std::vector<std::thread> waiters;
    for (int i = 0; i < 3; ++i) {
      waiters.emplace_back([&] {
        while (word.load() == 0) futex_wait(word, 0, kNoLimit, across_processes);
      });
    }
    word.store(1);
    futex_wake_one(word, across_processes);
    futex_wake_all(word, across_processes);
    for (std::thread& waiter : waiters) waiter.join();
  }
}

TEST(Secret, RandomBytesAreAsManyAsWereAskedForAndNotThoseOfBefore) {
  for (std::size_t size : {1u, 32u, 100'000u}) {
    const std::string bytes = random_bytes(size);
    ASSERT_EQ(bytes.size(), size);
    if (size >= 32) {
      EXPECT_NE(bytes, random_bytes(size));
    }
    // The last ones have been filled too: they are not the same in each of many draws.
    bool filled = false;
    for (int i = 0; i < 64; ++i) filled |= random_bytes(size).back() != '\0';
    EXPECT_TRUE(filled);
  }
  EXPECT_EQ(random_bytes(0), "");
}

TEST(Secret, EqualOnlyWhenEveryByteIs) {
  const std::string secret = random_bytes(32);
  EXPECT_TRUE(equal_secrets(secret.data(), std::string(secret).data(), 32));
  for (std::size_t i = 0; i < 32; ++i) {
    std::string other = secret;
    other[i] ^= 0x40;
    EXPECT_FALSE(equal_secrets(secret.data(), other.data(), 32)) << i;
    EXPECT_TRUE(equal_secrets(secret.data(), other.data(), i));
  }
}

TEST(Topology, KnowsAtLeastTheCpuWeAreOn) {
  std::vector<int> cpus = topology::allowed_cpus();
  EXPECT_FALSE(cpus.empty());
  EXPECT_EQ(topology::distinct_cores_first(cpus, 1).size(), cpus.size());
}

TEST(Topology, ADeviceIsAsFarAsItsNodeOfMemoryIs) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("periapt-nodes-" + std::to_string(::getpid()));
  const auto write = [&](const std::string& path, const std::string& text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << "\n";
  };
  write("nodes/online", "0,2");  // numbers have gaps
  write("nodes/node0/distance", "10 21");
  write("nodes/node0/cpulist", "0-3");
  write("nodes/node2/distance", "21 10");
  write("nodes/node2/cpulist", "4-5,8");
  write("near/numa_node", "2");
  write("none/numa_node", "-1");
  const auto distance = [&](const char* device, const std::vector<int>& cpus) {
    return topology::distance_to(root / device, cpus, root / "nodes");
  };
  EXPECT_EQ(distance("near", {4, 8}), 10);
  EXPECT_EQ(distance("near", {0, 1}), 21);
  EXPECT_EQ(distance("near", {3, 4}), 15.5);
  EXPECT_EQ(distance("none", {0}), 0);
  EXPECT_EQ(distance("missing", {0}), 0);
  EXPECT_EQ(distance("near", {7}), 0) << "of no node";
  fs::remove_all(root);
}

TEST(Topology, DevicesAreAsFarAsTheBridgesBetweenThemOrTheirNodesOfMemory) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("periapt-buses-" + std::to_string(::getpid()));
  const auto device = [&](const std::string& path, const std::string& node) {
    fs::create_directories(root / path);
    std::ofstream(root / path / "numa_node") << node << "\n";
  };
  fs::create_directories(root / "nodes/node0");
  fs::create_directories(root / "nodes/node1");
  std::ofstream(root / "nodes/online") << "0-1\n";
  std::ofstream(root / "nodes/node0/distance") << "10 21\n";
  std::ofstream(root / "nodes/node1/distance") << "21 10\n";
  device("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0", "0");
  device("pci0000:00/0000:00:01.0/0000:01:01.0/0000:03:00.0", "0");
  device("pci0000:00/0000:00:02.0/0000:04:00.0", "0");
  device("pci0000:40/0000:40:01.0", "0");
  device("pci0000:80/0000:80:01.0", "1");
  device("pci0000:c0/0000:c0:01.0", "-1");
  fs::create_directory_symlink(root / "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0", root / "gpu");
  const auto distance = [&](const std::string& other) {
    return topology::distance_between(root / "gpu", root / other, root / "nodes");
  };
  EXPECT_EQ(distance("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0"), 0) << "itself";
  EXPECT_EQ(distance("pci0000:00/0000:00:01.0/0000:01:01.0/0000:03:00.0"), 4) << "below the same switch";
  EXPECT_EQ(distance("pci0000:00/0000:00:02.0/0000:04:00.0"), 5) << "on the same bus";
  EXPECT_EQ(distance("pci0000:40/0000:40:01.0"), 1000) << "on another one of the same node";
  EXPECT_EQ(distance("pci0000:80/0000:80:01.0"), 2100);
  EXPECT_EQ(distance("pci0000:c0/0000:c0:01.0"), 1000) << "where the firmware says nothing there is one node";
  EXPECT_EQ(distance("missing"), 0);
  fs::remove_all(root);
}

// The code of a function that does nothing but prefetch_for_write().
PERIAPT_NOINLINE void fetch_for_writing(const void* line) { platform::prefetch_for_write(line); }

// A compiler without options for the processor makes a fetch for reading of its own prefetch for writing. No test of
// behaviour sees that, a stream between two cores is three times slower.
TEST(Platform, PrefetchForWriteAsksForTheLineToWriteIt) {
  utsname machine;
  ASSERT_EQ(::uname(&machine), 0);
  if (std::string(machine.machine) != "x86_64") GTEST_SKIP() << "it looks for an instruction of x86-64";
  const auto* code = reinterpret_cast<const unsigned char*>(&fetch_for_writing);
  const unsigned char* end = code + 64;
  const unsigned char prefetchw[] = {0x0F, 0x0D};
  EXPECT_NE(std::search(code, end, std::begin(prefetchw), std::end(prefetchw)), end);
}

TEST(Fatal, SaysWhatWhereWhyAndWhatNext) {
  std::string text = format_complaint({"it broke", "here", "because", "mend it"}, "PE 3");
  EXPECT_EQ(text,
            "periapt: fatal error on PE 3\n"
            "  what:     it broke\n"
            "  where:    here\n"
            "  why:      because\n"
            "  do next:  mend it\n");
  EXPECT_THAT(format_complaint({"it broke", "", "", ""}, ""), ::testing::Not(HasSubstr("why")));
}

TEST(FatalDeathTest, AnotherProcessMaySayIt) {
  const auto leave = [] {
    set_speak_hook([](const Complaint& complaint) { return complaint.what == "said"; });
    fatal("left to others");
  };
  EXPECT_EXIT(leave(), ::testing::ExitedWithCode(1), "^$");
  const auto speak = [] {
    set_speak_hook([](const Complaint& complaint) { return complaint.what == "said"; });
    fatal("said");
  };
  EXPECT_EXIT(speak(), ::testing::ExitedWithCode(1), "said");
}

TEST(FatalDeathTest, OfThreadsThatFailTogetherOneSpeaks) {
  const auto fail = [] {
    static std::atomic<bool> ending{false};
    set_fatal_exit_hook([](int) {
      ending.store(true);
      for (;;) std::this_thread::yield();  // so that the other one ends the process
    });
    std::thread other([] {
      while (!ending.load()) std::this_thread::yield();
      fatal("the second one");
    });
    fatal("the first one");
  };
  EXPECT_EXIT(fail(), ::testing::ExitedWithCode(1), "^periapt: fatal error\n  what:     the first one\n$");
}

TEST(ErrorText, NamesTheCommandThatLiftsALimit) {
  EXPECT_EQ(error_text(EMFILE), "Too many open files; more are allowed by: ulimit -n 65536");
  EXPECT_NE(error_text(EAGAIN).find("ulimit -u unlimited; ulimit -v unlimited"), std::string::npos);
  EXPECT_EQ(error_text(ENOENT), "No such file or directory");
}

class Files : public ::testing::Test {
 protected:
  ~Files() override { ::unlink(path_.c_str()); }
  const std::string path_ = ::testing::TempDir() + "base_test." + std::to_string(::getpid());
};

TEST_F(Files, AreReadWhole) {
  const std::string text(200'000, 'x');
  std::ofstream(path_) << text;
  ASSERT_TRUE(read_file(path_, text.size()).ok());
  EXPECT_EQ(*read_file(path_, text.size()), text);
  EXPECT_EQ(read_file(path_, text.size() - 1).message(), "it is longer than 199999 bytes");
  EXPECT_EQ(read_file(path_ + "/none", 1).message(), "Not a directory");
  EXPECT_EQ(read_file("/nowhere/at/all", 1).message(), "No such file or directory");
}

TEST_F(Files, WhatIsNoneIsSaid) {
  EXPECT_EQ(read_file("/dev/zero", 1000).message(), "it is a device, not a file");
  EXPECT_EQ(read_file("/", 1000).message(), "it is a folder, not a file");
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_TRUE(check_is_file(path_, true).ok());
  EXPECT_EQ(check_is_file(path_, false).message(), "it is a pipe, not a file");
  EXPECT_TRUE(check_is_file("/nowhere/at/all", false).ok()) << "it may be made";
}

TEST_F(Files, APipeIsReadToItsEnd) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  std::thread writer([this] { std::ofstream(path_) << "a line\n"; });
  EXPECT_EQ(*read_file(path_, 1000), "a line\n");
  writer.join();
}

TEST(LeavingDeathTest, ExitsAreMistakesOfTheProgramUnlessTheyAreMeant) {
  const auto watched = [](auto leave) {
    leaving::watch([](const char* function, int status) {
      std::fprintf(stderr, "%s %d;", function, status);
      leaving::is_meant();
      ::_exit(9);
    });
    leave();
  };
  EXPECT_EXIT(watched([] { std::exit(3); }), ::testing::ExitedWithCode(9), "^exit 3;$");
  EXPECT_EXIT(watched([] { ::_exit(0); }), ::testing::ExitedWithCode(9), "^_exit 0;$");
  EXPECT_EXIT(watched([] { std::_Exit(4); }), ::testing::ExitedWithCode(9), "^_Exit 4;$");
  EXPECT_EXIT(watched([] { std::quick_exit(3); }), ::testing::ExitedWithCode(9), "^quick_exit 3;$");
  EXPECT_EXIT(watched([] {
                leaving::is_meant();
                std::exit(3);
              }),
              ::testing::ExitedWithCode(3), "^$");
  EXPECT_EXIT(watched([] {
                if (const pid_t child = ::fork(); child == 0) ::_exit(5);  // a program that could not be started, say
                int status = 0;
                ::wait(&status);
                leaving::is_meant();
                ::_exit(WEXITSTATUS(status));
              }),
              ::testing::ExitedWithCode(5), "^$");
}

TEST_F(Files, AreRemovedWhenTheProcessThatAskedEndsAndNotItsChildren) {
  const std::string kept = path_ + ".kept";
  const auto there = [](const std::string& path) { return std::filesystem::exists(path); };
  const auto end_with = [&](auto leave) {
    for (const std::string& path : {path_, kept}) std::ofstream(path) << "a line";
    const pid_t child = ::fork();
    if (child == 0) {
      leaving::remove_at_end(path_.c_str());
      leaving::remove_at_end(kept.c_str());
      leaving::keep_at_end(kept.c_str());
      if (const pid_t grandchild = ::fork(); grandchild == 0)
        ::_exit(0);
      else
        ::waitpid(grandchild, nullptr, 0);
      if (!there(path_)) ::raise(SIGKILL);
      leave();
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status)) << "a child of its had removed it";
    EXPECT_FALSE(there(path_));
    EXPECT_TRUE(there(kept));
  };
  end_with([] { std::exit(0); });
  end_with([] { ::_exit(0); });
  end_with([] { fatal("a reason", "a test", "none", "nothing"); });
  std::filesystem::remove(kept);
  EXPECT_FALSE(leaving::remove_at_end(std::string(200, 'x').c_str())) << "no path that it can keep";
}

TEST(OutputDeathTest, StandardFilesThatAreClosedBecomeTheNullDevice) {
  const auto without = [](std::initializer_list<int> closed) {
    for (int file : closed) ::close(file);
    output::keep_standard_files();
    struct stat of_null {};
    ::stat("/dev/null", &of_null);
    for (int file : closed) {
      struct stat now {};
      if (::fstat(file, &now) != 0 || now.st_rdev != of_null.st_rdev) ::_exit(1);
    }
    ::_exit(::dup(STDIN_FILENO) > STDERR_FILENO ? 0 : 2);
  };
  EXPECT_EXIT(without({0}), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(without({0, 1}), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(without({0, 1, 2}), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(without({1}), ::testing::ExitedWithCode(0), "");
}

TEST(Program, KnowsItsFileAndBuild) {
  EXPECT_NE(program::path().find("machine_tests"), std::string::npos);
  EXPECT_GE(program::build().size(), 16u);
  EXPECT_EQ(program::build().find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(program::build(), program::build());
}

TEST(FatalDeathTest, LeavesWithStatusOne) {
  EXPECT_EXIT(fatal("it broke", "a test"), ::testing::ExitedWithCode(1), "it broke");
}

}  // namespace
}  // namespace periapt
