// Recordings as files, and which orders +fuzz makes of messages: without a PE.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>

#include "base/file_text.h"
#include "runtime/converse/converse_state.h"
#include "runtime/order/fuzz.h"
#include "runtime/order/in_order.h"
#include "runtime/order/recorder.h"
#include "runtime/order/replay.h"
#include "runtime/registry/registry.h"

namespace periapt::order {
namespace {

using Event = RecordingReader::Event;
using Place = Arrival::Place;

// Messages that nothing is done with but to put them in order, all for one entry.
class Messages {
 public:
  Arrival make(int source, Target target, std::uint64_t element, Place place = Place::back) {
    Envelope& envelope = *made_.emplace_back(std::make_unique<Envelope>());
    envelope = {};
    envelope.target = target;
    envelope.queueing = Queueing::fifo;
    envelope.element = element;
    envelope.size = made_.size();  // says which it is
    Arrival arrival{{}, source, place};
    arrival.work.meta = message_meta;
    arrival.work.element = reinterpret_cast<std::uint64_t>(&envelope);
    return arrival;
  }
  static std::uint64_t number(const Arrival& arrival) { return arrival.work.message()->size; }

 private:
  std::vector<std::unique_ptr<Envelope>> made_;
};

std::vector<std::uint64_t> all_of(Ordering& ordering) {
  std::vector<std::uint64_t> order;
  for (Arrival next; ordering.take(next);) order.push_back(Messages::number(next));
  EXPECT_EQ(ordering.size(), 0u);
  return order;
}

// --- +fuzz ---------------------------------------------------------------------------------------------------------

TEST(Fuzz, EveryInterleavingOfThreeSendersComesUp) {
  std::set<std::vector<std::uint64_t>> seen;
  for (int seed = 0; seed < 300; ++seed) {
    Messages messages;
    Fuzz fuzz(seed, 0);
    for (int source = 0; source < 3; ++source) fuzz.add(messages.make(source, Target::array, 7));
    seen.insert(all_of(fuzz));
  }
  EXPECT_EQ(seen.size(), 6u);
}

TEST(Fuzz, OneSendersMessagesToDifferentObjectsChangePlaces) {
  std::set<std::vector<std::uint64_t>> seen;
  for (int seed = 0; seed < 300; ++seed) {
    Messages messages;
    Fuzz fuzz(seed, 0);
    for (std::uint64_t element = 0; element < 3; ++element) fuzz.add(messages.make(0, Target::array, element));
    seen.insert(all_of(fuzz));
  }
  EXPECT_EQ(seen.size(), 6u);
}

TEST(Fuzz, WhatOneSenderSendsToOneObjectKeepsItsOrderAndNothingPassesTheRuntime) {
  for (int seed = 0; seed < 200; ++seed) {
    Messages messages;
    Fuzz fuzz(seed, 0);
    struct Sent {
      int source;
      std::uint64_t element;  // 9: an entry of the runtime
    };
    std::vector<Sent> sent;
    for (int i = 0; i < 60; ++i) {
      const Sent one{i % 3, i % 10 == 9 ? 9u : static_cast<std::uint64_t>(i * 7 % 4)};
      sent.push_back(one);
      fuzz.add(messages.make(one.source, one.element == 9 ? Target::broadcast : Target::array, one.element));
    }
    const std::vector<std::uint64_t> order = all_of(fuzz);
    ASSERT_EQ(order.size(), sent.size()) << "seed " << seed;
    std::vector<std::size_t> place(sent.size());
    for (std::size_t at = 0; at < order.size(); ++at) place[order[at] - 1] = at;
    for (std::size_t a = 0; a < sent.size(); ++a)
      for (std::size_t b = a + 1; b < sent.size(); ++b) {
        const bool bound = sent[a].source == sent[b].source &&
                           (sent[a].element == sent[b].element || sent[a].element == 9 || sent[b].element == 9);
        if (bound) {
          ASSERT_LT(place[a], place[b]) << "seed " << seed;
        }
      }
  }
}

TEST(Fuzz, TheSameSeedMakesTheSameOrder) {
  const auto order_of = [](int seed) {
    Messages messages;
    Fuzz fuzz(seed, 3);
    for (int i = 0; i < 50; ++i) fuzz.add(messages.make(i % 5, Target::array, i % 7));
    return all_of(fuzz);
  };
  EXPECT_EQ(order_of(5), order_of(5));
  EXPECT_NE(order_of(5), order_of(6));
}

// Messages of five senders with and without priorities, for seven objects.
std::vector<std::uint64_t> fuzzed(int seed, const std::string& changes) {
  Messages messages;
  Fuzz fuzz(static_cast<std::uint64_t>(seed), 3, *Changes::parse(changes));
  for (int i = 0; i < 50; ++i) fuzz.add(messages.make(i % 5, Target::array, static_cast<std::uint64_t>(i % 7)));
  return all_of(fuzz);
}
TEST(Fuzz, ChangesNothingWhereItMayNot) {
  std::vector<std::uint64_t> as_it_came(50);
  std::iota(as_it_came.begin(), as_it_came.end(), 1);
  EXPECT_EQ(fuzzed(5, "none"), as_it_came);
  EXPECT_EQ(fuzzed(5, "0:0-49,4:7"), as_it_came) << "changes of other PEs";
}
TEST(Fuzz, SomeOfASeedsChangesAreThoseThatItMakesWithAll) {
  const std::vector<std::uint64_t> all = fuzzed(5, "all"), some = fuzzed(5, "3:0-19");
  EXPECT_EQ(fuzzed(5, "3:0-49"), all);
  EXPECT_TRUE(std::equal(some.begin(), some.begin() + 20, all.begin()));
  EXPECT_NE(some, all);
}
TEST(Fuzz, AChangeBringsOneMessageForwardAndPutsTheOvertakenOneOff) {
  int moved = 0;
  for (int decision = 0; decision < 50; ++decision) {
    const std::vector<std::uint64_t> order = fuzzed(5, "3:" + std::to_string(decision));
    const std::uint64_t first = static_cast<std::uint64_t>(decision) + 1, forward = order[first - 1];
    if (forward == first) continue;
    ++moved;
    // Behind it stays only what the same sender has for the same object.
    const std::uint64_t behind = first + 35;
    EXPECT_EQ(order.back(), behind <= 50 ? behind : first) << decision;
    std::vector<std::uint64_t> others;
    for (const std::uint64_t n : order)
      if (n != first && n != forward && n != behind) others.push_back(n);
    EXPECT_TRUE(std::is_sorted(others.begin(), others.end())) << decision;
  }
  EXPECT_GT(moved, 10);
}
TEST(Changes, AListIsRangesOfEachPe) {
  Changes::OfPe own = Changes::parse("1:40-43,0:7,1:5,1:42-50")->of(1);
  std::vector<int> had;
  for (int i = 0; i < 60; ++i)
    if (own.has(static_cast<std::uint64_t>(i))) had.push_back(i);
  EXPECT_EQ(had, (std::vector<int>{5, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50}));
  EXPECT_EQ(Changes::parse("1:40-43,0:7,1:5,1:42-50")->count(), 13u);
  EXPECT_TRUE(Changes::parse("all")->of(9).has(1));
  EXPECT_FALSE(Changes::parse("none")->of(9).has(1));
}
TEST(Changes, WhatIsNoneIsRefused) {
  for (const char* text : {"", "1", "1:", ":1", "1:a", "-1:2", "1:2-", "1:3-2", "1:2,", ",1:2", "1:2;3", "1:2 ",
                           "4000000000:1", "1:99999999999999999999", "@/nowhere/at/all", "nobody"})
    EXPECT_FALSE(Changes::parse(text)) << text;
}

// --- the usual order -------------------------------------------------------------------------------------------------

TEST(InOrder, ExpeditedFirstThenWhatWasPutToTheFrontThenTheRest) {
  Messages messages;
  InOrder order;
  order.add(messages.make(0, Target::array, 0));
  order.add(messages.make(0, Target::array, 0, Place::front));
  order.add(messages.make(1, Target::array, 0, Place::expedited));
  order.add(messages.make(1, Target::array, 0));
  EXPECT_EQ(all_of(order), (std::vector<std::uint64_t>{3, 2, 1, 4}));
}

// --- recordings ------------------------------------------------------------------------------------------------------

class Recordings : public ::testing::Test {
 protected:
  const std::string name_ =
      (std::filesystem::temp_directory_path() / ("recording-" + std::to_string(::getpid()))).string();
  RecordingHead head_;

  Recordings() {
    if (registry().entries.empty()) registry().entries.emplace_back();  // what recordings tell of must be there
    head_.pes = 3;
    head_.processes = 1;
  }
  ~Recordings() override { std::filesystem::remove(name_); }
  std::string text() { return *read_file(name_, 1 << 30); }
  // Like a PE with a channel from each of three others; what came in one order is taken as `choose` says.
  static std::vector<Arrival> arrivals(Messages& messages, int seed) {
    std::vector<Arrival> all;
    for (int i = 0; i < 200; ++i) all.push_back(messages.make((i * 7 + seed * i) % 3, Target::array, i * seed % 4));
    return all;
  }
};

TEST_F(Recordings, WhatWasRecordedIsReplayedHoweverTheSendersInterleave) {
  for (int seed = 1; seed < 20; ++seed) {
    Messages messages;
    const std::vector<Arrival> all = arrivals(messages, seed);
    Recorder recorder(std::make_unique<Fuzz>(seed, 0), name_, head_);
    for (const Arrival& one : all) recorder.add(one);
    const std::vector<std::uint64_t> recorded = all_of(recorder);
    recorder.end();
    // Sender by sender, the last one first.
    Replay replay(name_, head_);
    for (int source = 2; source >= 0; --source)
      for (const Arrival& one : all)
        if (one.source == source) replay.add(one);
    EXPECT_EQ(all_of(replay), recorded) << "seed " << seed;
  }
}

TEST_F(Recordings, AReplayWaitsForWhatHasNotCome) {
  Messages messages;
  const Arrival first = messages.make(0, Target::array, 1), second = messages.make(1, Target::array, 2);
  Recorder recorder(std::make_unique<InOrder>(), name_, head_);
  recorder.add(first);
  recorder.add(second);
  EXPECT_EQ(all_of(recorder).size(), 2u);
  recorder.end();
  Replay replay(name_, head_);
  Arrival next;
  replay.add(second);
  EXPECT_FALSE(replay.take(next));
  EXPECT_FALSE(replay.has_next());
  replay.add(first);
  EXPECT_TRUE(replay.has_next());
  EXPECT_EQ(all_of(replay), (std::vector<std::uint64_t>{1, 2}));
  replay.add(messages.make(1, Target::array, 2));
  EXPECT_FALSE(replay.take(next)) << "its recording has ended, and so had its run";
}

// An entry polls, twice; the second poll runs something.
class RecordedPolls : public Recordings {
 protected:
  Messages messages_;
  const Arrival entry_ = messages_.make(0, Target::array, 1), inside_ = messages_.make(1, Target::array, 2),
                after_ = messages_.make(2, Target::array, 3);
  Arrival next_;

  RecordedPolls() {
    Recorder recorder(std::make_unique<InOrder>(), name_, head_);
    const auto run = [&](const Arrival& one) {
      recorder.add(one);
      EXPECT_TRUE(recorder.take(next_));
    };
    run(entry_);
    recorder.begin_poll();
    recorder.end_poll();
    recorder.begin_poll();
    run(inside_);
    recorder.end_poll();
    run(after_);
    recorder.end();
  }
  std::uint64_t taken(Replay& replay) { return replay.take(next_) ? next_.work.message()->element : 0; }
};

TEST_F(RecordedPolls, RunInAReplayWhatTheyRanThen) {
  Replay replay(name_, head_);
  for (const Arrival& one : {after_, inside_, entry_}) replay.add(one);
  EXPECT_EQ(taken(replay), 1u);
  replay.begin_poll();
  EXPECT_FALSE(replay.has_next());
  EXPECT_EQ(taken(replay), 0u) << "it ran nothing";
  EXPECT_FALSE(replay.holds_poll());
  replay.end_poll();
  replay.begin_poll();
  EXPECT_EQ(taken(replay), 2u);
  EXPECT_EQ(taken(replay), 0u) << "the last one ran when the entry had returned";
  EXPECT_FALSE(replay.holds_poll());
  replay.end_poll();
  EXPECT_EQ(taken(replay), 3u);
}

TEST_F(RecordedPolls, DoNotEndBeforeItHasCome) {
  Replay replay(name_, head_);
  replay.add(entry_);
  EXPECT_EQ(taken(replay), 1u);
  replay.begin_poll();
  EXPECT_FALSE(replay.holds_poll());
  replay.end_poll();
  replay.begin_poll();
  EXPECT_EQ(taken(replay), 0u);
  EXPECT_TRUE(replay.holds_poll());
  replay.add(inside_);
  EXPECT_EQ(taken(replay), 2u);
  EXPECT_FALSE(replay.holds_poll());
}

TEST_F(RecordedPolls, MayBeFewerWhereTimeEndsThem) {
  Replay replay(name_, head_);
  for (const Arrival& one : {entry_, inside_, after_}) replay.add(one);
  EXPECT_EQ(taken(replay), 1u);
  replay.begin_poll();
  EXPECT_EQ(taken(replay), 0u);
  replay.end_poll();
  EXPECT_EQ(taken(replay), 2u);
  EXPECT_EQ(taken(replay), 3u);
}

TEST_F(Recordings, TheSearchForQuiescenceIsInNone) {
  Messages messages;
  const Arrival word = messages.make(0, Target::converse, 0), other = messages.make(0, Target::converse, 0);
  word.work.message()->entry = handler_quiescence;
  other.work.message()->entry = handlers_reserved;
  Recorder recorder(std::make_unique<InOrder>(), name_, head_);
  for (const Arrival& one : {word, word, other}) recorder.add(one);
  EXPECT_EQ(all_of(recorder).size(), 3u);
  recorder.end();
  Replay replay(name_, head_);
  replay.add(word);
  Arrival next;
  EXPECT_TRUE(replay.take(next)) << "its rounds are as many as there are";
  EXPECT_FALSE(replay.has_next());
  replay.add(other);
  replay.add(word);
  EXPECT_EQ(all_of(replay), (std::vector<std::uint64_t>{2, 1})) << "what was recorded, before a round of the search";
  EXPECT_FALSE(replay.has_next());
}

TEST_F(Recordings, OfThoseThatAreAlikeTheOneThatRanRunsAgain) {
  Messages messages;
  const Arrival one = messages.make(0, Target::array, 1), other = messages.make(0, Target::array, 1, Place::front);
  Recorder recorder(std::make_unique<InOrder>(), name_, head_);
  recorder.add(one);
  recorder.add(other);
  EXPECT_EQ(all_of(recorder), (std::vector<std::uint64_t>{2, 1}));
  recorder.end();
  Replay replay(name_, head_);
  Arrival next;
  replay.add(one);
  EXPECT_FALSE(replay.take(next)) << "the second ran first";
  replay.add(other);
  EXPECT_EQ(all_of(replay), (std::vector<std::uint64_t>{2, 1}));
}

TEST_F(Recordings, DecisionsComeBack) {
  RecordingWriter writer(name_, head_);
  const std::vector<std::byte> decision{std::byte{5}, std::byte{200}, std::byte{0}};
  writer.add_decision(decision);
  writer.add_decision({});
  writer.end();
  RecordingReader reader = *RecordingReader::open(name_, head_);
  EXPECT_EQ(reader.next()->bytes, decision);
  EXPECT_EQ(reader.next()->kind, Event::decision);
  EXPECT_EQ(reader.next()->kind, Event::end);
  EXPECT_EQ(reader.head().whole, 1u);
}

TEST_F(Recordings, WhatAKilledProcessHasWrittenIsThere) {
  constexpr std::uint64_t pieces = 400'000;  // more than a window
  const pid_t child = ::fork();
  if (child == 0) {
    RecordingWriter writer(name_, head_);
    for (std::uint64_t i = 0; i < pieces; ++i)
      writer.add({.source = 1, .target = Target::converse, .element = i % 1000 << 20}, i % 2);
    ::raise(SIGKILL);
  }
  int status;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  RecordingReader reader = *RecordingReader::open(name_, head_);
  EXPECT_EQ(reader.head().whole, 0u);
  EXPECT_EQ(reader.head().pieces, pieces);
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const Result<Event> event = reader.next();
    ASSERT_TRUE(event) << event.message();
    ASSERT_EQ(event->what.element, i % 1000 << 20);
    ASSERT_EQ(event->rank, i % 2);
  }
  EXPECT_EQ(reader.next()->kind, Event::end);
}

TEST_F(Recordings, WhatIsNoRecordingOfThisRunIsRefusedInWords) {
  {
    RecordingWriter writer(name_, head_);
    for (std::uint64_t i = 0; i < 300; ++i) writer.add({.target = Target::converse, .element = i << 30}, 0);
    writer.end();
  }
  const std::string good = text();
  for (std::size_t length : {std::size_t{0}, std::size_t{10}, sizeof head_ - 1})
    EXPECT_EQ(RecordingReader::of(good.substr(0, length), head_).message(), "it is no recording");
  for (std::size_t length = sizeof head_; length < good.size(); length += 97)
    EXPECT_NE(RecordingReader::of(good.substr(0, length), head_).message().find("it is cut off"), std::string::npos);
  RecordingHead other = head_;
  other.program = 1;
  EXPECT_EQ(RecordingReader::of(good, other).message(), "it was written by another program");
  other = head_;
  other.pes = 8;
  EXPECT_EQ(RecordingReader::of(good, other).message(),
            "it is of a run with another layout: 3 PEs in 1 process; this one: 8 PEs in 1 process");
  other = head_;
  other.pe = 2;
  EXPECT_EQ(RecordingReader::of(good, other).message(), "it is that of PE 0");
  other = head_;
  other.version = 9;
  EXPECT_NE(RecordingReader::of(good, other).message().find("it has version 2"), std::string::npos);
  EXPECT_FALSE(RecordingReader::open("/nowhere/file", head_));
  EXPECT_FALSE(RecordingReader::open("/dev/zero", head_));
  std::string bad = good;
  bad[sizeof head_] = 77;  // a number that was never given
  RecordingReader reader = *RecordingReader::of(bad, head_);
  EXPECT_EQ(reader.next().message(), "it is damaged at byte 64: it names what it has not told of");
}

}  // namespace
}  // namespace periapt::order
