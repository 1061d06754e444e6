// Credit: how much a peer may have sent here that was not received yet, and how much we may send to it.
//
// Each message is paid for with credit: its bytes, unless they changed owner, and an overhead. Credit comes back when
// the message was received, in the header of the next message that goes to its sender, or, when half of the window is
// owed, in a message of its own. Both sides begin with kFirstWindow. A receiver enlarges the window of a peer that uses
// it up, as long as the windows of all peers fit its bound, and gives less back of large windows when they don't.
//
// A CreditWindow is one peer's part of that, in both directions; a CreditPool is what the windows of a worker share.
// Neither sends: where something is to be said to the peer, the answer is true, and the endpoint says it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/platform.h"

namespace periapt::ucx {

/// What a message costs a receiver beside its bytes, while it is unexpected.
inline constexpr std::int64_t kMessageOverhead = 128;
/// Credit that each peer has before it is told of more. Both sides count on it, so it is part of the protocol.
inline constexpr std::int64_t kFirstWindow = 8 << 10;

/// Of all peers of a worker, in bytes.
struct CreditPool {
  std::int64_t bound = 0;       ///< of all windows together
  std::int64_t window_max = 0;  ///< of one window
  std::int64_t granted = 0;     ///< windows of all peers together
  unsigned out_of_credit = 0;   ///< peers that have asked for credit and got none since
};

/// All amounts are bytes. One thread; nothing here fails.
class CreditWindow {
 public:
  explicit CreditWindow(CreditPool& pool) : pool_(pool) { pool.granted += kFirstWindow; }
  CreditWindow(const CreditWindow&) = delete;
  CreditWindow& operator=(const CreditWindow&) = delete;

  // ---- what we may send

  /// Credit that is left.
  std::int64_t available() const { return available_; }
  PERIAPT_INLINE bool covers(std::int64_t charge) const { return charge <= available_; }
  PERIAPT_INLINE void spend(std::int64_t charge) { available_ -= charge; }
  /// Credit is missing. True: the peer is to be told, since it was not told after credit last came.
  bool request_credit() { return !std::exchange(credit_requested_, true); }
  PERIAPT_INLINE void add_credit(std::uint32_t bytes) {
    available_ += bytes;
    returned_ += bytes;
    credit_requested_ = false;
  }
  /// Our window at the peer: a message that costs more has to be announced.
  std::int64_t window() const { return window_; }
  /// `size` comes from outside.
  void set_window(std::uint64_t size) {
    window_ = static_cast<std::int64_t>(std::min<std::uint64_t>(size, std::uint64_t{1} << 40));
  }
  /// Grows with each message that is paid for.
  std::int64_t spent() const { return returned_ - available_; }

  // ---- what the peer may send

  /// The window that the peer has here.
  std::int64_t granted() const { return granted_; }
  /// Credit that was received and not yet given back.
  std::int64_t owed() const { return owed_; }
  /// A message of that charge was received. True: credit is to go back in a message of its own.
  PERIAPT_INLINE bool consume_credit(std::int64_t charge) {
    owed_ += charge;
    return PERIAPT_UNLIKELY(owed_ >= granted_ / 2 || peer_out_of_credit_);
  }
  /// Would consume_credit() of a message of so many bytes answer false?
  PERIAPT_INLINE bool consumes_quietly(std::uint64_t bytes) const {
    return 2 * (owed_ + kMessageOverhead + static_cast<std::int64_t>(bytes)) < granted_ - 1 && !peer_out_of_credit_;
  }
  /// The credit that goes back with a message that is about to leave.
  PERIAPT_INLINE std::uint32_t take_owed() {
    const std::int64_t now = std::min<std::int64_t>(owed_, ~std::uint32_t{0});
    owed_ -= now;
    return static_cast<std::uint32_t>(now);
  }
  /// That message did not leave.
  PERIAPT_INLINE void put_back(std::uint32_t credit) { owed_ += credit; }

  /// The peer has messages and no credit for them. True: there is some to give back.
  bool peer_out_of_credit() {
    set_peer_out_of_credit(true);
    return owed_ != 0;
  }
  /// Is all of the window held by messages that are not received?
  bool is_exhausted() const { return peer_out_of_credit_ && owed_ == 0; }
  /// Beyond the bound: what a receive waits for may be behind messages that no receive is there for.
  void grant_emergency_credit() {
    change_granted(kFirstWindow);
    owed_ += kFirstWindow;
  }
  /// The window that the peer is to be told of, together with the credit that is owed: twice as large as before, if
  /// that fits; smaller, if the windows of all are beyond the bound.
  std::uint64_t adjust_window() {
    std::int64_t change = 0;
    if (pool_.granted > pool_.bound) {
      change = -std::min({granted_ / 2, granted_ - kFirstWindow, owed_});
    } else if (granted_ * 2 <= pool_.window_max && pool_.granted + granted_ <= pool_.bound) {
      change = granted_;
    }
    change_granted(change);
    owed_ += change;
    set_peer_out_of_credit(false);
    return static_cast<std::uint64_t>(granted_);
  }

  // ---- loss

  /// The peer is gone: its window is free for others.
  void close() {
    change_granted(-granted_);
    set_peer_out_of_credit(false);
  }
  /// The peer is there again, after close().
  void reopen() {
    available_ = window_ = kFirstWindow;
    change_granted(kFirstWindow);
    owed_ = 0;
    credit_requested_ = false;
  }

  /// For tests, which compare the sum over all peers with their pool.
  void add_to(CreditPool& sum) const {
    sum.granted += granted_;
    sum.out_of_credit += peer_out_of_credit_ ? 1 : 0;
  }

 private:
  void change_granted(std::int64_t change) {
    granted_ += change;
    pool_.granted += change;
  }
  void set_peer_out_of_credit(bool now) {
    pool_.out_of_credit += static_cast<unsigned>(now) - static_cast<unsigned>(peer_out_of_credit_);
    peer_out_of_credit_ = now;
  }

  // The first three are what a small message touches.
  std::int64_t available_ = kFirstWindow;
  std::int64_t owed_ = 0;
  std::int64_t granted_ = kFirstWindow;
  bool peer_out_of_credit_ = false;
  bool credit_requested_ = false;  ///< the peer knows that ours is used up
  std::int64_t window_ = kFirstWindow;
  std::int64_t returned_ = 0;  ///< credit that came back
  CreditPool& pool_;
};

}  // namespace periapt::ucx
