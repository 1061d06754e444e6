// A machine is packed and unpacked between any two messages, in the middle of every construct: what its bodies see is
// the same as without. All orders of the messages, and of each order all choices of places where it is packed.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/sdag/by_hand.h"

namespace periapt::sdag {
namespace {

void move_to(Running& from, Running& to) {
  to.object.seen = from.object.seen;
  to.object.turn = from.object.turn;
  PUP::sizer size;
  from.machine->pup(size);
  std::vector<char> bytes(size.size());
  PUP::toMem pack(bytes.data());
  from.machine->pup(pack);
  EXPECT_EQ(pack.size(), bytes.size());
  PUP::fromMem unpack(bytes.data());
  to.machine->pup(unpack);
  EXPECT_EQ(unpack.size(), bytes.size());
}

// What the body has seen when it is packed before those calls whose bit is set in `moves`; the last bit: before it
// begins.
std::string seen(const Body& body, const std::vector<Call>& calls, unsigned moves) {
  auto run = std::make_unique<Running>();
  auto move = [&] {
    auto next = std::make_unique<Running>();
    move_to(*run, *next);
    run = std::move(next);
  };
  const std::size_t before = calls.size() / 3;  // so many come before the body begins
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (i == before) run->begin(body);
    if (moves & 1u << i) move();
    run->come(calls[i]);
  }
  EXPECT_TRUE(run->machine->empty()) << run->machine->describe();
  return run->object.seen;
}

void same_wherever_packed(const Body& body, std::vector<Call> calls) {
  std::vector<std::size_t> order(calls.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  do {
    std::vector<Call> shuffled;
    for (std::size_t i : order) shuffled.push_back(calls[i]);
    const std::string expected = seen(body, shuffled, 0);
    ASSERT_NE(expected.find("end"), std::string::npos);
    for (unsigned moves = 1; moves < 1u << calls.size(); ++moves) ASSERT_EQ(seen(body, shuffled, moves), expected);
  } while (std::next_permutation(order.begin(), order.end()));
}

// overlap { when a() {a} when b() when c() {b c} } end. Inner whens follow outer ones in the table, as lowered.
TEST(Packing, InAnOverlapWithNestedWhens) {
  const Body body({overlap(2, 13, "x.ci:1"), jump(3), jump(7), when(0, 1, 4, "x.ci:2"), serial(0, "x.ci:2"),
                   release(0, 1), end(), when(1, 1, 8, "x.ci:3"), when(2, 1, 9, "x.ci:4"), serial(1, "x.ci:4"),
                   release(1, 1), release(0, 1), end(), serial(2, "x.ci:5"), end()},
                  {waits_for<entry_a>(0), waits_for<entry_b>(0), waits_for<entry_c>(1)},
                  {notes("a", 0),
                   [](Object& o, Frame& f) {
                     notes("b", 0)(o, f);
                     notes("c", 1)(o, f);
                   },
                   notes("end")},
                  2, 1);
  same_wherever_packed(body, {{entry_a, 1, 2}, {entry_b, 3, 4}, {entry_c, 5, 6}});
}

// when a(n, v) forall [i] (0 : 2, 1) { when b[i](n, w) { v += w, b i v } } a v end: instances share the arguments
// around them.
TEST(Packing, InAForallWithinAWhen) {
  const Body body({when(0, 1, 1, "x.ci:1"), forall(0, 1, 6, "x.ci:2"), when(1, 1, 3, "x.ci:3"), serial(2, "x.ci:3"),
                   release(2, 1), end(), serial(3, "x.ci:4"), release(0, 1), serial(4, "x.ci:5"), end()},
                  {waits_for<entry_a>(0), waits_for<entry_b>(2, 1)},
                  {[](Object&, Frame& f) { f.range(0, 2, 1); }, answers([](Object&, Frame& f) { return f.index(1); }),
                   [](Object& o, Frame& f) {
                     f.get<Two, 1>(0) += f.get<Two, 1>(2);
                     o.seen += std::to_string(f.index(1)) + " ";
                     notes("b", 2)(o, f);
                   },
                   notes("a", 0), notes("end")},
                  3, 1);
  same_wherever_packed(body, {{entry_a, 9, 100}, {entry_b, 0, 1}, {entry_b, 1, 2}, {entry_b, 2, 3}});
}

// for (turn = 0; turn < 2; turn++) when a[turn](), b() {a b} end
TEST(Packing, InALoopWhoseWhenWantsTwo) {
  const Body body({serial(0, "x.ci:1"), unless(1, 7), when(0, 2, 3, "x.ci:2"), serial(3, "x.ci:2"), release(0, 2),
                   serial(4, "x.ci:1"), jump(1), serial(5, "x.ci:3"), end()},
                  {waits_for<entry_a>(0, 2), waits_for<entry_b>(1)},
                  {[](Object& o, Frame&) { o.turn = 0; }, [](Object& o, Frame& f) { f.answer(o.turn < 2); },
                   answers([](Object& o, Frame&) { return o.turn; }),
                   [](Object& o, Frame& f) {
                     notes("a", 0)(o, f);
                     notes("b", 1)(o, f);
                   },
                   [](Object& o, Frame&) { ++o.turn; }, notes("end")},
                  2, 2);
  same_wherever_packed(body, {{entry_a, 0, 1}, {entry_a, 1, 2}, {entry_b, 7, 3}, {entry_b, 8, 4}});
}

// while (turn < 2) case { when a(), b() {a b} when c() {c} } end
TEST(Packing, InACaseWithinAWhile) {
  const Body body(
      {unless(0, 11), choose(2, "x.ci:1"), when(0, 2, 4, "x.ci:2"), when(2, 1, 7, "x.ci:3"), serial(1, "x.ci:2"),
       release(0, 2), jump(10), serial(2, "x.ci:3"), release(0, 1), jump(10), jump(0), serial(3, "x.ci:4"), end()},
      {waits_for<entry_a>(0), waits_for<entry_b>(1), waits_for<entry_c>(0)},
      {[](Object& o, Frame& f) { f.answer(o.turn < 2); },
       [](Object& o, Frame& f) {
         ++o.turn;
         notes("a", 0)(o, f);
         notes("b", 1)(o, f);
       },
       [](Object& o, Frame& f) {
         ++o.turn;
         notes("c", 0)(o, f);
       },
       notes("end")},
      2, 3);
  same_wherever_packed(body, {{entry_a, 1, 1}, {entry_b, 2, 2}, {entry_c, 3, 3}});
}

// forall [i] (0 : n - 1, 1) for (;;) when a(n, v) {i}: the one that has waited longest is not the first frame.
TEST(Packing, WhensGoOnWaitingInTheirOrder) {
  for (int instances : {3, 12}) {
    const Body body(
        {forall(0, 0, 6, "x.ci:1"), when(0, 1, 2, "x.ci:2"), serial(1, "x.ci:2"), release(1, 1), jump(1), end(), end()},
        {waits_for<entry_a>(1)},
        {[=](Object&, Frame& f) { f.range(0, instances - 1, 1); },
         [](Object& o, Frame& f) { o.seen += std::to_string(f.index(0)) + " "; }},
        2, 1);
    auto run = std::make_unique<Running>();
    run->begin(body);
    std::string expected;
    for (int i = 0; i < 3 * instances; ++i) {
      auto next = std::make_unique<Running>();
      move_to(*run, *next);
      run = std::move(next);
      run->come({entry_a, 0, 0});
      expected += std::to_string(i % instances) + " ";
    }
    EXPECT_EQ(run->object.seen, expected);
  }
}

// More messages and whens than lie in lists: forall [i] (0 : 39, 1) when a[i](n, v) {a} end, packed half way.
TEST(Packing, OfManyWhensAndMessages) {
  const Body body({forall(0, 0, 5, "x.ci:1"), when(0, 1, 2, "x.ci:2"), serial(2, "x.ci:2"), release(1, 1), end(),
                   serial(3, "x.ci:3"), end()},
                  {waits_for<entry_a>(1, 1)},
                  {[](Object&, Frame& f) { f.range(0, 39, 1); }, answers([](Object&, Frame& f) { return f.index(0); }),
                   notes("a", 1), notes("end")},
                  2, 1);
  std::vector<Call> calls;
  for (int i = 0; i < 60; ++i) calls.push_back({i < 40 ? entry_a : entry_b, i * 7 % 40, i});
  std::string expected;
  for (int begins : {0, 20, 40}) {
    Running run;
    for (int i = 0; i < begins; ++i) run.come(calls[static_cast<std::size_t>(i)]);
    run.begin(body);
    for (int i = begins; i < 50; ++i) run.come(calls[static_cast<std::size_t>(i)]);
    Running next;
    move_to(run, next);
    EXPECT_EQ(next.machine->describe(), run.machine->describe());
    EXPECT_NE(next.object.seen.find("end"), std::string::npos);
  }
  Running run;
  run.begin(body);
  for (int i = 0; i < 20; ++i) run.come(calls[static_cast<std::size_t>(i)]);
  Running next;
  move_to(run, next);
  for (int i = 20; i < 40; ++i) next.come(calls[static_cast<std::size_t>(i)]);
  EXPECT_NE(next.object.seen.find("end"), std::string::npos);
  EXPECT_TRUE(next.machine->empty());
}

}  // namespace
}  // namespace periapt::sdag
