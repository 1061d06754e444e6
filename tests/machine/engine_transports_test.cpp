// The engine over the transports of this build, as they are: two workers in one process, every kind of operation.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include "machine/layer/transports.h"
#include "machine/ucx-like/worker.h"
#include "tests/host/pattern.h"
#include "tests/machine/standstill.h"

namespace periapt::ucx {
namespace {

class OverTransport : public ::testing::TestWithParam<std::string> {
 protected:
  static Result<std::unique_ptr<Context>> context(PeerId number) {
    ContextRequest request;
    request.factories = machine::transports();
    request.transports = GetParam();
    request.self = (static_cast<PeerId>(::getpid()) << 8) + number;
    request.host = "here";
    request.secret.assign(16, std::byte{7});
    request.option = [](const std::string& name) { return name == "+net-devices" ? std::string("lo") : std::string(); };
    return Context::create(std::move(request));
  }
  void SetUp() override {
    for (PeerId self : {1, 2, 3}) {
      auto made = context(self);
      if (!made.ok()) GTEST_SKIP() << made.message();
      contexts_[self - 1] = std::move(*made);
      auto worker = Worker::create(*contexts_[self - 1]);
      ASSERT_TRUE(worker.ok()) << worker.message();
      workers_[self - 1] = std::move(*worker);
    }
    auto to = workers_[0]->connect(workers_[1]->address());
    auto from = workers_[1]->connect(workers_[0]->address());
    ASSERT_TRUE(to.ok() && from.ok()) << (to.ok() ? from.message() : to.message());
    to_ = *to;
  }
  template <class Condition>
  void until(Condition&& condition) {
    test::Standstill standstill([this] { return state(); });
    while (!condition()) {
      int moved = 0;
      for (auto& worker : workers_) moved += worker->progress();
      standstill.look(moved > 0);
    }
  }
  std::string state() const {
    std::string text = workers_[0]->explain() +
                       "waits at worker 1 for worker 2: " + std::to_string(to_->waiting_messages()) + " messages\n";
    for (auto& worker : workers_)
      text += "came unexpected: " + std::to_string(worker->counters().unexpected) + " messages\n";
    return text;
  }

  std::unique_ptr<Context> contexts_[3];
  std::unique_ptr<Worker> workers_[3];
  Endpoint* to_ = nullptr;
};

TEST_P(OverTransport, TagMessagesOfEverySize) {
  for (std::size_t size : {0, 1, 8, 100, 5000, 40'000, 100'000, 1'000'001, 20'000'000}) {
    for (int i = 0; i < 12; ++i) {  // so that each way of large messages is tried
      std::vector<std::byte> message = pattern(size), into(size);
      RequestPtr receive = i % 2 == 0 ? workers_[1]->tag_receive(into, size) : nullptr;
      RequestPtr send = to_->tag_send(message, size);
      if (receive == nullptr) receive = workers_[1]->tag_receive(into, size);
      until([&] { return receive->ended() && (send == nullptr || send->ended()); });
      ASSERT_TRUE(into == message) << size;
      if (size > 1'000'000 && i > 8) break;
    }
  }
}

// A receiver that must put messages aside wants few of them at a time; but not from one peer alone.
TEST_P(OverTransport, AFloodFromOnePeerDoesNotHoldUpAnother) {
  auto other = workers_[2]->connect(workers_[1]->address());
  ASSERT_TRUE(other.ok()) << other.message();
  std::uint64_t flood = 0, asked = 1, answer = 0, got = 0;
  for (int i = 0; i < 5000; ++i) to_->tag_send(std::as_bytes(std::span(&flood, 1)), 1);
  RequestPtr receive = workers_[1]->tag_receive(std::as_writable_bytes(std::span(&answer, 1)), 2);
  (*other)->tag_send(std::as_bytes(std::span(&asked, 1)), 2);
  until([&] { return receive->ended(); });
  EXPECT_EQ(answer, 1u);
  for (int i = 0; i < 5000; ++i) {
    receive = workers_[1]->tag_receive(std::as_writable_bytes(std::span(&got, 1)), 1);
    until([&] { return receive->ended(); });
  }
}

// Memory of which account is kept: what the user of owned messages and of a persistent receive does with his
// own.
struct Known {
  std::set<void*> bytes;
  std::vector<std::uint32_t> numbers;
  int strange = 0, asked = 0;

  Buffer allocate(std::uint64_t size) {
    void* made = std::malloc(size + 1);
    bytes.insert(made);
    return Buffer(static_cast<std::byte*>(made), size, &Known::release, this);
  }
  static void release(void* self, void* made) {
    static_cast<Known*>(self)->bytes.erase(made);
    std::free(made);
  }
};

TEST_P(OverTransport, OwnedAndPersistentMessagesKeepTheirOrder) {
  std::vector<std::uint32_t> numbers;
  workers_[1]->post_persistent({0, 0, &numbers,
                                [](void*, std::uint64_t size) {
                                  return Buffer(
                                      static_cast<std::byte*>(std::malloc(size + 1)), size,
                                      [](void*, void* bytes) { std::free(bytes); }, nullptr);
                                },
                                [](void* context, Buffer message, const Received&) {
                                  std::uint32_t number = 0;
                                  std::memcpy(&number, message.data(), 4);
                                  static_cast<std::vector<std::uint32_t>*>(context)->push_back(number);
                                }});
  for (std::uint32_t i = 0; i < 5000; ++i) {
    std::size_t size = 4 + (i * 37) % 3000;
    Buffer message(
        static_cast<std::byte*>(std::calloc(size, 1)), size, [](void*, void* bytes) { std::free(bytes); }, nullptr);
    std::memcpy(message.data(), &i, 4);
    to_->tag_send_owned(std::move(message), 3);
  }
  until([&] { return numbers.size() == 5000; });
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
}

// Owned messages of another process, for which there is no memory at times: they are kept, and served later.
TEST_P(OverTransport, KeptMessagesAreServedInMemoryThatTheUserKnows) {
  constexpr std::uint32_t kMessages = 5000;
  const std::vector<std::byte> address = workers_[1]->address();
  const pid_t sender = ::fork();
  if (sender == 0) {
    auto made = context(4);
    auto worker = made.ok() ? Worker::create(**made) : Result<std::unique_ptr<Worker>>(Status::failure("no context"));
    auto endpoint = worker.ok() ? (*worker)->connect(address) : Result<Endpoint*>(Status::failure("no worker"));
    if (!endpoint.ok()) ::_exit(1);
    Known known;
    for (std::uint32_t i = 0; i < kMessages; ++i) (*endpoint)->tag_send_owned(known.allocate(4 + i * 4001 % 12'000), i);
    RequestPtr flush = (*endpoint)->flush();
    while (flush && !flush->ended()) (*worker)->progress();
    ::_exit(known.bytes.empty() ? 0 : 2);
  }
  Known known;
  workers_[1]->post_persistent({0, 0, &known,
                                [](void* self, std::uint64_t size) {
                                  Known& known = *static_cast<Known*>(self);
                                  return ++known.asked % 3 == 0 ? Buffer() : known.allocate(size);
                                },
                                [](void* self, Buffer message, const Received& received) {
                                  Known& known = *static_cast<Known*>(self);
                                  known.numbers.push_back(static_cast<std::uint32_t>(received.tag));
                                  known.strange += known.bytes.count(message.data()) == 0;
                                }});
  int status = -1;
  bool gone = false;
  until([&] {
    gone = gone || ::waitpid(sender, &status, WNOHANG) == sender;
    return gone && known.numbers.size() == kMessages;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(std::set<std::uint32_t>(known.numbers.begin(), known.numbers.end()).size(), kMessages);
  EXPECT_EQ(known.strange, 0) << "messages in memory that the user does not know";
}

TEST_P(OverTransport, OneSidedOperations) {
  std::vector<std::byte> memory = pattern(300'000), local(200'000);
  MemoryPtr registered = *workers_[1]->register_memory(memory);
  auto key = to_->unpack(workers_[1]->pack_key(registered));
  ASSERT_TRUE(key.ok()) << key.message();
  auto base = reinterpret_cast<std::uintptr_t>(memory.data());
  RequestPtr get = to_->get(local, base + 16, *key);
  until([&] { return get == nullptr || get->ended(); });
  EXPECT_TRUE(std::equal(local.begin(), local.end(), memory.begin() + 16));
  std::fill(local.begin(), local.end(), std::byte{9});
  to_->put(local, base, *key);
  RequestPtr flush = to_->flush();
  until([&] { return flush == nullptr || flush->ended(); });
  EXPECT_TRUE(std::equal(local.begin(), local.end(), memory.begin()));
  std::uint64_t before = 0, now = 0;
  RequestPtr add = to_->fetch_op(AtomicOp::add, 8, 5, 0, base + 8, *key, &before);
  until([&] { return add == nullptr || add->ended(); });
  std::memcpy(&now, memory.data() + 8, 8);
  EXPECT_EQ(before, 0x0909'0909'0909'0909u);
  EXPECT_EQ(now, before + 5);
  key->reset();
  registered.reset();
}

// Where the transport can offer memory that peers of the host have mapped, nothing is left to be done after the call.
TEST_P(OverTransport, OfferedMemoryIsReachedWithinTheCall) {
  std::size_t most = 0;
  for (const Device& device : contexts_[0]->devices()) most = std::max(most, device.can.max_direct_get);
  if (most == 0) GTEST_SKIP() << "it has no such memory";
  Buffer offered = workers_[1]->allocate(100'000);
  ASSERT_TRUE(offered);
  MemoryPtr registered = *workers_[1]->register_memory(offered.bytes());
  auto key = to_->unpack(workers_[1]->pack_key(registered));
  ASSERT_TRUE(key.ok()) << key.message();
  auto base = reinterpret_cast<std::uintptr_t>(offered.data());
  std::vector<std::byte> bytes = pattern(most), back(most);
  RequestPtr first = to_->put(bytes, base, *key), flush = to_->flush();  // connected by then
  until([&] { return (first == nullptr || first->ended()) && (flush == nullptr || flush->ended()); });
  for (std::size_t size : {std::size_t{8}, std::size_t{1000}, most}) {
    std::fill(offered.data(), offered.data() + size, std::byte{0});
    EXPECT_EQ(to_->put({bytes.data(), size}, base, *key), nullptr) << size;
    EXPECT_TRUE(std::equal(bytes.data(), bytes.data() + size, offered.data())) << size;
    EXPECT_EQ(to_->get({back.data(), size}, base, *key), nullptr) << size;
    EXPECT_TRUE(std::equal(bytes.data(), bytes.data() + size, back.data())) << size;
  }
  std::uint32_t before = 0, now = 0;
  std::memcpy(offered.data(), &before, 4);
  EXPECT_EQ(to_->fetch_op(AtomicOp::swap, 4, 7, 0, base, *key, &before), nullptr);
  std::memcpy(&now, offered.data(), 4);
  EXPECT_EQ(before, 0u);
  EXPECT_EQ(now, 7u);
  EXPECT_EQ(to_->flush(), nullptr);
  registered.reset();
  RequestPtr refused = to_->put({bytes.data(), 8}, base, *key);
  ASSERT_NE(refused, nullptr);
  until([&] { return refused->ended(); });
  EXPECT_EQ(refused->outcome(), Outcome::bad_key);
  key->reset();
}

TEST_P(OverTransport, PartingIsHeardOnTheOtherSide) {
  std::vector<std::byte> message = pattern(8);
  RequestPtr send = to_->tag_send(message, 1);
  RequestPtr closing = to_->close();
  until([&] { return closing == nullptr || closing->ended(); });
  until([&] { return !workers_[1]->endpoint(workers_[0]->self())->failure().empty(); });
  EXPECT_TRUE(workers_[1]->tag_probe(1)) << "what was sent before has arrived";
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const TransportFactory* factory : machine::transports()) all.push_back(factory->name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Each, OverTransport, ::testing::ValuesIn(names()), [](auto& info) { return info.param; });

}  // namespace
}  // namespace periapt::ucx
