// What waits for the end of a run when a process has gone looks at the host's memory and asks the launcher, again and
// again. It must be over before they are: they go when this process leaves, which may be a moment after that process.
#include "machine/layer/run_end.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

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

TEST(RunEnd, NothingOfItLooksForTheEndBehindItsOwn) {
  std::atomic<int> looks{0};
  auto alone = bootstrap::World::find();
  ASSERT_TRUE(alone.ok()) << alone.message();
  Job job;
  job.world = std::make_unique<SharedWorld>(std::make_unique<CountingWorld>(std::move(*alone), looks));
  const bootstrap::HostLayout layout = test::layout(1, 1);
  auto arena = host::Arena::map(layout.process_of);
  ASSERT_TRUE(arena.ok()) << arena.message();
  HostMemory memory(layout, std::move(*arena));
  {
    RunEnd end(layout, 0, memory, job, nullptr);
    end.disconnected();
    while (looks == 0) std::this_thread::yield();
  }
  const int until_then = looks;
  std::this_thread::sleep_for(200ms);  // eight looks
  EXPECT_EQ(looks, until_then);
  EXPECT_FALSE(memory.control().exit_announced()) << "a process that leaves by itself ends no others";
}

// It had been missing a process for long when another one said so: the launcher may not have heard of that yet, and
// would name this one too if it left at once.
TEST(RunEnd, AfterANoticeTheLauncherHasTimeToHearOfIt) {
  std::atomic<int> looks{0};
  auto alone = bootstrap::World::find();
  ASSERT_TRUE(alone.ok()) << alone.message();
  Job job;
  job.world = std::make_unique<SharedWorld>(std::make_unique<CountingWorld>(std::move(*alone), looks));
  const bootstrap::HostLayout layout = test::layout(2, 2);
  auto arena = host::Arena::map(layout.process_of);
  ASSERT_TRUE(arena.ok()) << arena.message();
  HostMemory memory(layout, std::move(*arena));
  RunEnd end(layout, 0, memory, job, nullptr);
  end.lost(1, "for this test");
  while (looks < 50) std::this_thread::yield();
  end.disconnected();
  const int until_then = looks;
  while (!memory.control().exit_announced()) std::this_thread::sleep_for(10ms);
  EXPECT_GE(looks - until_then, 100);
}

}  // namespace
}  // namespace periapt::machine
