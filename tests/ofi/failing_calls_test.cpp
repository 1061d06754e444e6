// A call of libfabric fails, at many of its moments in the life of two workers: once, or from then on. What was
// accepted ends once, messages come once and in their order or their link is lost with a reason, and all that was
// opened is closed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "machine/ofi/transport.h"
#include "tests/machine/life.h"
#include "tests/ofi/fake_fabric.h"

namespace periapt::conformance {
namespace {

fake_fabric::InPlace in_place;
fake_fabric::Faults& faults() { return fake_fabric::faults(); }

using ::testing::HasSubstr;

class OfiFailingCalls : public testing::Test {
 protected:
  void SetUp() override { faults() = {}; }
  void TearDown() override { faults() = {}; }

  static Subject subject() {
    return {.factory = &ofi::factory, .options = {{"+net-devices", "127.0.0.1"}, {"+ofi-provider", "fake"}}};
  }
  static void live() {
    Life life(subject());
    life.live();
  }
  /// What each of the two says of the other.
  static std::vector<std::string> losses(Pair& pair) {
    pump(pair.both(), [&] { return !pair.a.losses.empty() && !pair.b.losses.empty(); });
    return {pair.a.losses[0].reason, pair.b.losses[0].reason};
  }
  static void fail_at_each(const char* call, int error, int times) {
    for (int moment = 0;; moment += moment < 40 ? 1 : 7) {
      faults() = {};
      faults().late_one_in = 5;
      faults().fails[call] = {moment, error, 0, times};
      SCOPED_TRACE(std::string(call) + " failed after " + std::to_string(moment));
      live();
      EXPECT_EQ(fake_fabric::alive(), 0) << "what was opened was not closed";
      if (HasFailure() || faults().fails[call].struck == 0) return;
    }
  }
};

TEST_F(OfiFailingCalls, WithoutOneAllComes) {
  for (const bool registers_all : {true, false}) {
    for (const bool without_memory : {true, false}) {
      faults() = {};
      faults().registers_all = registers_all;
      faults().without_memory = without_memory;
      live();
      EXPECT_EQ(fake_fabric::alive(), 0);
    }
  }
}

// Where the library of one host is older, say.
TEST_F(OfiFailingCalls, WhatHasNoPutsDoesNotReachWhatHas) {
  Worker a(subject(), 1);
  faults().without_memory = true;
  Worker b(subject(), 2);
  EXPECT_FALSE(a.transport().reaches(b.address()));
  EXPECT_FALSE(b.transport().reaches(a.address()));
}

TEST_F(OfiFailingCalls, AMessageThatComesTwiceIsALoss) {
  Pair pair(subject());
  faults().next_twice = true;
  pair.a.push(*pair.ab, 5000, 0, {&pair.b});
  pump(pair.both(), [&] { return !pair.b.losses.empty() && !pair.a.losses.empty(); });
  EXPECT_EQ(pair.b.arrived_from(1), 2u) << "the one of the link's beginning, and this one";
  EXPECT_EQ(pair.b.losses[0].reason, "worker 1: it sent what this version does not understand");
}

// The provider reads as many bytes as its own names have.
TEST_F(OfiFailingCalls, AnAddressOfAnotherLengthMeansNothing) {
  ucx::OpenRequest request;
  request.option = [](const std::string& name) { return subject().options.at(name); };
  const std::vector<ofi::Choice> choices = ofi::choices_for(request);
  ASSERT_EQ(choices.size(), 1u);
  ofi::Domain domain(ofi::library().value(), choices[0]);
  ASSERT_TRUE(domain.open().ok());
  std::vector<std::byte> name = domain.messages_name();
  EXPECT_TRUE(domain.address_of(name).ok());
  EXPECT_FALSE(domain.address_of(std::span(name).first(name.size() - 1)).ok());
  name.push_back(std::byte{0});
  EXPECT_EQ(domain.address_of(name).message(), "its address means nothing to fake/fake0");
}

// Others are posted: as long as messages come, one that is refused may be taken the next time.
TEST_F(OfiFailingCalls, AReceiveThatIsRefusedIsTriedAgain) {
  faults().fails["fi_recv"] = {3, FI_ENOMEM, 0, 1};
  Pair pair(subject());
  EXPECT_EQ(faults().fails["fi_recv"].struck, 1);
  faults().fails["fi_recv"] = {0, FI_ENOMEM, 0, 3};
  for (int i = 0; i < 600; ++i) pair.a.push(*pair.ab, 300, 0, {&pair.b});
  pump(pair.both(), [&] { return pair.b.arrived_from(1) == pair.a.sent_to(2) || !pair.b.losses.empty(); });
  EXPECT_EQ(faults().fails["fi_recv"].struck, 3);
  EXPECT_TRUE(pair.a.losses.empty() && pair.b.losses.empty());
}

// What comes into those that are posted wakes it, and then the others are tried again: for whatever reason they are
// refused, and for however long, no core has to be kept awake for them.
TEST_F(OfiFailingCalls, AWorkerSomeOfWhoseReceivesAreRefusedForGoodSleeps) {
  for (const int error : {FI_ENOMEM, FI_EAGAIN}) {
    SCOPED_TRACE(error);
    faults() = {};
    faults().has_descriptor = true;
    Pair pair(subject());
    settle(pair.both());
    faults().fails["fi_recv"] = {0, error, 0, 0};
    pair.a.push(*pair.ab, 300, 0, {&pair.b});
    pump(pair.both(), [&] { return pair.b.arrived_from(1) == pair.a.sent_to(2); });
    settle(pair.both());
    EXPECT_GT(faults().fails["fi_recv"].struck, 0);
    ASSERT_TRUE(pair.b.transport().arm());
    pollfd waits{pair.b.transport().wait_fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&waits, 1, 0), 0);
    pair.a.push(*pair.ab, 300, 0, {&pair.b});
    pump({&pair.a}, [&] { return ::poll(&waits, 1, 0) == 1; });
    pair.b.transport().disarm();
    pump(pair.both(), [&] { return pair.b.arrived_from(1) == pair.a.sent_to(2); });
    EXPECT_TRUE(pair.a.losses.empty() && pair.b.losses.empty());
  }
}

TEST_F(OfiFailingCalls, WithoutAnyReceiveItDoesNotOpen) {
  faults().fails["fi_recv"] = {0, FI_EIO, 0, 0};
  try {
    Worker worker(subject(), 1);
    FAIL() << "nothing would ever come";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("fake/fake0 gives no more room for messages: Input/output error"));
  }
}

TEST_F(OfiFailingCalls, AProviderThatBreaksSaysWhy) {
  for (const bool has_descriptor : {false, true}) {
    faults() = {};
    faults().has_descriptor = has_descriptor;
    {
      Pair pair(subject());
      faults().fails["fi_recv"] = {0, FI_EIO, 0, 0};
      for (int i = 0; i < 600 && pair.b.losses.empty(); ++i) pair.a.push(*pair.ab, 300, 0, {&pair.b});
      EXPECT_THAT(losses(pair)[1], HasSubstr("fake/fake0 gives no more room for messages: Input/output error"));
    }
    faults().fails.clear();
    {
      Pair pair(subject());
      faults().fails["fi_cq_read"] = {0, FI_EIO, 0, 0};
      EXPECT_EQ(losses(pair)[0], "worker 2: fake/fake0 gives no more completions: Input/output error");
    }
    faults().fails.clear();
    Pair pair(subject());
    faults().next_sends.push_back(FI_EIO);
    faults().fails["fi_cq_readerr"] = {0, FI_EIO, 0, 0};
    Ticket ticket;
    EXPECT_EQ(pair.a.send_inline(*pair.ab, 3000), Accepted::done);
    EXPECT_EQ(pair.a.flush(*pair.ab, ticket), Accepted::pending);
    EXPECT_THAT(losses(pair)[0], HasSubstr("fake/fake0 gives no more completions: Input/output error"));
    pump(pair.both(), [&] { return ticket.ended(); });
  }
}

// Its descriptor may be readable for good. TCP, over which others come, wakes it.
TEST_F(OfiFailingCalls, AWorkerWhoseProviderHasBrokenSleeps) {
  for (const char* call : {"fi_recv", "fi_cq_read"}) {
    SCOPED_TRACE(call);
    faults() = {};
    faults().has_descriptor = true;
    Pair pair(subject());
    const int descriptor = pair.b.transport().wait_fd();
    ASSERT_GE(descriptor, 0);
    faults().fails[call] = {0, FI_EIO, 0, 0};
    for (int i = 0; i < 600 && pair.b.losses.empty(); ++i) pair.a.push(*pair.ab, 300, 0, {&pair.b});
    losses(pair);
    settle(pair.both());
    EXPECT_TRUE(pair.b.transport().arm());
    pollfd waits{descriptor, POLLIN, 0};
    EXPECT_EQ(::poll(&waits, 1, 0), 0);
    pair.b.transport().disarm();
  }
}

TEST_F(OfiFailingCalls, EndEachThingOnce) {
  for (const char* call : {"fi_getinfo", "fi_fabric", "fi_domain", "fi_cq_open", "fi_av_open", "fi_endpoint",
                           "fi_ep_bind", "fi_enable", "fi_getname", "fi_mr_reg", "fi_av_insert", "fi_recv", "fi_inject",
                           "fi_send", "fi_writemsg", "fi_readmsg", "fi_cq_read"}) {
    fail_at_each(call, FI_EIO, 0);
    fail_at_each(call, FI_EIO, 1);
    fail_at_each(call, FI_EAGAIN, 1);
  }
}

}  // namespace
}  // namespace periapt::conformance
