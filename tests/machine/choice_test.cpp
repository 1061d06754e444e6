// Which way messages take: thresholds, what is measured and remembered, and the words that explain it.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "machine/ucx-like/plan.h"
#include "tests/machine/engine_fixture.h"

namespace periapt::ucx::testing {
namespace {

using ::testing::HasSubstr;

Device device(Costs costs = {}) {
  Device made;
  made.can = WireSettings().can;
  made.costs = costs;
  return made;
}

TEST(Plan, CostsDecideWhatIsAskedFor) {
  Device near = device({20, 100, 10, 0, 10}), far = device({2000, 20'000, 10, 0, 10});
  Plan quick = make_plan({&near}, {}), slow = make_plan({&far}, {});
  EXPECT_LT(quick.eager_max, slow.eager_max) << "asking a far peer costs more";
  EXPECT_LE(quick.inline_max, quick.eager_max);
}

TEST(Plan, LimitsSetByHandWin) {
  Device one = device();
  Limits limits;
  limits.eager_copy_max = 100;
  limits.rendezvous_min = 5000;
  Plan plan = make_plan({&one}, limits);
  EXPECT_EQ(plan.inline_max, 100u);
  EXPECT_EQ(plan.eager_max, 4999u);
  EXPECT_THAT(plan.why_eager, HasSubstr("set by hand"));
}

TEST(WayTimes, TriesEachWayAndThenTakesTheFastest) {
  WayTimes times;
  unsigned all = bit_of(LargeWay::get) | bit_of(LargeWay::put) | bit_of(LargeWay::data);
  unsigned tried[3] = {};
  for (unsigned i = 0; i < 3 * WayTimes::kEnough; ++i) {
    LargeWay way = times.choose(all, 1 << 20);
    ++tried[static_cast<unsigned>(way)];
    times.note(way, 1 << 20, way == LargeWay::put ? 50'000 : 100'000);
  }
  for (unsigned count : tried) EXPECT_EQ(count, WayTimes::kEnough);
  EXPECT_EQ(times.choose(all, 1 << 20), LargeWay::put);
  EXPECT_EQ(times.choose(bit_of(LargeWay::get) | bit_of(LargeWay::data), 1 << 20), LargeWay::get);
  EXPECT_EQ(times.choose(bit_of(LargeWay::data), 64), LargeWay::data);

  WayTimes again;
  std::istringstream lines(times.lines("net/eth0"));
  for (std::string line; std::getline(lines, line);) again.read_line("net/eth0", line);
  EXPECT_EQ(again.choose(all, 1 << 20), LargeWay::put);
  for (const char* wrong :
       {"", "net/eth0", "net/eth0 fly 0 1", "net/eth0 get 99 1", "net/eth0 get 0 -1", "net/eth0 get 0 nan"}) {
    again.read_line("net/eth0", wrong);
  }
  EXPECT_EQ(again.choose(all, 1 << 20), LargeWay::put);
}

class Choice : public EngineTest {};

TEST_F(Choice, IsExplainedInWords) {
  wire.settings.can.max_get = ~std::size_t{0};
  start(2);
  Endpoint& peer = endpoint(1, 2);
  EXPECT_THAT(worker(1).explain(&peer), HasSubstr("not connected yet"));
  std::vector<std::byte> message = pattern(1 << 20), into(message.size());
  for (unsigned i = 0; i < 2 * WayTimes::kEnough; ++i) {
    RequestPtr receive = worker(1).tag_receive(into, 1);
    RequestPtr send = endpoint(2, 1).tag_send(message, 1);
    until([&] { return receive->ended() && send->ended(); });
  }
  std::string text = worker(1).explain();
  EXPECT_THAT(text, HasSubstr("worker 2: over wire/0"));
  EXPECT_THAT(text, HasSubstr("1 MiB to 8 MiB: by "));
  EXPECT_THAT(text, HasSubstr(", the fastest: get "));
  EXPECT_THAT(text, HasSubstr("; the device has no put"));
  EXPECT_THAT(text, HasSubstr("below 1 MiB: by get, which is to be measured: get not tried yet, data not tried yet"))
      << "sizes of which the same is known stand in one line";
}

TEST_F(Choice, WhatWasMeasuredIsKeptInAFile) {
  wire.settings.can.max_get = ~std::size_t{0};
  wire.cost_file = (std::filesystem::temp_directory_path() / ("periapt-costs-" + std::to_string(::getpid()))).string();
  start(2);
  std::vector<std::byte> message = pattern(1 << 20), into(message.size());
  for (unsigned i = 0; i < 2 * WayTimes::kEnough; ++i) {
    RequestPtr receive = worker(2).tag_receive(into, 1);
    RequestPtr send = endpoint(1, 2).tag_send(message, 1);
    until([&] { return receive->ended() && send->ended(); });
  }
  { std::ofstream(wire.cost_file) << "other/device get 1 5\n"; }
  nodes.clear();
  std::ifstream file(wire.cost_file);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(text, HasSubstr("wire/0 get 2 "));
  EXPECT_THAT(text, HasSubstr("wire/0 data 2 "));
  EXPECT_THAT(text, HasSubstr("other/device get 1 5"));
  start(2);
  RequestPtr send = endpoint(1, 2).tag_send(message, 1);
  until([&] { return worker(2).counters().unexpected == 1; });
  RequestPtr receive = worker(2).tag_receive(into, 1);
  until([&] { return receive->ended() && send->ended(); });
  EXPECT_THAT(worker(2).explain(), ::testing::ContainsRegex("1 MiB to 8 MiB: by (get|data), the fastest: get "));
  std::filesystem::remove(wire.cost_file);
}

TEST_F(Choice, AFileThatHoldsNoCostsIsRefusedBeforeItIsWrittenOver) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("periapt-no-costs-" + std::to_string(::getpid()))).string();
  const auto answer = [&](const std::string& text) {
    std::ofstream(path) << text;
    ContextRequest request;
    request.cost_file = path;
    return check_request(request);
  };
  EXPECT_TRUE(answer("").ok());
  EXPECT_TRUE(answer("wire/0 get 1 5\nother put 3 0.5\n").ok());
  EXPECT_THAT(answer("wire/0 get 1 5\nint main() {}\n").message(), HasSubstr("line 2"));
  for (const char* line : {"wire/0 got 1 5", "wire/0 get 99 5", "wire/0 get 1 -5", "wire/0 get 1 5 6", "wire/0 get 1"})
    EXPECT_THAT(answer(line).message(), HasSubstr("not a file of costs")) << line;
  std::filesystem::remove(path);
}

TEST_F(Choice, AWayCanBeSetByHandAndAWrongWordIsNamed) {
  wire.settings.can.max_get = wire.settings.can.max_put = ~std::size_t{0};
  wire.options["+rendezvous"] = "put";
  start(2);
  std::vector<std::byte> message = pattern(300'000), into(message.size());
  for (unsigned i = 0; i < 10; ++i) {
    RequestPtr receive = worker(2).tag_receive(into, 1);
    RequestPtr send = endpoint(1, 2).tag_send(message, 1);
    until([&] { return receive->ended() && send->ended(); });
  }
  EXPECT_EQ(wire.gets, 0u);
  EXPECT_GT(wire.puts, 0u);
  wire.options["+rendezvous"] = "putt";
  auto context = wire.context(9);
  auto worker = Worker::create(*context);
  EXPECT_FALSE(worker.ok());
  EXPECT_THAT(worker.message(), HasSubstr("putt"));
}

TEST_F(Choice, WhereTheWaySetByHandIsNotThereMessagesAreSent) {
  wire.settings.can.max_get = wire.settings.can.max_put = 0;
  wire.options["+rendezvous"] = "get";
  start(2);
  std::vector<std::byte> message = pattern(300'000), into(message.size());
  RequestPtr receive = worker(2).tag_receive(into, 1);
  RequestPtr send = endpoint(1, 2).tag_send(message, 1);
  until([&] { return receive->ended() && send->ended(); });
  EXPECT_EQ(receive->outcome(), Outcome::ok);
  EXPECT_TRUE(into == message);
}

TEST_F(Choice, AnUnknownTransportIsNamedWithTheNearest) {
  try {
    wire.context(1, {}, "wier");
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean \"wire\"?"));
  }
}

}  // namespace
}  // namespace periapt::ucx::testing
