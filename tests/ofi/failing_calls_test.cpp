// Any call of libfabric fails, at any of its moments in the life of two workers: once, or from then on. What was
// accepted ends once, messages come once and in their order or their link is lost with a reason, and all that was
// opened is closed.
#include <gtest/gtest.h>

#include <string>

#include "machine/ofi/transport.h"
#include "tests/machine/life.h"
#include "tests/ofi/fake_fabric.h"

namespace periapt::conformance {
namespace {

fake_fabric::InPlace in_place;
fake_fabric::Faults& faults() { return fake_fabric::faults(); }

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
