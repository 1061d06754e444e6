// Large messages by every way (get, put, data messages), over one rail and over several, and with keys that don't work.
#include <algorithm>

#include "tests/machine/engine_fixture.h"

namespace periapt::ucx::testing {
namespace {

struct Case {
  const char* name;
  std::size_t max_get, max_put, max_lent, max_inline;
  bool put_ordered, needs_registration;
  unsigned devices;
};
constexpr std::size_t kAny = ~std::size_t{0};
const Case kCases[] = {
    {"get", kAny, 0, kAny, 4096, false, false, 1},
    {"get_in_parts", 10'000, 0, kAny, 4096, false, true, 1},
    {"put", 0, kAny, kAny, 4096, false, true, 1},
    {"put_ordered", 0, 50'000, kAny, 4096, true, false, 1},
    {"data", 0, 0, kAny, 4096, false, false, 1},
    {"data_in_parts", 0, 0, 30'000, 2000, false, true, 1},
    {"data_copied", 0, 0, 0, 3000, false, false, 1},
    {"get_over_three_rails", kAny, 0, kAny, 4096, false, true, 3},
    {"put_over_three_rails", 0, kAny, kAny, 4096, true, true, 3},
    {"data_over_three_rails", 0, 0, kAny, 4096, false, false, 3},
};

class LargeMessages : public EngineTest, public ::testing::WithParamInterface<Case> {
 protected:
  LargeMessages() : EngineTest(11) {
    const Case& now = LargeMessages::WithParamInterface<Case>::GetParam();
    WireSettings& settings = wire.settings;
    settings.can.max_get = now.max_get;
    settings.can.max_put = now.max_put;
    settings.can.max_lent = now.max_lent;
    settings.can.max_inline = now.max_inline;
    settings.can.put_ordered = now.put_ordered;
    settings.can.needs_registration = now.needs_registration;
    settings.devices = now.devices;
    settings.refuse = 0.2;
    settings.delay_max = 6;
  }
  const Case& now() const { return LargeMessages::WithParamInterface<Case>::GetParam(); }
};

TEST_P(LargeMessages, ArriveWholeWhoeverComesFirst) {
  start(2);
  for (std::size_t size : {70'000, 262'144, 1'000'003, 4'500'000}) {
    for (bool posted : {true, false}) {
      std::vector<std::byte> message = pattern(size), into(size);
      RequestPtr receive;
      if (posted) receive = worker(2).tag_receive(into, size);
      RequestPtr send = endpoint(1, 2).tag_send(message, size);
      ASSERT_NE(send, nullptr);
      settle(100);
      if (!posted) receive = worker(2).tag_receive(into, size);
      until([&] { return receive->ended() && send->ended(); });
      EXPECT_EQ(receive->outcome(), Outcome::ok);
      EXPECT_EQ(send->outcome(), Outcome::ok);
      EXPECT_TRUE(into == message) << size;
    }
  }
  EXPECT_EQ(wire.gets != 0, now().max_get != 0);
  EXPECT_EQ(wire.puts != 0, now().max_put != 0);
  EXPECT_TRUE(wire.regions.empty()) << "registrations that nobody uses are left";
}

TEST_P(LargeMessages, ManyAtOnceInBothDirectionsAreNotMixedUp) {
  start(2);
  std::vector<std::vector<std::byte>> messages, into(40);
  std::vector<RequestPtr> requests;
  for (unsigned i = 0; i < 40; ++i) messages.push_back(pattern(60'000 + i * 20'011, i));
  for (unsigned i = 0; i < 40; ++i) {
    into[i].resize(messages[i].size());
    PeerId from = 1 + i % 2, to = 2 - i % 2;
    requests.push_back(endpoint(from, to).tag_send(messages[i], i));
    requests.push_back(worker(to).tag_receive(into[i], i));
    if (i % 7 == 0) settle(20);
  }
  until([&] {
    return std::all_of(requests.begin(), requests.end(), [](auto& r) { return r == nullptr || r->ended(); });
  });
  for (unsigned i = 0; i < 40; ++i) EXPECT_TRUE(into[i] == messages[i]) << i;
}

TEST_P(LargeMessages, ActiveMessagesOfEverySizeComeWithTheirHeader) {
  start(2);
  struct Got {
    std::vector<std::pair<std::string, std::vector<std::byte>>> messages;
  } got;
  worker(2).on_active(
      7, {&got, nullptr, [](void* context, Endpoint& from, std::span<const std::byte> header, Buffer payload) {
            EXPECT_EQ(from.peer(), 1u);
            static_cast<Got*>(context)->messages.emplace_back(
                text_of(header), std::vector<std::byte>(payload.bytes().begin(), payload.bytes().end()));
          }});
  std::vector<std::vector<std::byte>> messages;
  std::vector<RequestPtr> sends;
  for (std::size_t size : {0, 10, 900, 5000, 40'000, 300'000}) messages.push_back(pattern(size));
  for (auto& message : messages) {
    sends.push_back(endpoint(1, 2).active_send(7, bytes_of("header of " + std::to_string(message.size())), message));
  }
  sends.push_back(endpoint(1, 2).active_send(99, {}, messages[1]));
  until([&] { return got.messages.size() == messages.size() && worker(2).counters().dropped == 1; });
  for (auto& message : messages) {
    auto found = std::find_if(got.messages.begin(), got.messages.end(), [&](auto& m) { return m.second == message; });
    ASSERT_NE(found, got.messages.end());
    EXPECT_EQ(found->first, "header of " + std::to_string(message.size()));
  }
  until([&] { return std::all_of(sends.begin(), sends.end(), [](auto& r) { return r == nullptr || r->ended(); }); });
}

// A receiver that needs no copy is shown the payload where it lies, whatever the header's length; and may say that
// it does.
TEST_P(LargeMessages, ActiveMessagesMayBeLookedAtWhereTheyLie) {
  start(2);
  struct Got {
    std::vector<std::pair<std::string, std::vector<std::byte>>> messages;
    unsigned looked = 0, declined = 0;
    void add(std::span<const std::byte> header, std::span<const std::byte> payload) {
      messages.emplace_back(text_of(header), std::vector<std::byte>(payload.begin(), payload.end()));
    }
  } got;
  ActiveHandler handler;
  handler.context = &got;
  handler.handler = [](void* context, Endpoint&, std::span<const std::byte> header, Buffer payload) {
    static_cast<Got*>(context)->add(header, payload.bytes());
  };
  handler.look = [](void* context, Endpoint&, std::span<const std::byte> header, std::span<const std::byte> payload) {
    auto& all = *static_cast<Got*>(context);
    if (header.size() == 25) return ++all.declined, false;
    ++all.looked;
    all.add(header, payload);
    return true;
  };
  worker(2).on_active(7, handler);
  std::vector<std::pair<std::string, std::vector<std::byte>>> sent;
  for (std::size_t length : {0, 1, 24, 25, 400}) {
    for (std::size_t size : {0, 10, 900, 5000, 20'000, 300'000}) {
      sent.emplace_back(std::string(length, static_cast<char>('a' + sent.size())), pattern(size, sent.size() + 1));
    }
  }
  std::vector<RequestPtr> sends;
  for (auto& [header, payload] : sent) sends.push_back(endpoint(1, 2).active_send(7, bytes_of(header), payload));
  until([&] { return got.messages.size() == sent.size(); });
  std::sort(sent.begin(), sent.end());
  std::sort(got.messages.begin(), got.messages.end());
  EXPECT_TRUE(got.messages == sent);
  EXPECT_GE(got.looked, 12u) << "all but the large ones, which are fetched into memory of their own";
  EXPECT_GE(got.declined, 3u);
  until([&] { return std::all_of(sends.begin(), sends.end(), [](auto& r) { return r == nullptr || r->ended(); }); });
}

INSTANTIATE_TEST_SUITE_P(Ways, LargeMessages, ::testing::ValuesIn(kCases), [](auto& info) { return info.param.name; });

class Rails : public EngineTest {};

TEST_F(Rails, ShareALargeMessageByTheirBandwidth) {
  wire.settings.devices = 4;
  start(2);
  std::vector<std::byte> message = pattern(16 << 20), into(message.size());
  RequestPtr receive = worker(2).tag_receive(into, 1);
  RequestPtr send = endpoint(1, 2).tag_send(message, 1);
  until([&] { return receive->ended() && send->ended(); });
  EXPECT_TRUE(into == message);
  for (unsigned device = 0; device < 4; ++device) {
    EXPECT_NEAR(static_cast<double>(wire.bytes_of_device[device]), 4 << 20, 1.1 * (1 << 20)) << device;
  }
}

TEST_F(Rails, KeysThatDoNotWorkAreFollowedByDataMessages) {
  for (bool by_get : {true, false}) {
    nodes.clear();
    wire.settings.can.max_get = by_get ? kAny : 0;
    wire.settings.can.max_put = by_get ? 0 : kAny;
    start(2);
    std::vector<std::byte> message = pattern(500'000), into(message.size());
    RequestPtr receive = worker(2).tag_receive(into, 1);
    RequestPtr send = endpoint(1, 2).tag_send(message, 1);
    // Whatever is registered is forgotten by the devices, so that each get and put fails.
    until([&] {
      for (auto& [id, region] : wire.regions) region.size = 0;
      return receive->ended() && send->ended();
    });
    EXPECT_EQ(receive->outcome(), Outcome::ok);
    EXPECT_TRUE(into == message);
  }
}

}  // namespace
}  // namespace periapt::ucx::testing
