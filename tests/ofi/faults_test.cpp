// What fails below the ofi transport: the library, its calls, messages, puts and gets. Each is told once, with its
// reason, and nothing is lost without a word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "machine/layer/transports.h"
#include "machine/ofi/transport.h"
#include "machine/ucx-like/worker.h"
#include "tests/machine/conformance.h"
#include "tests/ofi/faulty_fabric.h"

namespace periapt::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

faulty_fabric::InPlace in_place;
faulty_fabric::Faults& faults() { return faulty_fabric::faults(); }

class OfiFaults : public testing::Test {
 protected:
  void SetUp() override { faults() = {}; }
  void TearDown() override { faults() = {}; }
  const Subject subject{.factory = &ofi::factory,
                        .options = {{"+net-devices", "127.0.0.1"}, {"+ofi-provider", "tcp/lo"}}};

  /// Why the provider is not there, or can't be opened.
  std::string why_not() {
    try {
      Worker worker(subject, 1);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "it can be opened";
  }
  static std::vector<Device> found(const std::string& provider) {
    OpenRequest request;
    request.option = [&](const std::string& name) { return name == "+ofi-provider" ? provider : std::string(); };
    return ofi::factory.probe(request);
  }
  /// What a process says that has not loaded the library yet.
  template <class Prepare>
  static std::string said_anew(const std::string& provider, Prepare&& prepare) {
    int ends[2];
    if (::pipe(ends) != 0) return "no pipe";
    const pid_t child = ::fork();
    if (child == 0) {
      prepare();
      const Device device = found(provider).front();
      const std::string text = (device.usable ? "usable: " : "not usable: ") + describe(device);
      const ssize_t written = ::write(ends[1], text.data(), text.size());
      ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    std::string text(4096, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(ends[0], text.data(), text.size()), 0)));
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return text;
  }
};

// ---- the library

// First, since the library is loaded once and stays.
TEST_F(OfiFaults, ALibraryThatIsNotThereOrNoneOrTooOldIsSaid) {
  const auto with = [](const char* path) { return [path] { ::setenv("PERIAPT_LIBFABRIC", path, 1); }; };
  EXPECT_THAT(said_anew("tcp", with("/nowhere/libfabric.so.1")),
              AllOf(StartsWith("not usable: ofi/libfabric: its library can't be loaded: /nowhere/libfabric.so.1"),
                    HasSubstr("apt install libfabric1")));
  EXPECT_THAT(said_anew("tcp", with("libz.so.1")), HasSubstr("libz.so.1 is no libfabric: it lacks fi_getinfo"));
  EXPECT_THAT(said_anew("tcp", [] { faults().version = FI_VERSION(1, 9); }),
              HasSubstr(" is libfabric 1.9, and this program was built for 1."));
}

TEST_F(OfiFaults, WithoutAnAdapterTheLibraryIsNotEvenLoaded) {
  if (ofi::kernel_has_adapters()) GTEST_SKIP() << "this host has an adapter";
  const std::string said = said_anew("", [] { ::setenv("PERIAPT_LIBFABRIC", "/nowhere/libfabric.so.1", 1); });
  EXPECT_THAT(said, StartsWith("not usable: ofi/libfabric: the kernel lists no adapter in"));
  EXPECT_THAT(said, HasSubstr("+ofi-provider tcp"));
}

TEST_F(OfiFaults, AProviderThatDoesNotExistIsSaidWithThoseThatDo) {
  const std::vector<Device> devices = found("bananas");
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_FALSE(devices[0].usable);
  EXPECT_EQ(devices[0].name, "bananas");
  EXPECT_THAT(devices[0].detail, HasSubstr("+ofi-provider names it, and libfabric has no such provider here"));
  EXPECT_THAT(devices[0].detail, HasSubstr(" tcp;ofi_rxm/lo"));
}

TEST_F(OfiFaults, NoProviderAtAllIsSaid) {
  faults().fails["fi_getinfo"] = FI_ENODATA;
  EXPECT_THAT(found("tcp").front().detail, HasSubstr("no provider here with reliable datagrams"));
}

TEST_F(OfiFaults, EachCallOfOpeningThatFailsIsSaidAndNothingIsLeftBehind) {
  for (const char* call : {"fi_fabric", "fi_domain", "fi_cq_open", "fi_av_open", "fi_endpoint"}) {
    faults().fails[call] = FI_ENOMEM;
    EXPECT_THAT(why_not(), AllOf(HasSubstr("tcp;ofi_rxm/lo gives no "), HasSubstr("Cannot allocate memory"))) << call;
    faults() = {};
    EXPECT_EQ(why_not(), "it can be opened") << call;
  }
}

// ---- messages

TEST_F(OfiFaults, WhatIsToldInAnotherOrderArrivesInItsOwn) {
  Pair pair(subject);
  faults().seed = 7;
  for (int i = 0; i < 500; ++i) {
    pair.a.push(*pair.ab, static_cast<std::size_t>(i) * 13, i % 3, {&pair.b});
    if (i % 50 == 0) pair.b.push(*pair.ba, 8, 0, {&pair.a});
  }
  pump(pair.both(), [&] { return pair.b.arrived_from(1) == pair.a.sent_to(2); });
}

TEST_F(OfiFaults, AMessageMayBeOvertakenByMoreThanThereAreSlots) {
  Pair pair(subject);
  faults().overtaken_by = 400;
  for (int i = 0; i < 500; ++i) pair.a.push(*pair.ab, static_cast<std::size_t>(i), i % 3, {&pair.b});
  pump(pair.both(), [&] { return pair.b.arrived_from(1) == pair.a.sent_to(2); });
}

/// The link's next send ends with `error`: what was accepted ends once, and the loss has a reason.
void break_link(const Subject& subject, int error, bool nameless) {
  Pair pair(subject);
  faults().next_sends = {error};
  faults().nameless = nameless;
  EXPECT_EQ(pair.a.send_inline(*pair.ab, 5000), Accepted::done);
  Ticket flush;
  const Accepted answer = pair.a.flush(*pair.ab, flush);
  pump(pair.both(), [&] { return pair.a.losses.size() == 1 && pair.b.losses.size() == 1; });
  EXPECT_EQ(flush.calls, answer == Accepted::pending ? 1 : 0);
  EXPECT_THAT(pair.a.losses[0].reason, StartsWith("worker 2: a message to it failed: "));
  EXPECT_EQ(pair.a.send_inline(*pair.ab, 8), Accepted::lost);
  faults() = {};
}

TEST_F(OfiFaults, AMessageThatFailsIsALossWithItsReason) {
  break_link(subject, FI_EIO, false);
  break_link(subject, FI_ECONNRESET, false);
  break_link(subject, FI_EIO, true);
}

TEST_F(OfiFaults, SendingThatFailsIsNoRoomOrALoss) {
  for (const auto& [call, size] : {std::pair("fi_inject", 0), std::pair("fi_send", 5000)}) {
    Pair pair(subject);
    const std::size_t bytes = static_cast<std::size_t>(size);
    faults().fails[call] = FI_EAGAIN;
    EXPECT_EQ(pair.a.send_inline(*pair.ab, bytes), Accepted::no_resource) << call;
    faults() = {};
    pair.a.push(*pair.ab, bytes, 0, {&pair.b});
    pump(pair.both(), [&] { return pair.b.arrived_from(1) == pair.a.sent_to(2); });
    faults().fails[call] = FI_ENODEV;
    EXPECT_EQ(pair.a.send_inline(*pair.ab, bytes), Accepted::lost) << call;
    faults() = {};
    pump(pair.both(), [&] { return pair.a.losses.size() == 1 && pair.b.losses.size() == 1; });
    EXPECT_THAT(pair.a.losses[0].reason, StartsWith("worker 2: a message can't be sent: ")) << call;
  }
}

// ---- puts and gets

/// Over sockets, the one provider of software that has puts and gets here.
struct Reach : Pair {
  explicit Reach(Subject subject)
      : Pair((subject.options["+ofi-provider"] = "sockets/lo", subject)),
        local(a, 1 << 16),
        remote(b, 1 << 16),
        key(remote.key_for(a, *ab)) {}
  ~Reach() { a.transport().release_key(key); }
  Accepted put(Ticket& ticket, std::size_t at) {
    return a.put(*ab, View(local.bytes).subspan(at, 64), &local.handle, remote.at(at), key, ticket);
  }
  Shared local, remote;
  RemoteKey key;
};

TEST_F(OfiFaults, APutThatFailsLeavesTheOthersAndTheMessagesAlone) {
  for (const auto& [error, outcome] :
       {std::pair(FI_EACCES, Outcome::bad_key), std::pair(FI_ENOMEM, Outcome::no_memory),
        std::pair(FI_EOVERFLOW, Outcome::failed), std::pair(FI_ECONNRESET, Outcome::ok)}) {
    Reach reach(subject);
    fill(reach.local.bytes, 3);
    faults().next_operations = {0, 0, 0, error};
    std::deque<Ticket> tickets(30);
    for (std::size_t i = 0; i < tickets.size(); ++i) ASSERT_EQ(reach.put(tickets[i], i * 64), Accepted::pending);
    reach.a.push(*reach.ab, 5000, 0, {&reach.b});
    pump(reach.both(), [&] {
      return std::all_of(tickets.begin(), tickets.end(), [](Ticket& ticket) { return ticket.ended(); }) &&
             reach.b.arrived_from(1) == reach.a.sent_to(2);
    });
    // Which of them was the fourth to end is the provider's.
    const auto ended = [&](Outcome as) {
      return std::count_if(tickets.begin(), tickets.end(), [&](Ticket& ticket) { return ticket.outcome == as; });
    };
    EXPECT_EQ(ended(Outcome::ok), outcome == Outcome::ok ? 30 : 29);
    EXPECT_GE(ended(outcome), 1);
    EXPECT_TRUE(reach.a.losses.empty() && reach.b.losses.empty());
  }
}

TEST_F(OfiFaults, APutThatBreaksItsConnectionAloneHasABadKey) {
  Reach reach(subject);
  faults().next_operations = {FI_ECONNRESET, FI_ECONNRESET, FI_ECONNRESET};
  Ticket ticket;
  ASSERT_EQ(reach.put(ticket, 0), Accepted::pending);
  pump(reach.both(), [&] { return ticket.ended(); });
  EXPECT_EQ(ticket.outcome, Outcome::bad_key);
  EXPECT_TRUE(faults().next_operations.empty()) << "it was tried again before";
}

TEST_F(OfiFaults, AFlushWaitsForThePutsBeforeIt) {
  Reach reach(subject);
  for (int round = 0; round < 5; ++round) {
    fill(reach.local.bytes, static_cast<std::uint64_t>(round));
    std::deque<Ticket> puts(ofi::kOperationsMax);
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

TEST_F(OfiFaults, ADeadKeyIsTheFaultOfItsOperationAlone) {
  Reach reach(subject);
  Shared dead(reach.b, 4096);
  RemoteKey dead_key = dead.key_for(reach.a, *reach.ab);
  const std::uint64_t dead_at = dead.at();
  reach.b.transport().deregister_memory(dead.handle);
  dead.handle.address = nullptr;
  for (int round = 0; round < 3; ++round) {
    Ticket wrong, right;
    ASSERT_EQ(reach.a.put(*reach.ab, View(reach.local.bytes).first(64), &reach.local.handle, dead_at, dead_key, wrong),
              Accepted::pending);
    ASSERT_EQ(reach.put(right, 128), Accepted::pending);
    reach.a.push(*reach.ab, 5000, 0, {&reach.b});
    pump(reach.both(), [&] { return wrong.ended() && right.ended() && reach.b.arrived_from(1) == reach.a.sent_to(2); });
    EXPECT_EQ(wrong.outcome, Outcome::bad_key);
    EXPECT_EQ(right.outcome, Outcome::ok);
  }
  EXPECT_TRUE(reach.a.losses.empty() && reach.b.losses.empty());
  reach.a.transport().release_key(dead_key);
}

TEST_F(OfiFaults, MemoryThatCannotBeRegisteredSaysWhy) {
  Subject sockets = subject;
  sockets.options["+ofi-provider"] = "sockets/lo";
  Worker worker(sockets, 1);
  Bytes memory(4096);
  faults().fails["fi_mr_reg"] = FI_EFAULT;
  const auto registered = worker.transport().register_memory(memory.data(), memory.size(), MemoryKind::host);
  ASSERT_FALSE(registered.ok());
  EXPECT_EQ(registered.message(), "sockets/lo: 4096 bytes of memory can't be registered: Bad address");
}

// ---- peers

TEST_F(OfiFaults, OtherProvidersDoNotReachEachOther) {
  Subject other = subject;
  other.options["+ofi-provider"] = "udp/lo";
  Worker a(subject, 1), b(other, 2);
  EXPECT_FALSE(a.transport().reaches(b.address()));
  EXPECT_FALSE(b.transport().reaches(a.address()));
}

TEST_F(OfiFaults, APeerWithoutItIsReachedOverAnotherTransportWhichIsSaid) {
  const auto context = [&](PeerId self, const char* transports) {
    ContextRequest request;
    request.factories = machine::transports();
    request.transports = transports;
    request.self = self;
    request.host = "here";
    request.secret.assign(16, std::byte{7});
    request.option = [&](const std::string& name) {
      const auto found = subject.options.find(name);
      return found == subject.options.end() ? std::string() : found->second;
    };
    return Context::create(std::move(request));
  };
  auto with = context(1, "ofi,tcp"), without = context(2, "tcp");
  ASSERT_TRUE(with.ok() && without.ok());
  auto a = ucx::Worker::create(**with), b = ucx::Worker::create(**without);
  ASSERT_TRUE(a.ok() && b.ok());
  auto to = (*a)->connect((*b)->address());
  ASSERT_TRUE(to.ok()) << to.message();
  Bytes message(100'000, std::byte{9}), into(100'000);
  RequestPtr send = (*to)->tag_send(message, 1), receive = (*b)->tag_receive(into, 1);
  test::Standstill standstill([&] { return (*a)->explain(); });
  while (!receive->ended() || !(send == nullptr || send->ended()))
    standstill.look((*a)->progress() + (*b)->progress() > 0);
  EXPECT_EQ(message, into);
  EXPECT_THAT((*a)->explain(), HasSubstr("worker 2: over tcp/"));
}

}  // namespace
}  // namespace periapt::conformance
