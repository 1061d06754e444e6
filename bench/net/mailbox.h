// Receives that wait for messages, and messages that wait for receives; both in order. For Sides whose carrier has no
// receives of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <utility>
#include <vector>

namespace periapt::bench {

class Mailbox {
 public:
  /// A receive into `into`; its number, from 1.
  std::uint64_t want(std::byte* into) {
    if (stash_.size() == (placing_in_stash_ ? 1 : 0)) {
      wanted_.push_back(into);
    } else {
      std::memcpy(into, stash_.front().data(), stash_.front().size());
      stash_.pop_front();
      ++ended_;
    }
    return ++begun_;
  }
  bool ended(std::uint64_t number) const { return ended_ >= number; }

  void take(std::span<const std::byte> message) {
    if (wanted_.empty()) return stash_.emplace_back(message.begin(), message.end()), void();
    std::memcpy(wanted_.front(), message.data(), message.size());
    wanted_.pop_front();
    ++ended_;
  }
  /// The same in two steps: where the bytes are to be written, and that they are.
  std::byte* place(std::size_t size) {
    if (!wanted_.empty()) return wanted_.front();
    placing_in_stash_ = true;
    return stash_.emplace_back(size).data();
  }
  void placed() {
    if (!std::exchange(placing_in_stash_, false)) {
      wanted_.pop_front();
      ++ended_;
      return;
    }
    if (wanted_.empty()) return;  // a receive that came meanwhile: no other message was there
    std::memcpy(wanted_.front(), stash_.front().data(), stash_.front().size());
    stash_.pop_front();
    wanted_.pop_front();
    ++ended_;
  }

 private:
  std::deque<std::byte*> wanted_;
  std::deque<std::vector<std::byte>> stash_;
  std::uint64_t begun_ = 0, ended_ = 0;
  bool placing_in_stash_ = false;
};

}  // namespace periapt::bench
