// +replay FILE: a PE runs what it ran when FILE was recorded, in that order, and waits for what has not come yet.
//
// What comes when time has it (quiescence detection, the watchdog, requests from outside) runs when
// it comes. A recording that ends before its run did, as that one crashed, is followed to its last piece of work; from
// then on the PE runs what comes as it comes. A program that does something else than it did then comes to a
// standstill: the watchdog sees it, and tells where each PE stands.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "runtime/order/in_order.h"
#include "runtime/order/recording.h"

namespace periapt::order {

class Replay final : public Ordering {
 public:
  // Reads the file when the first piece of work is asked for, as PE 0 is to look first.
  Replay(std::string name, const RecordingHead& expected) : name_(std::move(name)), expected_(expected) {}
  void open();
  void add(const Arrival& arrival) override;
  bool take(Arrival& next) override;
  bool is_recorded() const override { return true; }
  bool has_next() const override;
  std::size_t size() const override { return unordered_.size() + held_ + (free_ ? free_->size() : 0); }
  void settle(std::vector<std::byte>& decision) override;
  void begin_poll() override { polls_.begin(); }
  void end_poll() override { polls_.end(); }
  bool holds_poll() const override;
  // What it waits for and what has come instead, a line; empty: it waits for nothing.
  static std::string explain(int pe);

 private:
  struct Waiting {
    Arrival arrival;
    std::uint64_t coming;  // how many came before
  };
  void advance();
  void go_free();
  // What waits and is like the next piece; null: that has not come yet, or ran in another poll.
  const std::deque<Waiting>* alike_next() const;
  std::string stands(Pe& pe) const;

  const std::string name_;
  const RecordingHead expected_;
  std::optional<RecordingReader> reader_;
  RecordingReader::Event next_;
  std::uint64_t done_ = 0;  // pieces of work
  std::uint64_t comings_ = 0;
  Polls polls_;
  mutable std::uint64_t held_since_ns_ = 0;  // a poll waits for the next piece; 0: none has
  std::size_t held_ = 0;                     // in waiting_
  std::unordered_map<Piece, std::deque<Waiting>, PieceHash> waiting_;
  std::deque<Arrival> unordered_;
  std::optional<InOrder> free_;  // behind the end of a recording that is not whole
};

}  // namespace periapt::order
