// Flushes of a link whose peer answers: a question goes behind the messages, and the peer answers it when it has handed
// up all before it. For transports whose puts and gets take another way than messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "machine/ucx-like/transport_base.h"

namespace periapt::ucx {

class Flushes {
 public:
  static constexpr std::size_t kMost = 256;  ///< under way on one link

  bool full() const { return waiting_.size() >= kMost; }
  /// Of the question that goes out next.
  std::uint32_t next_number() const { return number_ + 1; }
  /// The question has gone out. It has ended when it is answered and so many operations of the link have ended.
  void asked(std::uint64_t operations, Completion* completion) {
    waiting_.push_back({++number_, operations, completion});
  }
  /// All up to that number.
  void answered(std::uint32_t number) { answered_ = number; }
  bool all_answered() const { return answered_ == number_; }

  /// Ends those that have ended, the oldest first. False: there was none.
  bool end_some(std::uint64_t operations_ended, DeferredCalls& deferred) {
    bool some = false;
    for (; !waiting_.empty(); waiting_.pop_front(), some = true) {
      const Flush& first = waiting_.front();
      if (first.operations > operations_ended || static_cast<std::int32_t>(answered_ - first.number) < 0) break;
      deferred.end(first.completion, Outcome::ok);
    }
    return some;
  }
  void end_all(Outcome outcome, DeferredCalls& deferred) {
    for (const Flush& flush : waiting_) deferred.end(flush.completion, outcome);
    waiting_.clear();
  }

  // ---- what the peer asks

  bool owes_answer = false;
  std::uint32_t answer = 0;
  void take_question(std::uint32_t number) { answer = number, owes_answer = true; }

 private:
  struct Flush {
    std::uint32_t number;
    std::uint64_t operations;
    Completion* completion;
  };
  std::deque<Flush> waiting_;
  std::uint32_t number_ = 0, answered_ = 0;
};

}  // namespace periapt::ucx
