// What the simulated transport has beside the contract: faults that were asked for, deaths, and the same run each time.
#include "machine/sim/transport.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace periapt::sim {
namespace {

using namespace ucx;

struct Told : Completion {
  Told() {
    done = [](Completion& self, Outcome outcome) {
      ++static_cast<Told&>(self).calls;
      static_cast<Told&>(self).outcome = outcome;
    };
  }
  int calls = 0;
  Outcome outcome = Outcome::failed;
};

// A worker that writes down all that happens to it.
struct Worker : Receiver {
  Worker(const std::string& sim, PeerId self) : self(self) {
    OpenRequest request;
    request.receiver = this;
    request.self = self;
    request.option = [sim](const std::string& name) { return name == "sim" ? sim : std::string(); };
    Device device = factory.probe(request).front();
    EXPECT_TRUE(device.usable) << device.detail;
    transport = std::move(*factory.open(device, request));
  }
  Link& connect(Worker& peer) { return **transport->connect(peer.self, peer.transport->address()); }
  Accepted send(Link& link, std::uint64_t number) {
    std::uint64_t header[5] = {number};
    return transport->send_inline(link, std::as_bytes(std::span(header)), {});
  }
  bool arrived(Link&, Header header, std::span<const std::byte>) override {
    std::uint64_t number;
    std::memcpy(&number, header.data(), sizeof number);
    numbers.push_back(number);
    return true;
  }
  void arrived_owned(Link&, Header, Buffer) override {}
  std::byte* place(Link&, Header, std::uint64_t) override { return nullptr; }
  void placed(Link&) override {}
  void link_lost(Link&, const std::string& reason) override { losses.push_back(reason); }

  PeerId self;
  std::unique_ptr<Transport> transport;
  std::vector<std::uint64_t> numbers;
  std::vector<std::string> losses;
};

struct Sent {
  std::vector<std::uint64_t> numbers;
  NetworkCounts counts;
  int progresses = 0;
};

Sent send_some(const std::string& sim, int count) {
  Sent run;
  Worker a(sim + ",name=some", 1), b(sim + ",name=some", 2);
  Link& link = a.connect(b);
  for (int i = 0; i < count;) {
    const Accepted answer = a.send(link, static_cast<std::uint64_t>(i));
    EXPECT_NE(answer, Accepted::lost);
    if (answer == Accepted::done) ++i;
    a.transport->progress();
    b.transport->progress();
    ++run.progresses;
  }
  for (int i = 0; i < 2000; ++i) a.transport->progress(), b.transport->progress();
  run.numbers = b.numbers;
  run.counts = counts_of("some");
  return run;
}

TEST(SimTransport, TheSameSeedIsTheSameRun) {
  const std::string bad = "loss=0.2,delay=4us,dup=0.1,reorder=0.2,no-resource=0.1,seed=";
  Sent one = send_some(bad + "5", 500), again = send_some(bad + "5", 500), other = send_some(bad + "6", 500);
  EXPECT_EQ(one.numbers, again.numbers);
  EXPECT_EQ(one.progresses, again.progresses);
  EXPECT_EQ(std::memcmp(&one.counts, &again.counts, sizeof one.counts), 0);
  EXPECT_NE(std::memcmp(&one.counts, &other.counts, sizeof one.counts), 0);
}

TEST(SimTransport, FaultsHappenAsOftenAsAskedFor) {
  Sent none = send_some("seed=1", 2000);
  EXPECT_EQ(
      none.counts.lost + none.counts.duplicated + none.counts.sent_again + none.counts.refused + none.counts.delayed,
      0u);
  Sent bad = send_some("seed=1,loss=0.2,dup=0.1,reorder=0.3,no-resource=0.25", 2000);
  EXPECT_EQ(bad.numbers, none.numbers) << "and yet all arrive, once and in order";
  auto close_to = [](std::uint64_t found, double expected) {
    EXPECT_GT(static_cast<double>(found), 0.8 * expected);
    EXPECT_LT(static_cast<double>(found), 1.2 * expected);
  };
  close_to(bad.counts.refused, 2000 * 0.25 / 0.75);
  close_to(bad.counts.sent_again, 2000 * 0.2);
  close_to(bad.counts.lost, 2000 * 0.2 * 1.4);
}

TEST(SimTransport, RawLossesStayLost) {
  Sent raw = send_some("seed=3,raw=1,loss=0.3,dup=0.2,reorder=0.3", 2000);
  std::map<std::uint64_t, int> times;
  for (std::uint64_t number : raw.numbers) ++times[number];
  int lost = 2000 - static_cast<int>(times.size()), twice = 0, disorder = 0;
  for (const auto& [_, count] : times) twice += count == 2;
  for (std::size_t i = 1; i < raw.numbers.size(); ++i) disorder += raw.numbers[i] < raw.numbers[i - 1];
  EXPECT_GT(lost, 400);
  EXPECT_LT(lost, 800);
  EXPECT_GT(twice, 100);
  EXPECT_GT(disorder, 50);
}

TEST(SimTransport, ADeadWorkerIsALoss) {
  for (bool busy : {false, true}) {
    Worker a("name=death", 1), b("name=death", 2), c("name=death", 3);
    Link &ab = a.connect(b), &ac = a.connect(c);
    EXPECT_EQ(a.send(ab, 1), Accepted::done);
    for (int i = 0; i < 100; ++i) a.transport->progress(), b.transport->progress();
    EXPECT_EQ(b.numbers.size(), 1u);
    std::vector<std::byte> lent(100000);
    Told told, flushed;
    std::uint64_t header[5] = {};
    if (busy) {
      EXPECT_EQ(a.transport->send_lent(ab, std::as_bytes(std::span(header)), lent, told), Accepted::pending);
      EXPECT_EQ(a.transport->flush(ab, flushed), Accepted::pending);
    }
    EXPECT_TRUE(kill_worker("death", 2));
    EXPECT_FALSE(kill_worker("death", 2)) << "once is enough";
    EXPECT_FALSE(kill_worker("death", 7));
    while (a.losses.empty()) {
      EXPECT_EQ(told.calls, 0) << "completions and loss come in one progress(), the completions first";
      a.transport->progress();
    }
    EXPECT_EQ(a.losses, std::vector<std::string>{"worker 2 does not answer any more"});
    EXPECT_EQ(told.calls + flushed.calls, busy ? 2 : 0);
    if (busy) {
      EXPECT_EQ(told.outcome, Outcome::peer_lost);
    }
    EXPECT_EQ(b.transport->progress(), 0);
    EXPECT_EQ(a.send(ab, 2), Accepted::lost);
    EXPECT_EQ(a.send(ac, 3), Accepted::done);
    while (c.numbers.empty()) a.transport->progress(), c.transport->progress();
  }
}

TEST(SimTransport, OptionsThatMakeNoSenseAreAReasonNotToBeUsable) {
  OpenRequest request;
  request.option = [](const std::string&) { return "los=0.1"; };
  const Device device = factory.probe(request).front();
  EXPECT_FALSE(device.usable);
  EXPECT_NE(device.detail.find("did you mean loss="), std::string::npos);
}

}  // namespace
}  // namespace periapt::sim
