// What waits for the end of a run when a process has gone looks at the host's memory and asks the launcher, again and
// again. It must be over before they are: they go when this process leaves, which may be a moment after that process.
#include "machine/layer/run_end.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/fatal.h"
#include "tests/machine/job.h"

namespace periapt::machine {
namespace {

using namespace std::chrono_literals;

class CountingWorld : public bootstrap::PassingWorld {
 public:
  CountingWorld(std::unique_ptr<World> inner, std::atomic<int>& looks)
      : PassingWorld(std::move(inner)), looks_(looks) {}
  bool well(std::string*) override { return ++looks_, true; }

 private:
  std::atomic<int>& looks_;
};

template <class T>
T must(Result<T> made) {
  if (!made) fatal(made.message());
  return std::move(*made);
}

// Processes of one host, of which this is the first.
struct RunOf {
  explicit RunOf(int processes) : layout(test::layout(processes, processes)) {
    job.world = std::make_unique<SharedWorld>(std::make_unique<CountingWorld>(must(bootstrap::World::find()), looks));
  }
  std::atomic<int> looks{0};
  Job job;
  const bootstrap::HostLayout layout;
  HostMemory memory{layout, must(host::Arena::map(layout.process_of))};
};

TEST(RunEnd, NothingOfItLooksForTheEndBehindItsOwn) {
  RunOf run(1);
  {
    RunEnd end(run.layout, 0, run.memory, run.job, nullptr);
    end.disconnected();
    while (run.looks == 0) std::this_thread::yield();
  }
  const int until_then = run.looks;
  std::this_thread::sleep_for(200ms);  // eight looks
  EXPECT_EQ(run.looks, until_then);
  EXPECT_FALSE(run.memory.control().exit_announced()) << "a process that leaves by itself ends no others";
}

// It had been missing a process for long when another one said so: the launcher may not have heard of that yet, and
// would name this one too if it left at once.
TEST(RunEnd, AfterANoticeTheLauncherHasTimeToHearOfIt) {
  RunOf run(2);
  RunEnd end(run.layout, 0, run.memory, run.job, nullptr);
  end.lost(1, "for this test");
  while (run.looks < 50) std::this_thread::yield();
  end.disconnected();
  const int until_then = run.looks;
  while (!run.memory.control().exit_announced()) std::this_thread::sleep_for(10ms);
  EXPECT_GE(run.looks - until_then, 100);
}

}  // namespace
}  // namespace periapt::machine
