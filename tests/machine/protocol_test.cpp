// The table of protocols: the row that costs least is taken, for the sizes and kinds of memory that it is for; and a
// row that the engine doesn't know, which stages messages out of memory that a cpu cannot read.
#include <gmock/gmock.h>

#include "machine/ucx-like/protocol/table.h"
#include "tests/machine/engine_fixture.h"

namespace periapt::ucx::testing {
namespace {

using ::testing::HasSubstr;

Protocol row(const char* name, double (*cost)(const Demand&, const Plan&)) {
  Protocol made{.name = name, .uses = bit_of(Use::send), .cost = cost};
  return made;
}
const Protocol kCopies = row("copies", [](const Demand& demand, const Plan&) { return double(demand.size); });
const Protocol kAsks = row("asks", [](const Demand&, const Plan&) { return 1000.5; });
const Protocol kFew =
    row("few", [](const Demand& demand, const Plan&) { return demand.size <= 10 ? 0.0 : Protocol::kNever; });

TEST(ProtocolTable, TheRowThatCostsLeastIsTaken) {
  ProtocolTable table;
  for (const Protocol* one : {&kCopies, &kAsks, &kFew}) table.add(*one);
  Demand demand;
  const auto chosen = [&](std::uint64_t size) {
    demand.size = size;
    return std::string(table.choose(demand, {})->name);
  };
  EXPECT_EQ(chosen(0), "copies") << "of two that cost the same the first";
  EXPECT_EQ(chosen(10), "few");
  EXPECT_EQ(chosen(11), "copies");
  EXPECT_EQ(chosen(1000), "copies");
  EXPECT_EQ(chosen(1001), "asks");

  const std::vector<ProtocolTable::Range> ranges = table.ranges({}, {});
  ASSERT_EQ(ranges.size(), 4u);
  EXPECT_EQ(ranges[1].up_to, 10u);
  EXPECT_EQ(ranges[1].row, &kFew);
  EXPECT_EQ(ranges[2].up_to, 1000u);
  EXPECT_EQ(ranges[3].row, &kAsks);
}

TEST(ProtocolTable, NoRowIsTakenForWhatNoneIsFor) {
  ProtocolTable table;
  table.add(kFew);
  Demand demand;
  demand.size = 11;
  EXPECT_EQ(table.choose(demand, {}), nullptr) << "too large";
  demand.size = 1;
  demand.use = Use::put;
  EXPECT_EQ(table.choose(demand, {}), nullptr) << "it only sends";
  demand.use = Use::send;
  demand.kind = MemoryKind::cuda;
  EXPECT_EQ(table.choose(demand, {}), nullptr) << "it is for host memory";
  EXPECT_EQ(table.of(MessageKind::eager), nullptr);
}

TEST(ProtocolTable, EveryKindOfMessageBelongsToARow) {
  const ProtocolTable table = ProtocolTable::standard();
  for (unsigned kind = 0; kind <= static_cast<unsigned>(kLastKind); ++kind)
    EXPECT_NE(table.of(static_cast<MessageKind>(kind)), nullptr) << kind;
}

// Thresholds, which a user may set by hand, are where the costs of two rows meet.
TEST(ProtocolTable, TheEnginesRowsMeetAtTheThresholds) {
  Device device;
  device.can = WireSettings().can;
  const ProtocolTable table = ProtocolTable::standard();
  for (auto [copied, announced] : {std::pair{0, 0}, {100, 5000}, {4096, 4097}, {100, 101}, {1, 1 << 20}}) {
    SCOPED_TRACE(announced);
    Limits limits;
    limits.eager_copy_max = static_cast<std::uint64_t>(copied);
    limits.rendezvous_min = static_cast<std::uint64_t>(announced);
    const Plan plan = make_plan({&device}, limits);
    const auto chosen = [&](std::uint64_t size) {
      Demand demand;
      demand.size = size;
      return table.choose(demand, plan);
    };
    EXPECT_EQ(chosen(0), &kEagerCopied);
    EXPECT_EQ(chosen(plan.inline_max), &kEagerCopied);
    EXPECT_EQ(chosen(plan.eager_max), plan.inline_max < plan.eager_max ? &kEagerLent : &kEagerCopied);
    EXPECT_EQ(chosen(plan.eager_max + 1), &kRendezvous);
    EXPECT_EQ(chosen(std::uint64_t{5} << 30), &kRendezvous);
    if (announced != 0) {
      EXPECT_EQ(plan.eager_max, static_cast<std::uint64_t>(announced) - 1);
    }
  }
}

// ---- memory that a cpu cannot read: its bytes are other than they look

constexpr auto kFakeKind = MemoryKind::hip_managed;
constexpr std::byte kVeil{0x5A};
unsigned staged = 0;

std::vector<std::byte> veiled(std::vector<std::byte> bytes) {
  for (std::byte& byte : bytes) byte ^= kVeil;
  return bytes;
}

// To host memory first; from there by the row that is best for that.
Step stage(EndpointImpl& endpoint, Operation& operation) {
  ++staged;
  Buffer host = allocate_plain(operation.size);
  for (std::size_t i = 0; i < operation.size; ++i) host.data()[i] = operation.source[i] ^ kVeil;
  operation.source = host.data();
  operation.kind = MemoryKind::host;
  operation.state().buffer = std::move(host);
  Demand demand;
  demand.size = operation.size;
  demand.owned = true;
  operation.protocol = endpoint.owner.protocols.choose(demand, endpoint.plan);
  return operation.protocol->start(endpoint, operation);
}

const Protocol kStaging = {
    .name = "staged",
    .uses = bit_of(Use::send),
    .memory_kinds = bit_of(kFakeKind),
    .cost = [](const Demand& demand, const Plan&) { return static_cast<double>(demand.size); },
    .start = stage,
};

class OneMoreRow : public EngineTest {
 protected:
  void start_with(const ProtocolTable& table, PeerId peers) {
    for (PeerId peer = 1; peer <= peers; ++peer) {
      Node node;
      node.context = wire.context(peer);
      auto worker = std::make_unique<WorkerImpl>(*node.context, peer, table);
      ASSERT_TRUE(worker->open().ok());
      node.worker = std::move(worker);
      nodes.push_back(std::move(node));
    }
    staged = 0;
  }
};

TEST_F(OneMoreRow, IsStartedForTheKindOfMemoryThatItIsFor) {
  wire.settings.can.max_get = ~std::size_t{0};
  ProtocolTable table = ProtocolTable::standard();
  table.add(kStaging);
  start_with(table, 2);
  unsigned sent = 0;
  for (std::size_t size : {0u, 8u, 3000u, 20'000u, 1'000'000u}) {
    SCOPED_TRACE(size);
    const std::vector<std::byte> message = pattern(size), in_device = veiled(message);
    std::vector<std::byte> into(size);
    RequestPtr receive = worker(2).tag_receive(into, 7);
    RequestPtr send = endpoint(1, 2).tag_send_from(kFakeKind, in_device, 7);
    until([&] { return receive->ended() && (send == nullptr || send->ended()); });
    EXPECT_EQ(receive->outcome(), Outcome::ok);
    EXPECT_TRUE(into == message);
    EXPECT_EQ(staged, ++sent);
    // Host memory goes as it always does.
    receive = worker(2).tag_receive(into, 8);
    send = endpoint(1, 2).tag_send_from(MemoryKind::host, message, 8);
    until([&] { return receive->ended() && (send == nullptr || send->ended()); });
    EXPECT_TRUE(into == message);
    EXPECT_EQ(staged, sent);
  }
}

TEST_F(OneMoreRow, WithoutItASendFromSuchMemoryFailsAndTheNextOneGoesOut) {
  start(2);
  const std::vector<std::byte> message = pattern(100);
  std::vector<std::byte> into(message.size());
  struct Told {
    unsigned count = 0;
    Outcome outcome = Outcome::ok;
  } told;
  const SendDone done = [](void* context, Outcome outcome) {
    *static_cast<Told*>(context) = {static_cast<Told*>(context)->count + 1, outcome};
  };
  RequestPtr send = endpoint(1, 2).tag_send_from(kFakeKind, message, 7, done, &told);
  ASSERT_NE(send, nullptr);
  RequestPtr receive = worker(2).tag_receive(into, 8);
  RequestPtr next = endpoint(1, 2).tag_send(message, 8);
  until([&] { return receive->ended() && told.count != 0; });
  EXPECT_EQ(told.outcome, Outcome::failed);
  EXPECT_TRUE(into == message);
  EXPECT_EQ(endpoint(1, 2).waiting_messages(), 0u);
}

TEST_F(OneMoreRow, OneSidedOperationsAskForTheKindOfMemoryHere) {
  wire.settings.can.max_put = wire.settings.can.max_get = ~std::size_t{0};
  wire.settings.can.memory_kinds |= bit_of(MemoryKind::cuda);
  start(2);
  std::vector<std::byte> there(5000), here = pattern(5000);
  EXPECT_FALSE(worker(2).register_memory(there, kFakeKind).ok()) << "no device uses that kind";
  auto memory = worker(2).register_memory(there, MemoryKind::cuda);
  ASSERT_TRUE(memory.ok()) << memory.message();
  Endpoint& peer = endpoint(1, 2);
  auto key = peer.unpack(worker(2).pack_key(*memory));
  ASSERT_TRUE(key.ok()) << key.message();
  const auto remote = reinterpret_cast<std::uintptr_t>(there.data());
  const auto outcome_of = [&](MemoryKind kind) {
    RequestPtr put = peer.put(here, remote, *key, nullptr, nullptr, kind);
    until([&] { return put == nullptr || put->ended(); });
    RequestPtr flush = peer.flush();
    until([&] { return flush == nullptr || flush->ended(); });
    return put == nullptr ? Outcome::ok : put->outcome();
  };
  EXPECT_EQ(outcome_of(MemoryKind::cuda), Outcome::ok);
  EXPECT_EQ(wire.puts, 1u);
  EXPECT_TRUE(there == here);
  EXPECT_EQ(outcome_of(MemoryKind::hip), Outcome::failed) << "neither a device nor messages reach that kind";
  EXPECT_EQ(outcome_of(MemoryKind::host), Outcome::ok);
  key->reset();
}

TEST_F(OneMoreRow, ExplainNamesTheRowsThatAreTaken) {
  start(2);
  Endpoint& peer = endpoint(1, 2);
  until([&] { return peer.tag_send(pattern(10), 1) == nullptr; });
  const std::string text = worker(1).explain(&peer);
  EXPECT_THAT(text, HasSubstr("up to 4 KiB: copied and sent at once: "));
  EXPECT_THAT(text, HasSubstr(": sent at once from where it lies: "));
  EXPECT_THAT(text, HasSubstr("above, or beyond the peer's window of 8 KiB: announced first, then brought"));
}

}  // namespace
}  // namespace periapt::ucx::testing
