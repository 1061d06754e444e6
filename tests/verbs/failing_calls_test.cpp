// A call of libibverbs fails, at many of its moments in the life of two workers: once, or from then on. What was
// accepted ends once, messages come once and in their order or their link is lost with a reason, and the device has
// back all that it gave.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "machine/verbs/transport.h"
#include "tests/machine/life.h"
#include "tests/verbs/fake_verbs.h"

namespace periapt::conformance {
namespace {

fake_verbs::InPlace in_place;
fake_verbs::Faults& faults() { return fake_verbs::faults(); }

/// How the link goes while calls fail.
enum class Way { queue_pairs, datagrams, around };

class VerbsFailingCalls : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override { calm(); }
  void TearDown() override { faults() = {}; }

  static void calm() {
    faults() = {};
    faults().timeout_ms = 1;
    faults().soft_roce = GetParam() == Way::around;
  }
  static Subject subject() {
    Subject subject{.factory = &verbs::factory};
    subject.options = {{"+net-devices", "127.0.0.1"}, {"+verbs-return-after", "0"}, {"+verbs-patience", "1"}};
    if (GetParam() == Way::datagrams) {
      subject.options["+verbs-datagrams-from"] = "0";
      subject.options["+verbs-connect-after"] = "25";
    }
    return subject;
  }
  static void live() {
    Life life(subject(), GetParam() == Way::around ? go_down : nullptr);
    life.live();
  }
  static void go_down(bool down) {
    faults().port_down = faults().port_inactive = down;
    fake_verbs::raise(down ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE);
  }
  /// Fails that call at each of its first moments, and at some of the others.
  static void fail_at_each(const char* call, int error, int times) {
    // Each life that goes around takes its time.
    const int every = GetParam() == Way::around ? 3 : 1;
    for (int moment = 0;; moment += moment < 40 ? every : std::max(7 * every, moment / 16)) {
      calm();
      faults().fails[call] = {moment, error, 0, times};
      SCOPED_TRACE(std::string(call) + " failed after " + std::to_string(moment));
      live();
      EXPECT_EQ(fake_verbs::alive(), 0) << "what the device gave was not given back";
      if (HasFailure() || faults().fails[call].struck == 0) return;
    }
  }
};

TEST_P(VerbsFailingCalls, EndEachThingOnce) {
  for (const char* call :
       {"ibv_open_device", "ibv_query_device", "ibv_query_port", "ibv_alloc_pd", "ibv_create_comp_channel",
        "ibv_create_cq", "ibv_create_srq", "ibv_reg_mr", "ibv_create_qp", "ibv_modify_qp", "ibv_modify_qp, a way",
        "ibv_create_ah", "ibv_post_send", "ibv_post_send, a datagram", "ibv_query_gid_ex", "ibv_query_pkey",
        "ibv_post_srq_recv", "ibv_poll_cq"}) {
    fail_at_each(call, EIO, 0);
    fail_at_each(call, EIO, 1);
    fail_at_each(call, ENOMEM, 1);
  }
}

// Where the last look before it sleeps is the first that fails, nothing would wake it.
TEST_P(VerbsFailingCalls, AWorkerDoesNotSleepOverAQueueThatFails) {
  Pair pair(subject());
  Transport& transport = pair.a.transport();
  const auto falls_asleep = [&] { return transport.arm() || (transport.disarm(), false); };
  pump(pair.both(), falls_asleep);
  transport.disarm();
  faults().fails["ibv_poll_cq"] = {0, EIO, 0, 0};
  EXPECT_FALSE(transport.arm());
  transport.disarm();
  pump(pair.both(), [&] { return pair.ab->degraded && pair.ba->degraded; });
  pair.a.push(*pair.ab, 3000, 0, {&pair.b});
  pump(pair.both(), [&] { return pair.b.arrived_from(1) == pair.a.sent_to(2); });
  pump(pair.both(), falls_asleep);
  transport.disarm();
}

INSTANTIATE_TEST_SUITE_P(Over, VerbsFailingCalls, testing::Values(Way::queue_pairs, Way::datagrams, Way::around),
                         [](const auto& way) {
                           return way.param == Way::queue_pairs ? "QueuePairs"
                                  : way.param == Way::datagrams ? "Datagrams"
                                                                : "TheWayAround";
                         });

}  // namespace
}  // namespace periapt::conformance
