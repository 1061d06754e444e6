// +record FILE: writes down what another Ordering takes. See recording.h.
#pragma once
#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "runtime/order/recording.h"

namespace periapt::order {

class Recorder final : public Ordering {
 public:
  Recorder(std::unique_ptr<Ordering> chooser, std::string name, const RecordingHead& head)
      : chooser_(std::move(chooser)), name_(std::move(name)), head_(head) {}
  // Makes the file; else done with the first piece of work, as PE 0 is to try first.
  void open() { writer_.emplace(name_, head_); }

  void add(const Arrival& arrival) override {
    Arrival numbered = arrival;
    numbered.number = arrivals_++;
    waiting_[Piece::of(arrival)].push_back(numbered.number);
    chooser_->add(numbered);
  }
  bool take(Arrival& next) override {
    if (!chooser_->take(next)) return false;
    if (!writer_) open();
    const auto alike = waiting_.find(Piece::of(next));
    const auto at = std::find(alike->second.begin(), alike->second.end(), next.number);
    if (!alike->first.unordered()) {
      writer_->add(alike->first, static_cast<std::uint64_t>(at - alike->second.begin()), polls_);
      polls_.begun = 0;
    }
    alike->second.erase(at);
    if (alike->second.empty()) waiting_.erase(alike);
    return true;
  }
  bool has_next() const override { return chooser_->has_next(); }
  std::size_t size() const override { return chooser_->size(); }
  void settle(std::vector<std::byte>& decision) override {
    chooser_->settle(decision);
    writer_->add_decision(decision);
  }
  bool is_recorded() const override { return true; }
  void begin_poll() override {
    polls_.begin();
    chooser_->begin_poll();
  }
  void end_poll() override {
    polls_.end();
    chooser_->end_poll();
  }
  bool holds_poll() const override { return chooser_->holds_poll(); }
  void end() override {
    if (writer_) writer_->end();
  }

 private:
  std::unique_ptr<Ordering> chooser_;
  const std::string name_;
  const RecordingHead head_;
  std::optional<RecordingWriter> writer_;
  std::uint64_t arrivals_ = 0;
  Polls polls_;
  std::unordered_map<Piece, std::deque<std::uint64_t>, PieceHash> waiting_;  // their numbers, in the order of coming
};

}  // namespace periapt::order
