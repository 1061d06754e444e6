// Order of whens and messages, frames, and the end of an object under its own code.
#include "runtime/sdag/machine.h"

#include <gtest/gtest.h>

#include "tests/sdag/by_hand.h"

namespace periapt::sdag {
namespace {

// when a(n, v) { note }, again and again.
TEST(Machine, KeepsMessagesInTheOrderOfTheirArrival) {
  const Body body({when(0, 1, 1, "x.ci:1"), serial(0, "x.ci:1"), release(0, 1), jump(0)}, {waits_for<entry_a>(0)},
                  {notes("a", 0)}, 1, 1);
  Running run;
  for (int i = 0; i < 20; ++i) run.come({entry_a, 20 - i, i});
  run.begin(body);
  std::string expected;
  for (int i = 0; i < 20; ++i) expected += "a" + std::to_string(20 - i) + ":" + std::to_string(i) + " ";
  EXPECT_EQ(run.object.seen, expected);
  run.come({entry_a, 7, 7});
  EXPECT_EQ(run.object.seen, expected + "a7:7 ");
}

// when a[turn](n, v): in the order of the numbers, whatever comes first.
TEST(Machine, TakesByReferenceNumber) {
  const Body body(
      {unless(0, 6), when(0, 1, 2, "x.ci:1"), serial(1, "x.ci:1"), release(0, 1), serial(3, "x.ci:2"), jump(0), end()},
      {waits_for<entry_a>(0, 2)},
      {[](Object& o, Frame& f) { f.answer(o.turn < 30); }, notes("a", 0),
       answers([](Object& o, Frame&) { return o.turn; }), [](Object& o, Frame&) { ++o.turn; }},
      1, 1);
  Running run;
  run.begin(body);
  std::string expected;
  for (int i = 0; i < 30; ++i) expected += "a" + std::to_string(i) + ":0 ";
  for (int i = 0; i < 30; ++i) run.come({entry_a, i * 7 % 30, 0});
  EXPECT_EQ(run.object.seen, expected);
  EXPECT_TRUE(run.machine->empty()) << "the body has ended";
}

TEST(Machine, AMessageGoesToTheWhenThatHasWaitedLongest) {
  // when a[turn] { note } of each instance: all wait for the same.
  const Body body({when(0, 1, 1, "x.ci:1"), serial(0, "x.ci:1"), release(0, 1), end()}, {waits_for<entry_a>(0)},
                  {[](Object& o, Frame& f) { o.seen += std::to_string(f.get<Two, 1>(0)) + " "; }}, 1, 1);
  Running run;
  for (int i = 0; i < 3; ++i) run.begin(body);
  for (int i = 0; i < 3; ++i) run.come({entry_a, 0, i});
  EXPECT_EQ(run.object.seen, "0 1 2 ");
  EXPECT_TRUE(run.machine->empty());
}

// when a[5](), b(), a(): numbers have less choice, so they choose first.
TEST(Machine, SeveralEntriesOfOneWhenTakeDifferentMessages) {
  const Body body({when(0, 3, 1, "x.ci:1"), serial(0, "x.ci:1"), release(0, 3), end()},
                  {waits_for<entry_a>(0), waits_for<entry_b>(1), waits_for<entry_a>(2, 1)},
                  {[](Object& o, Frame& f) {
                     notes("a", 0)(o, f);
                     notes("b", 1)(o, f);
                     notes("a", 2)(o, f);
                   },
                   answers([](Object&, Frame&) { return 5; })},
                  3, 3);
  const Call calls[] = {{entry_a, 5, 1}, {entry_b, 0, 2}, {entry_a, 4, 3}};
  for (int first = 0; first < 3; ++first) {
    Running run;
    run.begin(body);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(run.object.seen, "") << "two of three are not enough";
      run.come(calls[(first + i) % 3]);
    }
    EXPECT_EQ(run.object.seen, "a4:3 b0:2 a5:1 ");
    EXPECT_TRUE(run.machine->empty());
  }
}

TEST(Machine, ACaseTakesTheOneThatIsComplete) {
  // case { when a(), b() {...} when c() {...} }, and then what the first has left is taken.
  const Body body({choose(2, "x.ci:1"), when(0, 2, 3, "x.ci:2"), when(2, 1, 6, "x.ci:3"), serial(0, "x.ci:2"),
                   release(0, 2), jump(9), serial(1, "x.ci:3"), release(0, 1), jump(9), when(3, 1, 10, "x.ci:4"),
                   serial(2, "x.ci:4"), release(0, 1), end()},
                  {waits_for<entry_a>(0), waits_for<entry_b>(1), waits_for<entry_c>(0), waits_for<entry_a>(0)},
                  {notes("first "), notes("c", 0), notes("a", 0)}, 2, 3);
  Running run;
  run.begin(body);
  run.come({entry_a, 1, 1});
  EXPECT_EQ(run.object.seen, "");
  run.come({entry_c, 2, 2});
  EXPECT_EQ(run.object.seen, "c2:2 a1:1 ");
  run.come({entry_b, 3, 3});
  EXPECT_FALSE(run.machine->empty()) << "b is kept";
  EXPECT_EQ(run.machine->describe(), "") << "and nothing waits";
}

TEST(Machine, AnEndedForallLetsItsFrameGoOn) {
  for (const auto& [first, last, stride, expected] : {std::tuple<int, int, int, const char*>{0, 4, 2, "0 2 4 end "},
                                                      {4, 0, -2, "4 2 0 end "},
                                                      {3, 3, 1, "3 end "},
                                                      {3, 2, 1, "end "},
                                                      {0, 5, 3, "0 3 end "}}) {
    const Body body({forall(0, 0, 3, "x.ci:1"), serial(1, "x.ci:1"), end(), serial(2, "x.ci:2"), end()}, {},
                    {[first = first, last = last, stride = stride](Object&, Frame& f) { f.range(first, last, stride); },
                     [](Object& o, Frame& f) { o.seen += std::to_string(f.index(0)) + " "; }, notes("end ")},
                    1, 0);
    Running run;
    run.begin(body);
    EXPECT_EQ(run.object.seen, expected);
  }
}

TEST(Machine, TellsWhatItWaitsForAndWhatItKeeps) {
  const Body body({when(0, 2, 1, "x.ci:12"), release(0, 2), end()}, {waits_for<entry_a>(0, 0), waits_for<entry_b>(1)},
                  {answers([](Object&, Frame&) { return -3; })}, 2, 2);
  Running run;
  run.begin(body);
  run.come({entry_b, 0, 0});
  const std::string text = run.machine->describe();
  EXPECT_NE(text.find("Object waits: when "), std::string::npos) << text;
  EXPECT_NE(text.find("[-3]"), std::string::npos) << text;
  EXPECT_NE(text.find("(x.ci:12)"), std::string::npos) << text;
  EXPECT_NE(text.find(" has come"), std::string::npos) << text;
  EXPECT_NE(text.find("keeps 1 message"), std::string::npos) << text;
}

}  // namespace
}  // namespace periapt::sdag
