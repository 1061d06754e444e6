// Tag messages between workers on a Wire: every size goes every way, in order, whatever the transport answers.
#include <gmock/gmock.h>

#include <deque>
#include <map>
#include <random>

#include "tests/machine/engine_fixture.h"

namespace periapt::ucx::testing {
namespace {

class TagMessages : public EngineTest, public ::testing::WithParamInterface<unsigned> {
 protected:
  TagMessages() : EngineTest(GetParam()) {}
};

TEST_P(TagMessages, ASmallMessageIsGoneAtOnceAndFindsItsPostedReceive) {
  start(2);
  char into[16] = {};
  RequestPtr receive = worker(2).tag_receive(std::as_writable_bytes(std::span(into)), 5);
  EXPECT_FALSE(receive->ended());
  endpoint(1, 2).tag_send(bytes_of(std::string("first")), 5);
  EXPECT_EQ(endpoint(1, 2).tag_send(bytes_of(std::string("second")), 6), nullptr);
  until([&] { return receive->ended(); });
  EXPECT_STREQ(into, "first");
  EXPECT_EQ(receive->received().tag, 5u);
  EXPECT_EQ(receive->received().size, 5u);
  EXPECT_EQ(receive->received().from, 1u);
}

TEST_P(TagMessages, AMessageThatCameFirstWaitsForItsReceive) {
  start(2);
  endpoint(1, 2).tag_send(bytes_of(std::string("early")), 9);
  until([&] { return worker(2).counters().unexpected == 1; });
  char into[16] = {};
  int called = 0;
  RequestPtr receive = worker(2).tag_receive(
      std::as_writable_bytes(std::span(into)), 9, kFullMask,
      [](void* context, const Received& received) {
        EXPECT_EQ(received.outcome, Outcome::ok);
        ++*static_cast<int*>(context);
      },
      &called);
  EXPECT_EQ(called, 0) << "no call-back from inside a call";
  until([&] { return called == 1; });
  EXPECT_STREQ(into, "early");
}

TEST_P(TagMessages, EverySizeArrivesWhole) {
  wire.settings.refuse = 0.2;
  wire.settings.delay_max = 5;
  start(2);
  for (std::size_t size : {0, 1, 40, 4095, 4096, 4097, 8192, 65535, 65536, 65537, 300'000, 5'000'001}) {
    for (bool posted : {true, false}) {
      std::vector<std::byte> message = pattern(size, static_cast<unsigned>(size)), into(size);
      RequestPtr receive;
      if (posted) receive = worker(2).tag_receive(into, size);
      RequestPtr send = endpoint(1, 2).tag_send(message, size);
      settle(50);
      if (!posted) receive = worker(2).tag_receive(into, size);
      until([&] { return receive->ended() && (send == nullptr || send->ended()); });
      EXPECT_EQ(receive->outcome(), Outcome::ok);
      EXPECT_EQ(receive->received().size, size);
      EXPECT_EQ(into, message) << size;
    }
  }
}

TEST_P(TagMessages, EveryFewBytesArriveWholeAndNothingBesideThem) {
  start(2);
  for (std::size_t size = 0; size <= 150; ++size) {
    for (bool posted : {true, false}) {
      std::vector<std::byte> message = pattern(size, static_cast<unsigned>(size)), into(size + 32, std::byte{0x77});
      RequestPtr receive;
      if (posted) receive = worker(2).tag_receive(std::span(into).first(size), size);
      EXPECT_EQ(endpoint(1, 2).tag_send(message, size), nullptr);
      if (!posted) {
        std::uint64_t before = worker(2).counters().unexpected;
        until([&] { return worker(2).counters().unexpected > before; });
        receive = worker(2).tag_receive(std::span(into).first(size), size);
      }
      until([&] { return receive->ended(); });
      message.resize(size + 32, std::byte{0x77});
      EXPECT_EQ(into, message) << size;
    }
  }
}

TEST_P(TagMessages, AMessageThatDoesNotFitIsReportedWithItsLength) {
  start(2);
  std::vector<std::byte> into(100);
  for (std::size_t size : {101, 5000, 200'000}) {
    for (bool posted : {true, false}) {
      std::vector<std::byte> message = pattern(size);
      RequestPtr receive;
      if (posted) receive = worker(2).tag_receive(into, 1);
      RequestPtr send = endpoint(1, 2).tag_send(message, 1);
      settle(50);
      if (!posted) receive = worker(2).tag_receive(into, 1);
      until([&] { return receive->ended() && (send == nullptr || send->ended()); });
      EXPECT_EQ(receive->outcome(), Outcome::too_long);
      EXPECT_EQ(receive->received().size, size);
      EXPECT_EQ(send == nullptr ? Outcome::ok : send->outcome(), Outcome::ok);
    }
  }
}

TEST_P(TagMessages, ASynchronousSendEndsWhenItIsReceivedAndNotBefore) {
  start(2);
  for (std::size_t size : {8, 6000, 100'000}) {
    std::vector<std::byte> message = pattern(size), into(size);
    RequestPtr send = endpoint(1, 2).tag_send_sync(message, 3);
    settle(500);
    ASSERT_NE(send, nullptr);
    EXPECT_FALSE(send->ended());
    RequestPtr receive = worker(2).tag_receive(into, 3);
    until([&] { return send->ended() && receive->ended(); });
    EXPECT_EQ(into, message);
  }
}

TEST_P(TagMessages, AReceiveCanBeTakenBackUntilItIsMatched) {
  start(2);
  char into[8] = {};
  int called = 0;
  RequestPtr receive = worker(2).tag_receive(
      std::as_writable_bytes(std::span(into)), 1, kFullMask,
      [](void* context, const Received& received) {
        EXPECT_EQ(received.outcome, Outcome::cancelled);
        ++*static_cast<int*>(context);
      },
      &called);
  EXPECT_TRUE(receive->cancel());
  EXPECT_EQ(called, 0);
  settle(10);
  EXPECT_EQ(called, 1);
  EXPECT_FALSE(receive->cancel());
  endpoint(1, 2).tag_send(bytes_of(std::string("late")), 1);
  until([&] { return worker(2).counters().unexpected == 1; });
  EXPECT_STREQ(into, "");
}

// Its message is announced and being fetched; the sender waits to be told of that.
TEST_P(TagMessages, AReceiveThatFetchesItsMessageIsNotTakenBack) {
  wire.settings.can.max_get = ~std::size_t{0};
  wire.options["+rendezvous"] = "get";
  start(2);
  const auto message = pattern(400'000);
  std::vector<std::byte> into(message.size());
  RequestPtr send = endpoint(1, 2).tag_send(message, 3);
  until([&] { return worker(2).counters().unexpected == 1; });
  RequestPtr receive = worker(2).tag_receive(into, 3);
  EXPECT_FALSE(receive->cancel());
  until([&] { return receive->ended() && send->ended(); });
  EXPECT_EQ(receive->outcome(), Outcome::ok);
  EXPECT_TRUE(into == message);
}

// Requests are used again.
TEST_P(TagMessages, AReceiveThatIsTakenBackTellsNothingOfEarlierMessages) {
  start(2);
  char into[16] = {};
  for (int i = 0; i < 3; ++i) {
    RequestPtr receive = worker(2).tag_receive(std::as_writable_bytes(std::span(into)), 5);
    endpoint(1, 2).tag_send(bytes_of(std::string("a message")), 5);
    until([&] { return receive->ended(); });
    EXPECT_EQ(receive->received().size, 9u);
    receive.reset();
    receive = worker(2).tag_receive(std::as_writable_bytes(std::span(into)), 6);
    EXPECT_FALSE(receive->ended());
    EXPECT_TRUE(receive->cancel());
    settle(10);
    EXPECT_EQ(receive->received().outcome, Outcome::cancelled);
    EXPECT_EQ(receive->received().tag, 0u);
    EXPECT_EQ(receive->received().size, 0u);
    EXPECT_EQ(receive->received().from, 0u);
  }
}

TEST_P(TagMessages, ProbingTakesAMessageOutOfTheMatching) {
  start(2);
  EXPECT_FALSE(worker(2).tag_probe(0, 0));
  for (std::size_t size : {10, 7000, 150'000}) {
    std::vector<std::byte> message = pattern(size), into(size), other(size);
    RequestPtr send = endpoint(1, 2).tag_send(message, 77);
    Probed probed;
    until([&] { return (probed = worker(2).tag_probe(77, kFullMask, false)); });
    EXPECT_EQ(probed.size, size);
    EXPECT_EQ(probed.from, 1u);
    probed = worker(2).tag_probe(0, 0, true);
    ASSERT_TRUE(probed);
    EXPECT_FALSE(worker(2).tag_probe(77));
    RequestPtr stranger = worker(2).tag_receive(other, 77);
    RequestPtr receive = worker(2).receive_probed(probed, into);
    until([&] { return receive->ended() && (send == nullptr || send->ended()); });
    EXPECT_EQ(into, message);
    EXPECT_FALSE(stranger->ended());
    EXPECT_TRUE(stranger->cancel());
  }
}

// ---- persistent receives

struct Inbox {
  std::deque<std::vector<std::byte>> messages;
  std::deque<Received> received;
  std::size_t room = ~std::size_t{0};  ///< allocations that are left
  std::size_t allocated = 0;

  PersistentReceive persistent(Tag tag, Tag mask) { return {tag, mask, this, &Inbox::allocate, &Inbox::arrived}; }
  static Buffer allocate(void* context, std::uint64_t size) {
    auto& inbox = *static_cast<Inbox*>(context);
    if (inbox.room == 0) return {};
    --inbox.room;
    ++inbox.allocated;
    return owned(std::vector<std::byte>(size));
  }
  static Buffer allocate_plainly(void*, std::uint64_t size) { return owned(std::vector<std::byte>(size)); }
  static void arrived(void* context, Buffer message, const Received& received) {
    auto& inbox = *static_cast<Inbox*>(context);
    EXPECT_EQ(message.size(), received.size);
    inbox.messages.emplace_back(message.bytes().begin(), message.bytes().end());
    inbox.received.push_back(received);
  }
};

TEST_P(TagMessages, APersistentReceiveGetsEveryMessageInMemoryOfItsSize) {
  wire.settings.refuse = 0.1;
  start(2);
  Inbox inbox;
  endpoint(1, 2).tag_send(bytes_of(std::string("before")), 0x10);
  settle(50);
  worker(2).post_persistent(inbox.persistent(0x10, 0xF0));
  std::vector<RequestPtr> sends;
  std::vector<std::vector<std::byte>> messages;
  for (std::size_t size : {0, 8, 5000, 70'000, 400'000}) messages.push_back(pattern(size));
  for (auto& message : messages) sends.push_back(endpoint(1, 2).tag_send(message, 0x13));
  for (auto& message : messages) endpoint(1, 2).tag_send_owned(owned(message), 0x1F);
  until([&] { return inbox.messages.size() == 11; });
  EXPECT_EQ(inbox.messages.front().size(), 6u);
  for (auto& message : messages) EXPECT_EQ(std::count(inbox.messages.begin(), inbox.messages.end(), message), 2);
}

// ---- short active messages

/// What has come, by either kind of message, in its order; each begins with its number.
struct Log {
  std::vector<std::vector<std::byte>> all;
  std::size_t shorts = 0;

  ActiveShortHandler on_short() {
    return {this, [](void* self, PeerId from, std::uint64_t header, std::span<const std::byte> payload) {
              auto& log = *static_cast<Log*>(self);
              EXPECT_EQ(from, 1u);
              EXPECT_EQ(header, ~std::uint64_t{log.all.size()});
              log.all.emplace_back(payload.begin(), payload.end());
              ++log.shorts;
            }};
  }
  PersistentReceive on_tag() {
    return {0, 0, this, &Inbox::allocate_plainly, [](void* self, Buffer message, const Received&) {
              static_cast<Log*>(self)->all.emplace_back(message.bytes().begin(), message.bytes().end());
            }};
  }
};

TEST_P(TagMessages, ShortActiveMessagesComeWholeInTheOrderOfAllSends) {
  wire.settings.refuse = 0.05;
  wire.settings.delay_max = 5;
  start(2);
  Log log;
  worker(2).on_active_short(log.on_short());
  worker(2).post_persistent(log.on_tag());
  std::vector<std::vector<std::byte>> sent;
  std::size_t shorts = 0;
  for (unsigned i = 0; sent.size() < 300; ++i) {
    const std::vector<std::byte> message = pattern(i % 65, i);
    if (i % 5 == 4) {
      endpoint(1, 2).tag_send_owned(owned(message), 0);
      sent.push_back(message);
    } else if (endpoint(1, 2).active_send_short(~std::uint64_t{sent.size()}, message)) {
      sent.push_back(message);
      ++shorts;
    }
    settle(i % 3 == 0 ? 20 : 0);
  }
  until([&] { return log.all.size() == sent.size(); });
  EXPECT_EQ(log.all, sent);
  EXPECT_EQ(log.shorts, shorts);
  EXPECT_GT(shorts, 100u);
  EXPECT_EQ(worker(2).counters().unexpected, 0u);
}

TEST_P(TagMessages, AShortActiveMessageThatCannotGoAtOnceIsNotSent) {
  wire.settings.refuse = 0.5;
  start(2);
  Log log;
  worker(2).on_active_short(log.on_short());
  const auto eight = pattern(8);
  endpoint(1, 2).tag_send(eight, 0);
  settle(50);
  std::size_t sent = 0;
  for (int i = 0; i < 100; ++i) sent += endpoint(1, 2).active_send_short(~std::uint64_t{sent}, eight);
  settle(200);
  EXPECT_EQ(log.shorts, sent);
  EXPECT_GT(sent, 1u);
  EXPECT_LT(sent, 101u);
  EXPECT_FALSE(endpoint(1, 2).active_send_short(0, pattern(1 << 20))) << "larger than what goes inline";
}

TEST_P(TagMessages, AShortActiveMessageWithoutAHandlerIsDroppedAndPaidBack) {
  start(2);
  endpoint(1, 2).tag_send(pattern(8), 0);
  settle(50);
  for (unsigned i = 1; i <= 1000; ++i) {
    ASSERT_TRUE(endpoint(1, 2).active_send_short(1, pattern(40)));
    until([&] { return worker(2).counters().dropped == i; });
  }
}

TEST_P(TagMessages, WhenThereIsNoMemoryMessagesWaitInOrder) {
  start(2);
  Inbox inbox;
  inbox.room = 2;
  worker(2).post_persistent(inbox.persistent(0, 0));
  for (std::byte i{}; i < std::byte{10}; i = std::byte(int(i) + 1)) endpoint(1, 2).tag_send({&i, 1}, 4);
  settle(200);
  EXPECT_EQ(inbox.messages.size(), 2u);
  inbox.room = 100;
  until([&] { return inbox.messages.size() == 10; });
  for (int i = 0; i < 10; ++i) EXPECT_EQ(inbox.messages[i][0], std::byte(i));
}

// The younger one still arrives when the older one, of the same tag, has found no memory and goes back to its place.
TEST_P(TagMessages, AMessageThatFoundNoMemoryStaysBeforeAYoungerOneOfItsTag) {
  wire.settings.place = 1;
  start(2);
  Inbox inbox;
  inbox.room = 0;
  worker(2).post_persistent(inbox.persistent(0, 0));
  const auto small = pattern(8), large = pattern(5000);
  for (Tag tag = 1; tag <= 100; ++tag) {
    std::vector<std::byte> first(large.size()), second(large.size());
    endpoint(1, 2).tag_send(small, tag);
    endpoint(1, 2).tag_send_owned(owned(large), tag);
    until([&] { return worker(2).counters().unexpected == 2 * tag; });
    RequestPtr receives[] = {worker(2).tag_receive(first, tag), worker(2).tag_receive(second, tag)};
    until([&] { return receives[0]->ended() && receives[1]->ended(); });
    ASSERT_EQ(receives[0]->received().size, small.size()) << "tag " << tag;
    ASSERT_EQ(receives[1]->received().size, large.size()) << "tag " << tag;
  }
}

TEST_P(TagMessages, APlainReceiveComesBeforeAPersistentOne) {
  start(2);
  Inbox inbox;
  worker(2).post_persistent(inbox.persistent(0, 0));
  char into[8] = {};
  RequestPtr receive = worker(2).tag_receive(std::as_writable_bytes(std::span(into)), 4);
  endpoint(1, 2).tag_send(bytes_of(std::string("one")), 4);
  endpoint(1, 2).tag_send(bytes_of(std::string("two")), 4);
  until([&] { return inbox.messages.size() == 1 && receive->ended(); });
  EXPECT_STREQ(into, "one");
}

TEST_P(TagMessages, AWorkerSendsToItself) {
  start(1);
  for (std::size_t size : {8, 100'000}) {
    std::vector<std::byte> message = pattern(size), into(size);
    RequestPtr receive = worker(1).tag_receive(into, 1);
    RequestPtr send = endpoint(1, 1).tag_send(message, 1);
    until([&] { return receive->ended() && (send == nullptr || send->ended()); });
    EXPECT_EQ(into, message);
  }
}

// ---- the order that MPI demands, against a model that is a few lines long

struct Model {
  struct Receive {
    Tag tag, mask;
    int number;
  };
  struct Message {
    Tag tag;
    int number;
  };
  std::deque<Receive> posted;
  std::deque<Message> unexpected;
  std::map<int, int> matched;  ///< receive -> message

  void receive(Receive receive) {
    for (auto message = unexpected.begin(); message != unexpected.end(); ++message) {
      if (((message->tag ^ receive.tag) & receive.mask) != 0) continue;
      matched[receive.number] = message->number;
      unexpected.erase(message);
      return;
    }
    posted.push_back(receive);
  }
  void message(Message message) {
    for (auto receive = posted.begin(); receive != posted.end(); ++receive) {
      if (((message.tag ^ receive->tag) & receive->mask) != 0) continue;
      matched[receive->number] = message.number;
      posted.erase(receive);
      return;
    }
    unexpected.push_back(message);
  }
};

TEST_P(TagMessages, MatchingIsTheModelsUnderRandomSchedules) {
  wire.settings.burst_max = 1;
  start(2);
  std::mt19937 random(GetParam());
  Model model;
  std::vector<int> into(600, -1);
  std::vector<int> out(600);
  std::vector<RequestPtr> receives, sends;
  const Tag masks[] = {kFullMask, kFullMask, 0xF0, 0x0F, 0, 0xFF, 0x11, 0x22, 0x44};
  int received = 0, sent = 0;
  while (received < 600 || sent < 600) {
    if (received < 600 && random() % 2 == 0) {
      Tag tag = random() % 64, mask = masks[random() % std::size(masks)];
      model.receive({tag, mask, received});
      receives.push_back(worker(2).tag_receive(std::as_writable_bytes(std::span(&into[received], 1)), tag, mask));
      ++received;
    } else if (sent < 600) {
      // One message at a time, so that the model knows when it arrives.
      out[sent] = sent;
      Tag tag = random() % 64;
      std::uint64_t before = worker(2).counters().messages_received;
      sends.push_back(endpoint(1, 2).tag_send(std::as_bytes(std::span(&out[sent], 1)), tag));
      until([&] { return worker(2).counters().messages_received == before + 1; });
      model.message({tag, sent});
      ++sent;
    }
  }
  settle(100);
  for (int i = 0; i < 600; ++i) {
    auto matched = model.matched.find(i);
    EXPECT_EQ(receives[i]->ended(), matched != model.matched.end()) << "receive " << i << ", seed " << GetParam();
    EXPECT_EQ(into[i], matched == model.matched.end() ? -1 : matched->second)
        << "receive " << i << ", seed " << GetParam();
    receives[i]->cancel();
  }
}

TEST_P(TagMessages, MessagesOfOneTagKeepTheirOrderWhateverTheirSizes) {
  wire.settings.refuse = 0.3;
  wire.settings.delay_max = 8;
  start(3);
  std::mt19937 random(GetParam());
  constexpr int kMessages = 200;
  std::vector<std::vector<std::byte>> messages[2];
  std::vector<std::vector<std::byte>> into;
  std::vector<RequestPtr> requests, receives;
  for (auto& sender : messages) {
    for (int i = 0; i < kMessages; ++i) sender.push_back(pattern(4 + random() % (i % 10 == 0 ? 200'000 : 6000), i));
  }
  for (int sender = 0; sender < 2; ++sender) {
    for (int i = 0; i < kMessages; ++i) std::memcpy(messages[sender][i].data(), &i, 4);
  }
  for (int i = 0; i < kMessages; ++i) {
    for (PeerId sender : {1, 2}) requests.push_back(endpoint(sender, 3).tag_send(messages[sender - 1][i], sender));
    if (i % 3 == 0) step();
  }
  for (int i = 0; i < kMessages; ++i) {
    for (PeerId sender : {1, 2}) {
      into.emplace_back(200'004);
      receives.push_back(worker(3).tag_receive(into.back(), sender));
    }
    if (i % 5 == 0) settle(20);
  }
  until([&] { return std::all_of(receives.begin(), receives.end(), [](auto& r) { return r->ended(); }); });
  for (std::size_t i = 0; i < receives.size(); ++i) {
    EXPECT_EQ(receives[i]->outcome(), Outcome::ok);
    std::vector<std::byte>& expected = messages[i % 2][i / 2];
    into[i].resize(receives[i]->received().size);
    EXPECT_EQ(into[i], expected) << i << ", seed " << GetParam();
  }
  until([&] {
    return std::all_of(requests.begin(), requests.end(), [](auto& r) { return r == nullptr || r->ended(); });
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, TagMessages, ::testing::Range(1u, 9u));

}  // namespace
}  // namespace periapt::ucx::testing
