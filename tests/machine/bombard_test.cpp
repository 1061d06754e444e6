// A thousand real senders at one receiver that does not listen: four processes of 250 workers each, all connected with
// one worker of this process, over each transport of the build. The receiver stays within its bound, and nothing is
// lost. (flood_test.cpp has the same on the simulated wire, step by step.)
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <vector>

#include "machine/layer/transports.h"
#include "machine/ucx-like/worker.h"
#include "tests/machine/standstill.h"

namespace periapt::ucx {
namespace {

constexpr unsigned kProcesses = 4, kWorkers = 250, kSenders = kProcesses * kWorkers, kEach = 60;
constexpr std::size_t kSize = 1000;            // 60 MB in all
constexpr std::uint64_t kBound = 10 << 20;     // of messages that were not asked for
constexpr rlim_t kFiles = kSenders * 4 + 200;  // a link of shm takes a few descriptors, one of tcp one
constexpr PeerId kReceiver = 1;

Buffer allocated(std::size_t size) {
  return {static_cast<std::byte*>(std::calloc(size, 1)), size, [](void*, void* bytes) { std::free(bytes); }, nullptr};
}

std::uint64_t resident_bytes() {
  std::uint64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

struct Taken {
  std::map<PeerId, unsigned> next;
  std::uint64_t count = 0, out_of_order = 0;

  static void arrived(void* self, Buffer bytes, const Received& received) {
    auto& all = *static_cast<Taken*>(self);
    unsigned number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    all.out_of_order += number != all.next[received.from]++;
    ++all.count;
  }
};

class Bombard : public ::testing::TestWithParam<std::string> {
 protected:
  Result<std::unique_ptr<Context>> context(PeerId self) const {
    ContextRequest request;
    request.factories = machine::transports();
    request.transports = GetParam();
    request.self = self;
    request.host = "here";
    request.secret.assign(16, std::byte{7});
    request.limits.unexpected_bytes = kBound;
    request.option = [](const std::string& name) { return std::string(name == "+net-devices" ? "lo" : ""); };
    return Context::create(std::move(request));
  }

  // In a process of its own: sends all, waits until all has arrived. A status.
  int send_from(unsigned process, const std::vector<std::byte>& address) const {
    auto made = context(kReceiver + 1);
    if (!made) return 2;
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<Endpoint*> endpoints;
    for (unsigned i = 0; i < kWorkers; ++i) {
      auto worker = Worker::create(**made, kReceiver + 1 + process * kWorkers + i);
      if (!worker) return 3;
      auto endpoint = (*worker)->connect(address);
      if (!endpoint) return 4;
      workers.push_back(std::move(*worker));
      endpoints.push_back(*endpoint);
    }
    std::vector<RequestPtr> flushes;
    for (unsigned number = 0; number < kEach; ++number) {
      for (Endpoint* endpoint : endpoints) {
        Buffer message = allocated(kSize);
        std::memcpy(message.data(), &number, sizeof number);
        endpoint->tag_send_owned(std::move(message), 5);
      }
    }
    for (Endpoint* endpoint : endpoints) flushes.push_back(endpoint->flush());
    const auto open = [](const RequestPtr& request) { return request && !request->ended(); };
    while (std::any_of(flushes.begin(), flushes.end(), open)) {
      for (auto& worker : workers) worker->progress();
    }
    const auto bad = [](const RequestPtr& request) { return request && request->outcome() != Outcome::ok; };
    return std::any_of(flushes.begin(), flushes.end(), bad) ? 5 : 0;
  }

  void start_senders(const std::vector<std::byte>& address) {
    for (unsigned process = 0; process < kProcesses; ++process) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(send_from(process, address));
      ASSERT_GT(child, 0);
      children_.push_back(child);
    }
  }
  // The first status that is not 0.
  int end_senders() {
    int first = 0;
    for (pid_t child : children_) {
      int status = 0;
      ::waitpid(child, &status, 0);
      if (first == 0) first = status;
    }
    children_.clear();
    return first;
  }
  void TearDown() override {
    for (pid_t child : children_) ::kill(child, SIGKILL);
    end_senders();
  }

  std::vector<pid_t> children_;
};

TEST_P(Bombard, AThousandSendersKeepTheReceiverInItsBoundAndLoseNothing) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_max < kFiles) GTEST_SKIP() << kFiles << " open files are needed, and " << files.rlim_max << " allowed";
  files.rlim_cur = std::max(files.rlim_cur, kFiles);
  ::setrlimit(RLIMIT_NOFILE, &files);
  auto made = context(kReceiver);
  if (!made) GTEST_SKIP() << made.message();
  auto receiver = Worker::create(**made);
  ASSERT_TRUE(receiver.ok()) << receiver.message();
  start_senders((*receiver)->address());

  // The receiver asks for no message until all have sent some and the bound is used. (The counter counts them as they
  // come.)
  const std::uint64_t before = resident_bytes();
  std::uint64_t held = 0;
  test::Standstill standstill([&] {
    return std::to_string((*receiver)->counters().unexpected) + " messages wait at the receiver, " +
           std::to_string(held) + " bytes";
  });
  while (held < kBound / 4 || (*receiver)->counters().unexpected < kSenders) {
    standstill.look((*receiver)->progress() > 0);
    held = (*receiver)->counters().unexpected * kSize;
    ASSERT_LE(held, kBound);
  }
  for (int turns = 0; turns < 20'000; ++turns) {  // and goes on for a while
    (*receiver)->progress();
    ASSERT_LE((*receiver)->counters().unexpected * kSize, kBound);
  }
  const std::uint64_t peak = resident_bytes() - before;
  // What a link may cost the receiver beside them: of shm its rings, which are memory of both.
  const std::uint64_t a_link = GetParam() == "shm" ? 128 << 10 : 16 << 10;
  EXPECT_LE(peak, kBound + kSenders * a_link);

  Taken taken;
  (*receiver)->post_persistent(
      {5, kFullMask, &taken, [](void*, std::uint64_t size) { return allocated(size); }, Taken::arrived});
  test::Standstill taking([&] { return std::to_string(taken.count) + " messages were taken"; });
  while (taken.count < kSenders * kEach) {
    taking.look((*receiver)->progress() > 0);
    int status = 0;
    ASSERT_TRUE(::waitpid(children_.front(), &status, WNOHANG | WNOWAIT) <= 0 || status == 0)
        << "a sender left: " << status;
  }
  for (int turns = 0; turns < 1000; ++turns) (*receiver)->progress();  // senders hear of it, and nothing comes twice
  std::printf(
      "%s: %llu KiB of memory more than before the first message, for %llu KiB of messages that were not asked for\n",
      GetParam().c_str(), static_cast<unsigned long long>(peak >> 10), static_cast<unsigned long long>(held >> 10));
  EXPECT_EQ(taken.count, kSenders * kEach);
  EXPECT_EQ(taken.next.size(), kSenders);
  EXPECT_EQ(taken.out_of_order, 0u);
  // They leave while we drive the worker: a flush is answered here.
  for (pid_t child : children_) {
    siginfo_t ended{};
    while (ended.si_pid == 0 && ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0)
      (*receiver)->progress();
  }
  EXPECT_EQ(end_senders(), 0);
}

INSTANTIATE_TEST_SUITE_P(Real, Bombard, ::testing::Values("tcp", "shm"), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace periapt::ucx
