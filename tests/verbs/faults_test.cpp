// What fails below the verbs transport: calls of the library, queue pairs, ports, the device. Each is told once, with
// its reason, and nothing is lost without a word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>

#include "base/clock.h"
#include "machine/verbs/link.h"
#include "machine/verbs/transport.h"
#include "tests/machine/conformance.h"
#include "tests/verbs/fake_verbs.h"

namespace periapt::conformance {
namespace {

fake_verbs::InPlace in_place;
fake_verbs::Faults& faults() { return fake_verbs::faults(); }

class VerbsFaults : public testing::Test {
 protected:
  void SetUp() override { faults() = {}; }
  void TearDown() override { faults() = {}; }
  const Subject subject{.factory = &verbs::factory, .options = {{"+net-devices", "127.0.0.1"}}};

  /// Why the device is not there, or can't be opened.
  std::string why_not() {
    try {
      Worker worker(subject, 1);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "it can be opened";
  }
  Device found() {
    OpenRequest request;
    return verbs::factory.probe(request).front();
  }
};

// ---- opening

TEST_F(VerbsFaults, EachCallOfOpeningThatFailsIsSaidAndNothingIsLeftBehind) {
  for (const char* call :
       {"ibv_alloc_pd", "ibv_create_comp_channel", "ibv_create_cq", "ibv_create_srq", "ibv_reg_mr"}) {
    faults().fails[call] = {0, ENOMEM};
    const std::string why = why_not();
    EXPECT_NE(why.find("fake0:1"), std::string::npos) << call << ": " << why;
    EXPECT_NE(why.find("Cannot allocate memory"), std::string::npos) << call << ": " << why;
    faults() = {};
    EXPECT_EQ(why_not(), "it can be opened") << call;
  }
}

TEST_F(VerbsFaults, ADeviceThatMayNotBeOpenedIsListedWithTheReason) {
  faults().fails["ibv_open_device"] = {0, EACCES};
  const Device device = found();
  EXPECT_FALSE(device.usable);
  EXPECT_EQ(device.detail, "it can't be opened: Permission denied");
  EXPECT_NE(device.remedy.find("/dev/infiniband/uverbs0"), std::string::npos);
}

TEST_F(VerbsFaults, APortWithoutAnAddressOrACarrierIsListedWithTheReason) {
  faults().without_gid = true;
  EXPECT_EQ(found().detail, "it has no GID, so that no other can address it");
  faults() = {};
  faults().port_inactive = true;
  EXPECT_EQ(found().detail, "the port is down");
}

TEST_F(VerbsFaults, ADeviceOfIWarpNamesTheTransportForIt) {
  faults().iwarp = true;
  const Device device = found();
  EXPECT_FALSE(device.usable);
  EXPECT_EQ(device.detail, "iWARP connects by rdma_cm alone, which the ofi transport does");
  EXPECT_NE(device.remedy.find("+transports ofi +ofi-provider verbs"), std::string::npos);
}

TEST_F(VerbsFaults, NoDeviceAtAllIsSaid) {
  faults().devices = 0;
  const Device device = found();
  EXPECT_FALSE(device.usable);
  EXPECT_EQ(device.detail, "libibverbs knows none of the kernel's devices");
}

TEST_F(VerbsFaults, LittleLockedMemoryIsSaidWithTheNumber) {
  faults().fails["ibv_reg_mr"] = {0, ENOMEM};
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &before), 0);
  rlimit small = before;
  small.rlim_cur = 64 << 10;
  ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &small), 0);
  const std::string why = why_not();
  ::setrlimit(RLIMIT_MEMLOCK, &before);
  EXPECT_NE(why.find("the limit of locked memory of this process is 65536 bytes"), std::string::npos) << why;
  EXPECT_NE(why.find("ulimit -l unlimited"), std::string::npos) << why;
}

TEST_F(VerbsFaults, SmallQueuesOfADeviceAreEnough) {
  faults().receives_most = 8;
  faults().completions_most = 256;
  Pair pair(subject);
  for (int i = 0; i < 500; ++i) pair.a.push(*pair.ab, 100 + static_cast<std::size_t>(i) * 13, i % 3, {&pair.b});
  pump(pair.both(), [&] { return pair.b.arrived_from(1) == pair.a.sent_to(2); });
  faults().completions_most = 16;
  EXPECT_NE(why_not().find("too few"), std::string::npos);
}

TEST_F(VerbsFaults, APartitionThatThePortIsNotInIsSaid) {
  faults().infiniband = true;
  faults().partitions[0] = {0xffff, 0, 0x8007};
  OpenRequest request;
  request.option = [](const std::string& name) { return name == "+verbs-partition-key" ? "0x8001" : ""; };
  const Device device = verbs::factory.probe(request).front();
  EXPECT_FALSE(device.usable);
  EXPECT_EQ(device.detail, "+verbs-partition-key 0x8001 names none of its partitions; there are: 0xffff 0x8007");
  EXPECT_EQ(why_not(), "it can be opened") << "without it";
}

// The index of a partition is each port's own.
TEST_F(VerbsFaults, MessagesDatagramsPutsAndGetsGoInThePartition) {
  for (const char* datagrams_from : {"0", "64"}) {
    SCOPED_TRACE(datagrams_from);
    faults() = {};
    faults().infiniband = true;
    faults().devices = 2;
    faults().partitions[0] = {0xffff, 0x0007, 0x8001};
    faults().partitions[1] = {0x0001};
    const auto at = [&](const char* device) {
      return Subject{.factory = &verbs::factory,
                     .device = device,
                     .options = {{"+net-devices", "127.0.0.1"},
                                 {"+verbs-rails", "2"},
                                 {"+verbs-partition-key", "0x8001"},
                                 {"+verbs-datagrams-from", datagrams_from}}};
    };
    Worker a(at("fake0:1"), 1), b(at("fake1:1"), 2);
    Link& link = a.connect(b);
    for (std::size_t i = 0; i < 20; ++i) a.push(link, i * 37, 0, {&b});
    pump({&a, &b}, [&] { return b.arrived_from(1) == a.sent_to(2); });
    EXPECT_EQ(faults().pairs_made == 0, datagrams_from[0] == '0') << "how they went";
    Shared local(a, 5000), remote(b, 5000);
    RemoteKey key = remote.key_for(a, link);
    Ticket put;
    fill(local.bytes, 3);
    ASSERT_EQ(a.put(link, local.bytes, &local.handle, remote.at(), key, put), Accepted::pending);
    pump({&a, &b}, [&] { return put.ended(); });
    EXPECT_EQ(put.outcome, Outcome::ok);
    EXPECT_EQ(remote.bytes, local.bytes);
    a.transport().release_key(key);
    EXPECT_TRUE(a.losses.empty() && b.losses.empty());
    EXPECT_EQ(a.transport().describe(link), datagrams_from[0] == '0' ? "by datagrams, until it carries more" : "")
        << "it did not have to go around";
  }
}

TEST_F(VerbsFaults, PortsOfOtherPartitionsDoNotReachEachOther) {
  faults().infiniband = true;
  const auto in = [](std::uint16_t key) { faults().partitions[0] = {key}; };
  in(0x8001);
  Worker full(subject, 1);
  in(0x0001);
  Worker limited(subject, 2), another_limited(subject, 3);
  in(0x8002);
  Worker other(subject, 4);
  const auto reach = [](Worker& a, Worker& b) {
    const bool there = a.transport().reaches(b.address());
    EXPECT_EQ(there, b.transport().reaches(a.address()));
    return there;
  };
  EXPECT_TRUE(reach(full, limited));
  EXPECT_FALSE(reach(limited, another_limited)) << "nothing goes between limited members";
  EXPECT_FALSE(reach(full, other));
}

TEST_F(VerbsFaults, PacketsAreAsLargeAsIsSaidAtMost) {
  for (const auto& [said, mtu] : {std::pair<const char*, ibv_mtu>{"", IBV_MTU_4096}, {"1024", IBV_MTU_1024}}) {
    const Subject with{.factory = &verbs::factory, .options = {{"+net-devices", "127.0.0.1"}, {"+verbs-mtu", said}}};
    Pair pair(with);
    EXPECT_EQ(faults().path_mtu, mtu) << said;
  }
}

TEST_F(VerbsFaults, TwoKindsOfNetworkDoNotReachEachOther) {
  Worker a(subject, 1);
  faults().infiniband = true;
  Worker b(subject, 2);
  EXPECT_FALSE(a.transport().reaches(b.address()));
  EXPECT_FALSE(b.transport().reaches(a.address()));
}

// ---- links

TEST_F(VerbsFaults, AQueuePairThatCannotBeMadeOrConnectedIsALoss) {
  for (const char* call : {"ibv_create_qp", "ibv_modify_qp"}) {
    Worker a(subject, 1), b(subject, 2);
    faults().fails[call] = {0, ENOMEM};
    Link& link = a.connect(b);
    pump({&a, &b}, [&] { return a.losses.size() == 1; });
    EXPECT_EQ(a.losses[0].reason.find("worker 2: "), 0u) << a.losses[0].reason;
    EXPECT_EQ(a.send_inline(link, 8), Accepted::lost);
    faults() = {};
    a.close(link);
    settle({&a, &b});
    a.push(a.connect(b), 8, 0, {&b});
    pump({&a, &b}, [&] { return b.arrived_from(1) == 1; });
  }
}

/// The link's next request ends with `status`: what was accepted ends once, and the loss has a reason.
void break_link(const Subject& subject, ibv_wc_status status, const std::string& reason) {
  Pair pair(subject);
  Ticket flush;
  faults().next_sends = {status};
  EXPECT_EQ(pair.a.send_inline(*pair.ab, 5000), Accepted::done);
  const Accepted answer = pair.a.flush(*pair.ab, flush);
  pump(pair.both(), [&] { return pair.a.losses.size() == 1 && pair.b.losses.size() == 1; });
  EXPECT_EQ(flush.calls, answer == Accepted::pending ? 1 : 0);
  EXPECT_NE(pair.a.losses[0].reason.find(reason), std::string::npos) << pair.a.losses[0].reason;
  EXPECT_EQ(pair.a.send_inline(*pair.ab, 8), Accepted::lost);
}

TEST_F(VerbsFaults, AMessageThatFailsIsALossWithItsReason) {
  break_link(subject, IBV_WC_REM_OP_ERR, "a message to it failed: remote operation error");
  break_link(subject, IBV_WC_LOC_PROT_ERR, "a message to it failed");
}

// ---- connections that break and are made anew: each message comes once, in its order (the worker looks at that)

/// Messages of all sizes, those that go within the request and those that do not, both ways.
void send_some(Pair& pair, int count) {
  for (int i = 0; i < count; ++i) {
    pair.a.push(*pair.ab, static_cast<std::size_t>(i) * 37 % 6000, i % 3, {&pair.b});
    pair.b.push(*pair.ba, static_cast<std::size_t>(i) * 53 % 300, i % 3, {&pair.a});
  }
}
void all_come(Pair& pair) {
  pump(pair.both(),
       [&] { return pair.b.arrived_from(1) == pair.a.sent_to(2) && pair.a.arrived_from(2) == pair.b.sent_to(1); });
  EXPECT_TRUE(pair.a.losses.empty() && pair.b.losses.empty());
}

// ---- small messages that go together

/// Without the peer's looks, which the fake device needs: it is behind from the kBehind-th on.
void send_many_small(Pair& pair, int count, std::size_t size = 8) {
  for (int i = 0; i < count; ++i) ASSERT_EQ(pair.a.send_inline(*pair.ab, size), Accepted::done) << i;
}

TEST_F(VerbsFaults, SmallMessagesGoTogetherWhileTheDeviceIsBehind) {
  Pair pair(subject);
  send_some(pair, 3);
  all_come(pair);
  const std::uint64_t before = faults().posted;
  send_many_small(pair, 1000);
  all_come(pair);
  EXPECT_LT(faults().posted - before, verbs::kBehind + 20);
  // One alone goes at once.
  pump(pair.both(), [&] { return pair.a.transport().handed_over(*pair.ab); });
  const std::uint64_t alone = faults().posted;
  send_many_small(pair, 1);
  EXPECT_EQ(faults().posted, alone + 1);
  all_come(pair);
}

TEST_F(VerbsFaults, WhatFollowsABatchComesBehindIt) {
  Pair pair(subject);
  send_many_small(pair, 40);
  for (int round = 0; round < 20; ++round) {
    send_many_small(pair, 3, static_cast<std::size_t>(round) * 25);
    ASSERT_TRUE(pair.a.push(*pair.ab, 3000, round % 3, {&pair.b}));
    send_many_small(pair, round % 5 == 0 ? 300 : 1);
  }
  Ticket flush;
  ASSERT_EQ(pair.a.flush(*pair.ab, flush), Accepted::pending);
  send_many_small(pair, 50);
  all_come(pair);
  pump(pair.both(), [&] { return flush.ended(); });
  EXPECT_EQ(flush.outcome, Outcome::ok);
}

TEST_F(VerbsFaults, ABatchWhoseQueuePairBreaksComesOnce) {
  for (int good = 0; good < 40; ++good) {
    Pair pair(subject);
    send_some(pair, 3);
    all_come(pair);
    faults().next_sends = std::deque<ibv_wc_status>(static_cast<std::size_t>(good), IBV_WC_SUCCESS);
    faults().next_sends.push_back(IBV_WC_RETRY_EXC_ERR);
    faults().answers_lost = good % 2;
    send_many_small(pair, 300);
    all_come(pair);
    send_many_small(pair, 100);
    all_come(pair);
    faults() = {};
  }
}

TEST_F(VerbsFaults, AFlushWaitsForTheBatchBeforeIt) {
  Pair pair(subject);
  send_many_small(pair, 100);
  Ticket flush;
  ASSERT_EQ(pair.a.flush(*pair.ab, flush), Accepted::pending);
  while (!flush.ended()) {
    for (int i = 0; i < 20; ++i) pair.b.progress();
    pair.a.progress();
  }
  EXPECT_EQ(pair.b.arrived_from(1), pair.a.sent_to(2));
}

TEST_F(VerbsFaults, ABatchOfALinkThatStaysBrokenGoesAround) {
  faults().soft_roce = true;  // it is left at once
  Pair pair(subject);
  send_some(pair, 5);
  all_come(pair);
  faults().port_down = true;
  while (pair.a.send_inline(*pair.ab, 8) == Accepted::done) {  // until the queue pair is full, and a batch behind it
  }
  fake_verbs::raise(IBV_EVENT_PORT_ERR);
  all_come(pair);
  send_many_small(pair, 50);
  all_come(pair);
}

TEST_F(VerbsFaults, ALinkIsNotHandedOverWhileItHasABatch) {
  Pair pair(subject);
  send_many_small(pair, 100);
  faults().fails["ibv_post_send"] = {0, ENOMEM};  // so that all others end, and the batch does not go
  for (int i = 0; i < 100; ++i) pair.b.progress(), pair.a.progress();
  EXPECT_FALSE(pair.a.transport().handed_over(*pair.ab));
  faults() = {};
  pump(pair.both(), [&] { return pair.a.transport().handed_over(*pair.ab); });
  all_come(pair);
}

TEST_F(VerbsFaults, ALinkThatIsClosedWithABatchThatCannotGoTellsNothing) {
  Pair pair(subject);
  send_many_small(pair, 100);
  faults().fails["ibv_post_send"] = {0, EIO};
  pair.a.close(*pair.ab);
  faults() = {};
  for (int i = 0; i < 100; ++i) pair.b.progress(), pair.a.progress();
  EXPECT_TRUE(pair.a.losses.empty());
}

// The peer takes what comes; this side only sends.
TEST_F(VerbsFaults, NothingWaitsWhereTheDeviceIsNotBehind) {
  Pair pair(subject);
  send_some(pair, 3);
  all_come(pair);
  for (int i = 0; i < 40; ++i) {
    send_many_small(pair, 1);
    for (int look = 0; look < 3; ++look) pair.b.progress();
  }
  for (int i = 0; i < 100; ++i) pair.b.progress();
  EXPECT_EQ(pair.b.arrived_from(1), pair.a.sent_to(2));
}

// ---- batches of a peer that is wrong

/// What is wrong with a batch, which begins with its own Prefix.
struct Wrong {
  const char* what;
  std::function<void(Bytes& batch)> make;
  int before = 0;  ///< messages that are in front of it in the batch, and come
};

verbs::Prefix prefix_at(const Bytes& batch, std::size_t at) {
  verbs::Prefix prefix;
  std::memcpy(&prefix, batch.data() + at, sizeof prefix);
  return prefix;
}
/// Where the n-th message of a batch has its Prefix.
std::size_t begin_of(const Bytes& batch, int n) {
  std::size_t at = sizeof(verbs::Prefix);
  for (; n > 0; --n) {
    const verbs::Prefix prefix = prefix_at(batch, at);
    at += (sizeof prefix + prefix.header_bytes + prefix.number + 7) / 8 * 8;
  }
  return at;
}
/// Changes the Prefix of the n-th message.
template <class Change>
Wrong changed(const char* what, int n, Change change) {
  return {what,
          [n, change](Bytes& batch) {
            const std::size_t at = begin_of(batch, n);
            verbs::Prefix prefix = prefix_at(batch, at);
            change(prefix);
            std::memcpy(batch.data() + at, &prefix, sizeof prefix);
          },
          n};
}

// Each loses the peer that said it with the reason, once; what stood in front of it has come, and so does all of
// others.
TEST_F(VerbsFaults, ABatchThatMakesNoSenseLosesItsPeerAlone) {
  using verbs::Prefix;
  const Wrong wrongs[] = {
      changed("more bytes than the batch has", 2, [](Prefix& prefix) { prefix.number = 4000; }),
      changed("more bytes than a batch may have", 0, [](Prefix& prefix) { prefix.number = 4097; }),
      changed("more bytes than a slot has", 1, [](Prefix& prefix) { prefix.number = verbs::kSlotBytes; }),
      changed("bytes whose sum with the rest wraps around", 3, [](Prefix& prefix) { prefix.number = ~0u; }),
      changed("the same with the rounding up alone", 3, [](Prefix& prefix) { prefix.number = ~0u - 48; }),
      changed("a header longer than any", 1, [](Prefix& prefix) { prefix.header_bytes = verbs::kHeaderMax + 1; }),
      changed("the longest header that can be said", 0, [](Prefix& prefix) { prefix.header_bytes = 255; }),
      changed("a batch in a batch", 1, [](Prefix& prefix) { prefix.kind = Prefix::Kind::batch; }),
      changed("a word between the transports", 1, [](Prefix& prefix) { prefix.kind = Prefix::Kind::flushed; }),
      changed("a kind that there is not", 1, [](Prefix& prefix) { prefix.kind = static_cast<Prefix::Kind>(0xee); }),
      changed("nothing but zeros", 1, [](Prefix& prefix) { prefix = {.kind = Prefix::Kind{}}; }),
      {"an end within a Prefix", [](Bytes& batch) { batch.resize(begin_of(batch, 2) + 4); }, 2},
      {"an end within a payload", [](Bytes& batch) { batch.resize(begin_of(batch, 3) - 1); }, 2},
      {"an end within the first one", [](Bytes& batch) { batch.resize(begin_of(batch, 0) + 1); }},
      {"no message", [](Bytes& batch) { batch.resize(begin_of(batch, 0)); }},
      {"a header of the batch's own", [](Bytes& batch) { batch.at(offsetof(Prefix, header_bytes)) = std::byte{8}; }},
  };
  for (const Wrong& wrong : wrongs) {
    SCOPED_TRACE(wrong.what);
    Pair pair(subject);
    Worker other(subject, 3);
    const std::vector<Worker*> all = {&pair.a, &pair.b, &other};
    Link& other_to_b = other.connect(pair.b);
    ASSERT_TRUE(other.push(other_to_b, 100, 0, all));
    int batches = 0;
    std::uint64_t alone = 0;
    faults().rewrite = [&](Bytes& message) {
      if (batches > 0) return;
      if (prefix_at(message, 0).kind != Prefix::Kind::batch) return void(++alone);
      ++batches;
      wrong.make(message);
    };
    const std::uint64_t before = pair.a.sent_to(2);
    send_many_small(pair, verbs::kBehind + 60);
    const std::uint64_t in_front = before + alone;
    ASSERT_TRUE(other.push(other_to_b, 3000, 1, all));
    pump(all, [&] { return !pair.b.losses.empty() && !pair.a.losses.empty(); });
    faults().rewrite = nullptr;
    EXPECT_EQ(batches, 1);
    ASSERT_EQ(pair.b.losses.size(), 1u);
    EXPECT_EQ(pair.b.losses.front().peer, 1u);
    EXPECT_THAT(pair.b.losses.front().reason, testing::HasSubstr(verbs::kNotUnderstood));
    EXPECT_EQ(pair.b.arrived_from(1), in_front + static_cast<std::uint64_t>(wrong.before));
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(other.push(other_to_b, 500, i % 2, all));
    pump(all, [&] { return pair.b.arrived_from(3) == other.sent_to(2); });
    EXPECT_EQ(pair.b.losses.size(), 1u);
    EXPECT_TRUE(other.losses.empty());
  }
}

// ---- queue pairs that break

TEST_F(VerbsFaults, AMessageThatTimesOutIsSentAgain) {
  for (const ibv_wc_status status : {IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_LOC_QP_OP_ERR}) {
    Pair pair(subject);
    Ticket flush;
    faults().next_sends = {IBV_WC_SUCCESS, status};
    send_some(pair, 20);
    ASSERT_EQ(pair.a.flush(*pair.ab, flush), Accepted::pending);
    send_some(pair, 20);
    all_come(pair);
    pump(pair.both(), [&] { return flush.ended(); });
    EXPECT_EQ(flush.outcome, Outcome::ok);
    EXPECT_TRUE(faults().next_sends.empty());
  }
}

TEST_F(VerbsFaults, AMessageWhoseAnswerIsLostIsNotSentTwice) {
  for (int round = 0; round < 10; ++round) {
    Pair pair(subject);
    send_some(pair, 3 + round);
    faults().answers_lost = 1;
    send_some(pair, 30);
    all_come(pair);
    pump(pair.both(), [] { return faults().answers_lost == 0; });
    send_some(pair, 3);
    all_come(pair);
  }
}

TEST_F(VerbsFaults, BothSidesBreakAtOnceAndAgainWhileTheyMend) {
  for (unsigned one_in : {2u, 3u, 5u, 20u}) {
    Pair pair(subject);
    faults().chance = one_in;
    for (int round = 0; round < 30; ++round) {
      faults().break_one_in = one_in;
      send_some(pair, 20);
      // Not for ever: each message would have to pass kBreaksMax times.
      for (int i = 0; i < 50; ++i) pair.a.progress(), pair.b.progress();
      faults().break_one_in = 0;
      if (!pair.a.losses.empty() || !pair.b.losses.empty()) return;  // one in two may really break as often
      all_come(pair);
    }
  }
}

TEST_F(VerbsFaults, ItBreaksAgainBeforeAllIsSentAgain) {
  Pair pair(subject);
  faults().next_sends = {IBV_WC_RETRY_EXC_ERR};
  for (int i = 0; i < 30; ++i) pair.a.push(*pair.ab, static_cast<std::size_t>(i) * 97 % 3000, 0, {&pair.b});
  faults().next_sends = {IBV_WC_SUCCESS, IBV_WC_RETRY_EXC_ERR};
  faults().fails["ibv_post_send"] = {3, ENOMEM};
  while (!faults().next_sends.empty()) pair.a.progress(), pair.b.progress();
  for (int i = 0; i < 50; ++i) pair.a.progress(), pair.b.progress();
  faults().fails.clear();
  all_come(pair);
}

TEST_F(VerbsFaults, ASideThatOnlyReceivesKeepsItsQueuePairs) {
  testing::internal::CaptureStderr();
  Pair pair(subject);
  for (int breaks = 0; breaks < 3 * verbs::kBreaksMax; ++breaks) {
    faults().next_sends = {IBV_WC_SUCCESS, IBV_WC_RETRY_EXC_ERR};
    for (int i = 0; i < 5; ++i) pair.a.push(*pair.ab, 100, 0, {&pair.b});
    all_come(pair);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("TCP is used"), std::string::npos);
}

TEST_F(VerbsFaults, APortThatIsDownForAWhileLosesNothing) {
  Pair pair(subject);
  send_some(pair, 5);
  all_come(pair);
  faults().port_down = true;
  fake_verbs::raise(IBV_EVENT_PORT_ERR);
  send_some(pair, 30);
  for (int breaks = 0; breaks < 2; ++breaks) {
    const std::uint64_t before = clock::now_ns();
    while (clock::now_ns() - before < 250'000'000) pair.a.progress(), pair.b.progress();
  }
  EXPECT_TRUE(pair.a.losses.empty() && pair.b.losses.empty());
  faults().port_down = false;
  all_come(pair);
}

// ---- links that stay broken: what is left goes over TCP

TEST_F(VerbsFaults, APortThatStaysDownIsGoneAround) {
  Pair pair(subject);
  send_some(pair, 5);
  faults().port_down = true;
  fake_verbs::raise(IBV_EVENT_PORT_ERR);
  send_some(pair, 30);
  Ticket flush;
  ASSERT_EQ(pair.a.flush(*pair.ab, flush), Accepted::pending);
  all_come(pair);
  pump(pair.both(), [&] { return flush.ended(); });
  EXPECT_EQ(flush.outcome, Outcome::ok);
  send_some(pair, 200);
  all_come(pair);
}

// Soft RoCE, while its network interface is down: what was sent neither ends nor fails, and a new queue pair has no
// way.
TEST_F(VerbsFaults, ASoftwarePortThatIsDownIsNotWaitedFor) {
  faults().soft_roce = true;
  Pair pair(subject);
  send_some(pair, 5);
  all_come(pair);
  faults().timeout_ms = 1'000'000'000;  // nothing fails
  faults().port_down = true;
  send_some(pair, 5);
  fake_verbs::raise(IBV_EVENT_PORT_ERR);
  send_some(pair, 30);
  all_come(pair);
}
TEST_F(VerbsFaults, APortThatNeverHadAWayIsGoneAround) {
  faults().fails["ibv_modify_qp, a way"] = {0, ENETUNREACH};
  Worker a(subject, 1), b(subject, 2);
  Link& link = a.connect(b);
  for (int i = 0; i < 30; ++i) a.push(link, 100, 0, {&b});
  pump({&a, &b}, [&] { return b.arrived_from(1) == a.sent_to(2); });
  EXPECT_EQ(b.arrived_from(1), 30u);
  EXPECT_TRUE(a.losses.empty() && b.losses.empty());
}

TEST_F(VerbsFaults, AnotherSideThatIsBusyIsWaitedFor) {
  Subject impatient = subject;
  impatient.options["+verbs-patience"] = "0";
  Pair pair(impatient);
  faults().next_sends = {IBV_WC_RETRY_EXC_ERR};
  pair.a.push(*pair.ab, 100, 0, {&pair.b});
  for (int i = 0; i < 1000; ++i) pair.a.progress();
  EXPECT_TRUE(pair.a.losses.empty());
  all_come(pair);
  send_some(pair, 50);
  all_come(pair);
}

TEST_F(VerbsFaults, AProcessThatGoesWhileALinkIsBrokenIsALoss) {
  Worker a(subject, 1);
  auto b = std::make_unique<Worker>(subject, 2);
  Link& link = a.connect(*b);
  a.push(link, 100, 0, {b.get()});
  pump({&a, b.get()}, [&] { return b->arrived_from(1) == 1; });
  faults().port_down = true;
  EXPECT_EQ(a.send_inline(link, 100), Accepted::done);
  b.reset();
  pump({&a}, [&] { return a.losses.size() == 1; });
}

TEST_F(VerbsFaults, WhatAPeerHadSentComesBeforeItsLossAlsoWhenTheDeviceGoesThen) {
  Worker a(subject, 1);
  auto b = std::make_unique<Worker>(subject, 2);
  a.push(a.connect(*b), 100, 0, {b.get()});
  pump({&a, b.get()}, [&] { return b->arrived_from(1) == 1; });
  pump({&a}, [&] { return a.transport().arm(); });  // so that it hears of both in its next look
  for (int i = 0; i < 20; ++i) b->push(*b->link_to(1), 100, 0, {&a});
  b.reset();
  fake_verbs::raise(IBV_EVENT_DEVICE_FATAL);
  pump({&a}, [&] { return a.losses.size() == 1; });
  EXPECT_EQ(a.arrived_from(2), 20u);
}

// When one side, or both, have made the next queue pair, and one of them hears of the device late: what the other says
// of a queue pair may come when this side has given it up.
TEST_F(VerbsFaults, ADeviceThatGoesWhileALinkIsMendedIsGoneAround) {
  for (const unsigned made : {3u, 4u}) {
    for (const int late : {0, 1, 2}) {
      SCOPED_TRACE(testing::Message() << made << " queue pairs, then " << late << " is late");
      faults() = {};
      Pair pair(subject);
      send_some(pair, 5);
      all_come(pair);
      faults().next_sends = {IBV_WC_RETRY_EXC_ERR};
      send_some(pair, 5);
      for (int i = 0; faults().pairs_made < made; ++i) (i % 2 == 0 ? pair.a : pair.b).progress();
      fake_verbs::raise(IBV_EVENT_DEVICE_FATAL);
      for (int i = 0; late != 0 && i < 20; ++i) (late == 1 ? pair.b : pair.a).progress();
      send_some(pair, 5);
      all_come(pair);
    }
  }
}

TEST_F(VerbsFaults, ADeviceThatIsGoneIsGoneAroundAndMakesNoMoreLinks) {
  Pair pair(subject);
  const Bytes address = pair.b.address();
  send_some(pair, 10);
  fake_verbs::raise(IBV_EVENT_DEVICE_FATAL);
  send_some(pair, 30);
  all_come(pair);
  for (int i = 0; i < 300; ++i) pair.a.progress(), pair.b.progress();  // until both have looked at events
  // Memory that is registered from here on is no device's.
  faults().fails["ibv_reg_mr"] = {0, EIO};
  Shared local(pair.a, 100000), remote(pair.b, 100000);
  RemoteKey key = remote.key_for(pair.a, *pair.ab);
  fill(local.bytes, 8);
  Ticket put;
  ASSERT_EQ(pair.a.put(*pair.ab, local.bytes, &local.handle, remote.at(), key, put), Accepted::pending);
  pump(pair.both(), [&] { return put.ended(); });
  EXPECT_EQ(put.outcome, Outcome::ok);
  EXPECT_EQ(local.bytes, remote.bytes);
  pair.a.transport().release_key(key);
  pair.a.close(*pair.ab);
  settle(pair.both());
  EXPECT_FALSE(pair.a.transport().connect(2, address).ok());
}

TEST_F(VerbsFaults, PostingThatFailsIsNoRoomOrALoss) {
  Pair pair(subject);
  faults().fails["ibv_post_send"] = {0, ENOMEM};
  EXPECT_EQ(pair.a.send_inline(*pair.ab, 5000), Accepted::no_resource);
  faults() = {};
  pair.a.push(*pair.ab, 5000, 0, {&pair.b});
  pump(pair.both(), [&] { return pair.b.arrived_from(1) == pair.a.sent_to(2); });
  faults().fails["ibv_post_send"] = {0, EINVAL};
  EXPECT_EQ(pair.a.send_inline(*pair.ab, 5000), Accepted::lost);
  faults() = {};
  pump(pair.both(), [&] { return pair.a.losses.size() == 1 && pair.b.losses.size() == 1; });
}

// ---- puts and gets

struct Reach : Pair {
  explicit Reach(const Subject& subject)
      : Pair(subject), local(a, 1 << 16), remote(b, 1 << 16), key(remote.key_for(a, *ab)) {}
  ~Reach() { a.transport().release_key(key); }
  Accepted put(Ticket& ticket, std::size_t at) {
    return a.put(*ab, View(local.bytes).subspan(at, 64), &local.handle, remote.at(at), key, ticket);
  }
  Shared local, remote;
  RemoteKey key;
};

TEST_F(VerbsFaults, APutThatFailsLeavesTheOthersAndTheMessagesAlone) {
  for (ibv_wc_status status : {IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR}) {
    Reach reach(subject);
    fill(reach.local.bytes, 3);
    std::deque<Ticket> tickets(30);
    // The link is connected, its queue pair of memory is not: the puts wait for it.
    for (std::size_t i = 0; i < 10; ++i) ASSERT_EQ(reach.put(tickets[i], i * 64), Accepted::pending);
    pump(reach.both(), [&] { return tickets[9].ended(); });
    faults().next_sends = {IBV_WC_SUCCESS, IBV_WC_SUCCESS, IBV_WC_SUCCESS, status};
    for (std::size_t i = 10; i < 30; ++i) ASSERT_EQ(reach.put(tickets[i], i * 64), Accepted::pending);
    reach.a.push(*reach.ab, 5000, 0, {&reach.b});
    pump(reach.both(), [&] { return tickets[29].ended() && reach.b.arrived_from(1) == reach.a.sent_to(2); });
    for (std::size_t i = 0; i < 30; ++i) {
      const Outcome failed = status == IBV_WC_REM_ACCESS_ERR ? Outcome::bad_key : Outcome::failed;
      EXPECT_EQ(tickets[i].outcome, i == 13 ? failed : Outcome::ok) << i;
      const auto at = static_cast<std::ptrdiff_t>(i * 64);
      EXPECT_EQ(std::equal(reach.local.bytes.begin() + at, reach.local.bytes.begin() + at + 64,
                           reach.remote.bytes.begin() + at),
                i != 13)
          << i;
    }
    EXPECT_TRUE(reach.a.losses.empty() && reach.b.losses.empty());
  }
}

// Whatever a completion says: a put or get ends once and leaves its link alone; a message comes once, or its peer is
// lost, once.
TEST_F(VerbsFaults, EachErrorOfACompletionEndsEachThingOnce) {
  enum class What { inside, slot, batch, flush, put, get, datagram };
  const auto try_out = [this](What what, ibv_wc_status status) {
    Subject with = subject;
    if (what == What::datagram) with.options["+verbs-datagrams-from"] = "0";
    Reach reach(with);
    Worker &a = reach.a, &b = reach.b;
    Link& link = *reach.ab;
    Ticket ticket, first;
    ASSERT_EQ(reach.put(first, 0), Accepted::pending);
    pump(reach.both(), [&] { return first.ended(); });
    Shared here(a, 4096);
    fill(reach.remote.bytes, 9);
    if (what == What::batch) send_many_small(reach, verbs::kBehind + 20);  // goes at the next look
    faults().next_sends = {status};
    const bool one_sided = what == What::put || what == What::get;
    Accepted taken = Accepted::done;
    if (what == What::put) {
      taken = reach.put(ticket, 64);
    } else if (what == What::get) {
      taken = a.get(link, here.bytes, &here.handle, reach.remote.at(), reach.key, ticket);
    } else if (what == What::flush) {
      taken = a.flush(link, ticket);
    } else if (what != What::batch) {
      taken = a.send_inline(link, what == What::slot ? 5000 : 8);
    }
    ASSERT_NE(taken, Accepted::lost);
    const auto is_over = [&] {
      if (one_sided) return ticket.ended();
      if (!a.losses.empty()) return !b.losses.empty();
      return b.arrived_from(1) == a.sent_to(2) && (what != What::flush || ticket.ended());
    };
    pump(reach.both(), is_over);
    EXPECT_TRUE(faults().next_sends.empty()) << "it did not fail";
    EXPECT_EQ(ticket.calls, one_sided || what == What::flush ? 1 : 0);
    EXPECT_LE(a.losses.size(), 1u);
    if (!a.losses.empty()) {
      EXPECT_FALSE(one_sided || what == What::datagram) << a.losses[0].reason;
      EXPECT_EQ(a.losses[0].reason.find("worker 2: "), 0u) << a.losses[0].reason;
      EXPECT_EQ(a.send_inline(link, 8), Accepted::lost);
      return;
    }
    EXPECT_TRUE(what != What::get || ticket.outcome != Outcome::ok || difference(here.bytes, 9) == -1);
    for (std::size_t i = 0; i < 5; ++i) a.push(link, i * 700, 0, {&b});
    Ticket last;
    ASSERT_EQ(reach.put(last, 128), Accepted::pending);
    pump(reach.both(), [&] { return last.ended() && b.arrived_from(1) == a.sent_to(2); });
    EXPECT_EQ(last.outcome, Outcome::ok);
  };
  for (const What what : {What::inside, What::slot, What::batch, What::flush, What::put, What::get, What::datagram}) {
    for (int status = IBV_WC_LOC_LEN_ERR; status <= IBV_WC_TM_RNDV_INCOMPLETE; ++status) {
      SCOPED_TRACE(testing::Message() << "what " << static_cast<int>(what) << ", status " << status);
      faults() = {};
      try_out(what, static_cast<ibv_wc_status>(status));
      if (HasFailure()) return;
      EXPECT_EQ(fake_verbs::alive(), 0) << "what the device gave was not given back";
    }
  }
}

TEST_F(VerbsFaults, AFlushWaitsForThePutsBeforeIt) {
  Reach reach(subject);
  // b's queue pair of memory needs b for its beginning only; the answer of a flush needs it too. Puts that are many
  // take longer than the answer of the flush behind them.
  for (int round = 0; round < 5; ++round) {
    fill(reach.local.bytes, static_cast<std::uint64_t>(round));
    std::deque<Ticket> puts(verbs::kOperationsMax);
    for (Ticket& ticket : puts)
      ASSERT_EQ(reach.a.put(*reach.ab, reach.local.bytes, &reach.local.handle, reach.remote.at(), reach.key, ticket),
                Accepted::pending);
    Ticket flush;
    ASSERT_EQ(reach.a.flush(*reach.ab, flush), Accepted::pending);
    flush.then = [&] {
      for (const Ticket& ticket : puts) EXPECT_TRUE(ticket.ended());
    };
    pump(reach.both(), [&] { return flush.ended(); });
    EXPECT_EQ(reach.local.bytes, reach.remote.bytes);
  }
}

TEST_F(VerbsFaults, WhatWasRefusedIsToldOfRoom) {
  Pair pair(subject);
  while (pair.a.send_inline(*pair.ab, 5000) == Accepted::done) {
  }
  // What frees room brings nothing else: progress() says all the same that something has changed.
  int moved = 0;
  pump(pair.both(), [&] {
    moved += pair.a.progress();
    return pair.b.arrived_from(1) == pair.a.sent_to(2);
  });
  for (int i = 0; i < 1000 && moved == 0; ++i) moved += pair.a.progress();
  EXPECT_GT(moved, 0);
}

TEST_F(VerbsFaults, BothSidesOfABrokenQueuePairOfMemoryGoOn) {
  Reach reach(subject);
  Shared there(reach.b, 1 << 16), here(reach.a, 1 << 16);
  RemoteKey key = here.key_for(reach.b, *reach.ba);
  fill(there.bytes, 5);
  Shared dead(reach.b, 4096);
  RemoteKey dead_key = dead.key_for(reach.a, *reach.ab);
  const std::uint64_t dead_at = dead.at();
  reach.b.transport().deregister_memory(dead.handle);
  dead.handle.address = nullptr;
  for (int round = 0; round < 20; ++round) {
    // b has puts under way when a's breaks both ends.
    Ticket wrong, right, other;
    ASSERT_EQ(reach.b.put(*reach.ba, View(there.bytes).first(50000), &there.handle, here.at(), key, other),
              Accepted::pending);
    ASSERT_EQ(reach.a.put(*reach.ab, View(reach.local.bytes).first(64), &reach.local.handle, dead_at, dead_key, wrong),
              Accepted::pending);
    ASSERT_EQ(reach.put(right, 128), Accepted::pending);
    pump(reach.both(), [&] { return wrong.ended() && right.ended() && other.ended(); });
    EXPECT_EQ(wrong.outcome, Outcome::bad_key);
    EXPECT_EQ(right.outcome, Outcome::ok);
    EXPECT_EQ(other.outcome, Outcome::ok);
    EXPECT_EQ(difference(View(here.bytes).first(50000 / 8 * 8), 5), -1);
  }
  reach.b.transport().release_key(key);
  reach.a.transport().release_key(dead_key);
}

TEST_F(VerbsFaults, APortWithoutAWayIsGoneAround) {
  Reach reach(subject);
  for (int i = 0; i < 5; ++i) reach.a.push(*reach.ab, 100, 0, {&reach.b});
  faults().fails["ibv_modify_qp, a way"] = {0, ENETUNREACH};
  faults().next_sends = {IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR};
  fill(reach.local.bytes, 6);
  Ticket put;
  ASSERT_EQ(reach.a.put(*reach.ab, reach.local.bytes, &reach.local.handle, reach.remote.at(), reach.key, put),
            Accepted::pending);
  for (int i = 0; i < 30; ++i) reach.a.push(*reach.ab, 100, 0, {&reach.b});
  pump(reach.both(), [&] { return put.ended() && reach.b.arrived_from(1) == reach.a.sent_to(2); });
  EXPECT_EQ(put.outcome, Outcome::ok);
  EXPECT_TRUE(reach.local.bytes == reach.remote.bytes);
  EXPECT_TRUE(reach.a.losses.empty() && reach.b.losses.empty());
}

TEST_F(VerbsFaults, PutsAndGetsGoAroundAQueuePairThatBreaksAgainAndAgain) {
  Reach reach(subject);
  for (int i = 0; i < 100; ++i) faults().next_sends.push_back(IBV_WC_RETRY_EXC_ERR);
  fill(reach.local.bytes, 4);
  Ticket put;
  ASSERT_EQ(reach.a.put(*reach.ab, reach.local.bytes, &reach.local.handle, reach.remote.at(), reach.key, put),
            Accepted::pending);
  pump(reach.both(), [&] { return put.ended(); });
  EXPECT_EQ(put.outcome, Outcome::ok) << (reach.a.losses.empty() ? "" : reach.a.losses[0].reason);
  EXPECT_TRUE(reach.local.bytes == reach.remote.bytes);
  EXPECT_EQ(faults().next_sends.size(), 100u - verbs::kBreaksMax - 1);
  Shared dead(reach.b, 4096);
  RemoteKey dead_key = dead.key_for(reach.a, *reach.ab);
  const std::uint64_t dead_at = dead.at();
  reach.b.transport().deregister_memory(dead.handle);
  dead.handle.address = nullptr;
  // All at once, both ways: answers come in the order of the questions.
  std::deque<Ticket> tickets(60);
  Shared here(reach.a, 1 << 16);
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    const Accepted taken =
        i % 3 == 0   ? reach.put(tickets[i], i * 64)
        : i % 3 == 1 ? reach.a.get(*reach.ab, here.bytes, &here.handle, reach.remote.at(), reach.key, tickets[i])
                     : reach.a.put(*reach.ab, View(reach.local.bytes).first(64), &reach.local.handle, dead_at, dead_key,
                                   tickets[i]);
    ASSERT_EQ(taken, Accepted::pending);
  }
  pump(reach.both(), [&] { return tickets.back().ended(); });
  for (std::size_t i = 0; i < tickets.size(); ++i)
    EXPECT_EQ(tickets[i].outcome, i % 3 == 2 ? Outcome::bad_key : Outcome::ok) << i;
  EXPECT_EQ(here.bytes, reach.remote.bytes);
  EXPECT_TRUE(reach.a.losses.empty() && reach.b.losses.empty());
  reach.a.transport().release_key(dead_key);
}

TEST_F(VerbsFaults, MemoryThatCannotBeRegisteredSaysWhy) {
  Worker worker(subject, 1);
  Bytes memory(4096);
  faults().fails["ibv_reg_mr"] = {0, EFAULT};
  const auto registered = worker.transport().register_memory(memory.data(), memory.size(), MemoryKind::host);
  ASSERT_FALSE(registered.ok());
  EXPECT_EQ(registered.message(), "fake0:1: 4096 bytes of memory can't be registered: Bad address");
}

}  // namespace
}  // namespace periapt::conformance
