// Peers that are not as this version is, or say what they may not: written out here, step by step, with the peer of
// the fuzzer (tests/fuzz/verbs_peer.h), on the fake libibverbs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "machine/tcp/transport.h"
#include "machine/ucx-like/range_key.h"
#include "machine/ucx-like/worker.h"
#include "machine/verbs/link.h"
#include "machine/verbs/transport.h"
#include "tests/fuzz/verbs_peer.h"
#include "tests/machine/conformance.h"

namespace periapt::fuzz {
// As the fuzzer's driver has it: what must hold whatever the peer says.
void expect(bool holds, const char* what, CodePlace) { EXPECT_TRUE(holds) << what; }
}  // namespace periapt::fuzz

namespace periapt::conformance {
namespace {

using ::testing::HasSubstr;
using verbs::Call;

fake_verbs::InPlace in_place;

class VerbsPeerTest : public testing::Test {
 protected:
  void SetUp() override {
    fake_verbs::faults() = {};
    worker = std::make_unique<Worker>(subject, fuzz::VerbsPeer::kOther, kSecret);
    OpenRequest request;
    request.self = fuzz::VerbsPeer::kOther + 1;
    request.secret = std::as_bytes(std::span(kSecret));
    request.host = "here";
    request.option = [](const std::string& name) {
      return name == "+net-devices" ? std::string("127.0.0.1") : std::string();
    };
    peer = std::make_unique<fuzz::VerbsPeer>(verbs::choices_for(request).front(), request);
  }
  void TearDown() override {
    worker.reset();
    peer.reset();
    fake_verbs::faults() = {};
  }
  template <class Condition>
  void until(Condition&& condition) {
    test::Standstill standstill([this] { return worker->describe(); });
    while (!condition()) {
      standstill.look(worker->progress() > 0);
      peer->look();
    }
  }
  /// Both queue pairs of messages are connected, by the next right steps of the peer.
  void connect() {
    link = &worker->connect(fuzz::VerbsPeer::kOther + 1, peer->address());
    until([&] {
      peer->step();
      return peer->messages != nullptr && peer->messages->connected && worker->transport().handed_over(*link) &&
             worker->send_inline(*link, 8) == Accepted::done;
    });
  }
  void ask(Call::Kind kind, const fuzz::DetourHeader& header) {
    peer->tell(ucx::packed(peer->call_of(kind)), ucx::packed(header));
  }
  std::string why_lost() const { return worker->losses.empty() ? "" : worker->losses.front().reason; }

  const std::string kSecret = "a secret of the tests";
  const Subject subject{.factory = &verbs::factory, .options = {{"+net-devices", "127.0.0.1"}}};
  std::unique_ptr<Worker> worker;
  std::unique_ptr<fuzz::VerbsPeer> peer;
  Link* link = nullptr;
};

// Until the peer has heard that this side goes around too, its questions wait; one that is honest has so many at most.
TEST_F(VerbsPeerTest, APeerThatAsksForMoreThanItMayAroundIsALoss) {
  connect();
  peer->tell(peer->call_of(Call::Kind::around));
  until([&] { return peer->around.has_value(); });
  for (std::size_t i = 0; i < verbs::kOperationsMax; ++i) ask(i % 2 == 0 ? Call::Kind::get : Call::Kind::put, {});
  for (int i = 0; i < 1000; ++i) worker->progress(), peer->look();
  EXPECT_EQ(why_lost(), "") << "so many may wait";
  ask(Call::Kind::get, {});
  until([&] { return !worker->losses.empty(); });
  EXPECT_THAT(why_lost(), HasSubstr(verbs::kNotUnderstood));
}

// ---- another version

TEST_F(VerbsPeerTest, AnAddressOfAnotherVersionIsNotReached) {
  Worker other(subject, 7, kSecret);
  Bytes address = other.address();
  EXPECT_TRUE(worker->transport().reaches(address));
  address[0] ^= std::byte{1};
  EXPECT_FALSE(worker->transport().reaches(address));
  const auto link_there = worker->transport().connect(7, address);
  ASSERT_FALSE(link_there.ok());
  EXPECT_EQ(link_there.message(), "that is no address of the verbs transport");
}

TEST_F(VerbsPeerTest, APeerThatSpeaksAnotherVersionIsALoss) {
  connect();
  Call call = peer->call_of(Call::Kind::here, verbs::Queue::memory);
  call.magic = verbs::kMagic + 1;
  peer->tell(call);
  until([&] { return !worker->losses.empty(); });
  EXPECT_THAT(why_lost(), HasSubstr(verbs::kNotUnderstood));
}

// One that begins has no link yet: it is turned away, and the worker serves others.
TEST_F(VerbsPeerTest, AStrangerThatSpeaksAnotherVersionIsTurnedAway) {
  peer->connect(worker->address());
  Call call;
  call.magic = verbs::kMagic + 1;
  peer->tell(call);
  until([&] { return peer->seat.link == nullptr; });
  EXPECT_TRUE(worker->losses.empty());
  EXPECT_EQ(worker->link_to(fuzz::VerbsPeer::kOther + 1), nullptr);
  Worker other(subject, 7, kSecret);
  Link& there = other.connect(*worker);
  for (int i = 0; i < 3; ++i) other.push(there, 100, i, {worker.get()});
  pump({worker.get(), &other}, [&] { return worker->arrived_from(7) == other.sent_to(worker->self()); });
}

// ---- other transports

// As two processes of a run, of which one has no adapter.
TEST(VerbsAndOthers, APeerWithTcpAloneIsReachedByThatAndItIsSaid) {
  fake_verbs::faults() = {};
  struct Side {
    std::unique_ptr<Context> context;
    std::unique_ptr<ucx::Worker> worker;
  };
  const auto open = [](PeerId self, std::vector<const TransportFactory*> factories) {
    ContextRequest request;
    request.factories = std::move(factories);
    request.self = self;
    request.host = "here";
    request.secret.assign(16, std::byte{7});
    request.option = [](const std::string& name) {
      return name == "+net-devices" ? std::string("127.0.0.1") : std::string();
    };
    Side side;
    side.context = std::move(*Context::create(std::move(request)));
    side.worker = std::move(*ucx::Worker::create(*side.context));
    return side;
  };
  Side both = open(1, {&verbs::factory, &tcp::factory}), tcp_alone = open(2, {&tcp::factory});
  const auto there = both.worker->connect(tcp_alone.worker->address());
  ASSERT_TRUE(there.ok()) << there.message();
  Bytes sent(300'000), into(sent.size());
  fill(sent, 8);
  RequestPtr receive = tcp_alone.worker->tag_receive(into, 1);
  RequestPtr send = (*there)->tag_send(sent, 1);
  test::Standstill standstill([&] { return both.worker->explain() + tcp_alone.worker->explain(); });
  while (!receive->ended() || (send != nullptr && !send->ended()))
    standstill.look(both.worker->progress() + tcp_alone.worker->progress() > 0);
  EXPECT_TRUE(into == sent);
  EXPECT_THAT(both.worker->explain(), HasSubstr("worker 2: over tcp/lo"));
  EXPECT_THAT(both.worker->explain(),
              HasSubstr("not over verbs/fake0:1: no device of its that they reach is left for that"));
  // Without TCP on this side there is no way, and both sides' devices are named.
  Side verbs_alone = open(3, {&verbs::factory});
  const auto none = verbs_alone.worker->connect(tcp_alone.worker->address());
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.message(), HasSubstr("no transport reaches worker 2: here are "));
  EXPECT_THAT(none.message(), HasSubstr("verbs/fake0:1"));
  EXPECT_THAT(none.message(), HasSubstr("there are self, tcp"));
}

// ---- forged keys

// Good in every respect but one: over its queue pair and around it.
TEST(VerbsForgedKeys, GiveNoAccessAndLeaveTheLinkAlone) {
  const Subject subject{.factory = &verbs::factory, .options = {{"+net-devices", "127.0.0.1"}}};
  for (const bool around : {false, true}) {
    SCOPED_TRACE(around);
    fake_verbs::faults() = {};
    Pair pair(subject);
    Shared local(pair.a, 8192), remote(pair.b, 4096);
    const Bytes before = remote.bytes;
    RemoteKey true_key = remote.key_for(pair.a, *pair.ab);
    fill(local.bytes, 3);
    const ucx::RangeKey known = *static_cast<const ucx::RangeKey*>(true_key.detail);
    ucx::RangeKey guessed = known, wider = known, moved = known;
    guessed.key ^= 0x1234'5678;
    wider.size += 4096;
    moved.address += 4096;
    if (around) {
      for (int i = 0; i < 100; ++i) fake_verbs::faults().next_sends.push_back(IBV_WC_RETRY_EXC_ERR);
      Ticket first;
      ASSERT_EQ(pair.a.get(*pair.ab, std::span(local.bytes).first(64), &local.handle, remote.at(), true_key, first),
                Accepted::pending);
      pump(pair.both(), [&] { return first.ended(); });
      EXPECT_NE(pair.a.transport().describe(*pair.ab), "");
      fill(local.bytes, 3);
    }
    for (const ucx::RangeKey& forged : {guessed, wider, moved}) {
      Result<RemoteKey> key = pair.a.transport().unpack_key(*pair.ab, ucx::pack(forged));
      ASSERT_TRUE(key.ok()) << key.message();
      // The last bytes that it would lead to.
      const std::uint64_t at = forged.address + forged.size - 64;
      Ticket put, get;
      Shared got(pair.a, 64);
      ASSERT_EQ(pair.a.put(*pair.ab, View(local.bytes).first(64), &local.handle, at, *key, put), Accepted::pending);
      ASSERT_EQ(pair.a.get(*pair.ab, got.bytes, &got.handle, at, *key, get), Accepted::pending);
      pump(pair.both(), [&] { return put.ended() && get.ended(); });
      EXPECT_EQ(put.outcome, Outcome::bad_key);
      EXPECT_EQ(get.outcome, Outcome::bad_key);
      pair.a.transport().release_key(*key);
    }
    EXPECT_EQ(remote.bytes, before);
    Ticket put;
    ASSERT_EQ(pair.a.put(*pair.ab, View(local.bytes).first(4096), &local.handle, remote.at(), true_key, put),
              Accepted::pending);
    pair.a.push(*pair.ab, 3000, 0, {&pair.b});
    pump(pair.both(), [&] { return put.ended() && pair.b.arrived_from(1) == pair.a.sent_to(2); });
    EXPECT_EQ(put.outcome, Outcome::ok);
    EXPECT_TRUE(std::equal(remote.bytes.begin(), remote.bytes.end(), local.bytes.begin()));
    EXPECT_TRUE(pair.a.losses.empty() && pair.b.losses.empty());
    pair.a.transport().release_key(true_key);
  }
}

// What is not even a key, or was mangled, is refused where it is unpacked.
TEST(VerbsForgedKeys, ThatWereMangledAreRefused) {
  const Subject subject{.factory = &verbs::factory, .options = {{"+net-devices", "127.0.0.1"}}};
  fake_verbs::faults() = {};
  Pair pair(subject);
  Shared remote(pair.b, 4096);
  const Bytes good = pair.b.transport().pack_key(remote.handle);
  for (std::size_t i = 0; i < good.size(); ++i) {
    Bytes mangled = good;
    mangled[i] ^= std::byte{0x40};
    EXPECT_FALSE(pair.a.transport().unpack_key(*pair.ab, mangled).ok()) << i;
    EXPECT_FALSE(pair.a.transport().unpack_key(*pair.ab, View(good).first(i)).ok()) << i;
  }
}

}  // namespace
}  // namespace periapt::conformance
