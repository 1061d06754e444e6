// The life of two workers of one process, from their opening to their end, in which calls of the library below them may
// fail: what was accepted ends once, messages come once and in their order, or their link is lost with a reason.
// Nothing else is known of what fails.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/machine/conformance.h"

namespace periapt::conformance {

// Two workers of this process, from their opening to their end.
class Life {
 public:
  /// go_down(bool): a network that goes, and comes back, in the middle of it; nullptr: none does.
  explicit Life(Subject subject, std::function<void(bool down)> go_down = nullptr)
      : subject_(std::move(subject)), go_down_(std::move(go_down)) {}

  void live() {
    try {
      a_.emplace(subject_, 1);
      b_.emplace(subject_, 2);
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()), "");  // it says what it lacks
      return;
    }
    // Where a failure has left one of them with less, they may not be of one kind.
    if (!a_->transport().reaches(b_->address())) return;
    try {
      ab_ = &a_->connect(*b_);
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()), "cannot connect: ");
      return;
    }
    talk(6);
    one_sided();
    if (go_down_) {
      go_down_(true);
      talk(4);
      one_sided();
      go_down_(false);
      // Some of the way back, whether it comes to something or not.
      for (int round = 0; round < 30 && (round == 0 || goes_around()); ++round) {
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

  bool goes_around() {
    const Link* ba = b_->link_to(1);
    return !lost() && (ab_->degraded || (ba != nullptr && ba->degraded));
  }

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
    if (a_->can().max_put == 0) return;
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

  Subject subject_;
  std::function<void(bool down)> go_down_;
  std::deque<Ticket> tickets_;  // before the workers, which may end some
  std::optional<Worker> a_, b_;
  Link* ab_ = nullptr;
};

}  // namespace periapt::conformance
