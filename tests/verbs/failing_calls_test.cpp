// Any call of libibverbs fails, at any of its moments in the life of two workers: once, or from then on. What was
// accepted ends once, messages come once and in their order or their link is lost with a reason, and the device has
// back all that it gave.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "machine/verbs/transport.h"
#include "tests/machine/conformance.h"
#include "tests/verbs/fake_verbs.h"

namespace periapt::conformance {
namespace {

fake_verbs::InPlace in_place;
fake_verbs::Faults& faults() { return fake_verbs::faults(); }

/// How the link goes while calls fail.
enum class Way { queue_pairs, datagrams, around };

// Two workers of this process, from their opening to their end.
class Life {
 public:
  explicit Life(Way way) : way_(way) {
    subject_.options = {{"+net-devices", "127.0.0.1"}, {"+verbs-return-after", "0"}, {"+verbs-patience", "1"}};
    if (way == Way::datagrams) {
      subject_.options["+verbs-datagrams-from"] = "0";
      subject_.options["+verbs-connect-after"] = "25";
    }
  }

  void live() {
    try {
      a_.emplace(subject_, 1);
      b_.emplace(subject_, 2);
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()), "");  // it says what it lacks
      return;
    }
    ab_ = &a_->connect(*b_);
    talk(6);
    one_sided();
    if (way_ == Way::around) {
      go_down(true);
      talk(4);
      one_sided();
      go_down(false);
      // Some of the way back, whether it comes to something or not.
      for (int round = 0; round < 60; ++round) {
        settle(both(), 5);
        talk(1);
        ::usleep(400);  // ports are looked at every 20 ms
      }
    }
    talk(3);
    all_end();
    for (Worker* worker : both()) {
      const PeerId other = worker->self() == 1 ? 2 : 1;
      if (Link* link = worker->link_to(other)) worker->close(*link);
    }
    settle(both(), 20);
  }

 private:
  std::vector<Worker*> both() { return {&*a_, &*b_}; }
  bool lost() const { return !a_->losses.empty() || !b_->losses.empty(); }

  void talk(int messages) {
    for (int i = 0; i < messages && !lost(); ++i) {
      a_->push(*ab_, static_cast<std::size_t>(i) * 997 % 6000, i % 3, {&*b_});
      settle(both(), 2);
      if (Link* ba = b_->link_to(1); ba != nullptr && !lost()) b_->push(*ba, 300, 0, {&*a_});
    }
    const auto all_came = [&] {
      return b_->arrived_from(1) == a_->sent_to(2) && a_->arrived_from(2) == b_->sent_to(1);
    };
    pump(both(), [&] { return lost() || all_came(); });
  }

  void one_sided() {
    try {
      Shared local(*a_, 9000), remote(*b_, 9000);
      if (lost()) return;
      RemoteKey key = remote.key_for(*a_, *ab_);
      fill(local.bytes, 5);
      for (const std::size_t size : {std::size_t{100}, std::size_t{9000}}) {
        took(a_->put(*ab_, View(local.bytes).first(size), &local.handle, remote.at(), key, tickets_.emplace_back()));
        took(a_->get(*ab_, std::span(local.bytes).first(size), &local.handle, remote.at(), key,
                     tickets_.emplace_back()));
      }
      took(a_->flush(*ab_, tickets_.emplace_back()));
      all_end();
      a_->transport().release_key(key);
      if (!lost()) {
        EXPECT_TRUE(equal(local.bytes, remote.bytes));
      }
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("registered"), std::string::npos) << error.what();
    }
  }
  void took(Accepted answer) {
    if (answer != Accepted::pending) tickets_.pop_back();
  }
  void all_end() {
    pump(both(), [&] {
      return std::all_of(tickets_.begin(), tickets_.end(), [](const Ticket& ticket) { return ticket.ended(); });
    });
  }

  static void go_down(bool down) {
    faults().port_down = faults().port_inactive = down;
    fake_verbs::raise(down ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE);
  }

  Way way_;
  Subject subject_{.factory = &verbs::factory};
  std::deque<Ticket> tickets_;  // before the workers, which may end some
  std::optional<Worker> a_, b_;
  Link* ab_ = nullptr;
};

class VerbsFailingCalls : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override { calm(); }
  void TearDown() override { faults() = {}; }

  static void calm() {
    faults() = {};
    faults().timeout_ms = 1;
    faults().soft_roce = GetParam() == Way::around;
  }
  /// Fails that call at each of its moments, or at some, where there are many.
  static void fail_at_each(const char* call, int error, int times) {
    for (int moment = 0;; moment += moment < 40 ? 1 : 7) {
      calm();
      faults().fails[call] = {moment, error, 0, times};
      SCOPED_TRACE(std::string(call) + " failed after " + std::to_string(moment));
      {
        Life life(GetParam());
        life.live();
      }
      EXPECT_EQ(fake_verbs::alive(), 0) << "what the device gave was not given back";
      if (HasFailure() || faults().fails[call].struck == 0) return;
    }
  }
};

TEST_P(VerbsFailingCalls, EndEachThingOnce) {
  for (const char* call :
       {"ibv_open_device", "ibv_query_device", "ibv_query_port", "ibv_alloc_pd", "ibv_create_comp_channel",
        "ibv_create_cq", "ibv_create_srq", "ibv_reg_mr", "ibv_create_qp", "ibv_modify_qp", "ibv_modify_qp, a way",
        "ibv_create_ah", "ibv_post_send", "ibv_post_send, a datagram"}) {
    fail_at_each(call, EIO, 0);
    fail_at_each(call, EIO, 1);
    fail_at_each(call, ENOMEM, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Over, VerbsFailingCalls, testing::Values(Way::queue_pairs, Way::datagrams, Way::around),
                         [](const auto& way) {
                           return way.param == Way::queue_pairs ? "QueuePairs"
                                  : way.param == Way::datagrams ? "Datagrams"
                                                                : "TheWayAround";
                         });

}  // namespace
}  // namespace periapt::conformance
