// See accumulator.h.
#include "runtime/collective/accumulator.h"

#include <cstring>

#include "runtime/api/reduction_fields.h"

namespace periapt {

using chare::Contribution;

Accumulator::~Accumulator() {
  for (CkReductionMsg* message : kept_) CkFreeMsg(message);
}

void Accumulator::begin(const Contribution& contribution) {
  size_ = contribution.size;
  reduced_ = contribution.reduced;
  large_ = size_ > sizeof small_ ? Message::make(data_at + size_) : Message();
  if (size_) std::memcpy(data(), contribution.data, size_);
}

void Accumulator::keep(ReducerType type, const Contribution& contribution) {
  CkReductionMsg* message = ReductionMessageFields::make(contribution.size, type);
  if (contribution.size) std::memcpy(message->getData(), contribution.data, contribution.size);
  ReductionMessageFields::set(message, type, contribution);
  kept_.push_back(message);
}

void Accumulator::add(ReducerType type, const Contribution& contribution, std::uint64_t random_bits) {
  if (contribution.sources == 0) return;
  const bool first = !any_;
  any_ = true;
  type_ = first ? type : chare::agree(type_, type);
  sources_ += contribution.sources;
  if (contribution.user_flag != -1) user_flag_ = contribution.user_flag;
  if (type != CkReduction::nop && !chare::folds_in_place(type, contribution)) return keep(type, contribution);
  if (first || (size_ == 0 && contribution.size != 0)) return begin(contribution);
  if (contribution.size == 0 && type == CkReduction::nop) return;
  Contribution mine{data(), size_, 1, reduced_, user_flag_};
  if (chare::fold(type_, mine, contribution, random_bits) == chare::Fold::replace) begin(contribution);
  reduced_ = true;
}

void Accumulator::add(ReducerType type, const Contribution& contribution, Message message, std::uint64_t random_bits) {
  if (any_ || contribution.sources == 0 || contribution.size <= sizeof small_ ||
      !chare::folds_in_place(type, contribution))
    return add(type, contribution, random_bits);
  any_ = true;
  type_ = type;
  sources_ = contribution.sources;
  user_flag_ = contribution.user_flag;
  reduced_ = contribution.reduced;
  size_ = contribution.size;
  large_ = std::move(message);
}

Contribution Accumulator::result() {
  if (kept_.empty()) return {data(), size_, sources_, reduced_, user_flag_};
  // Reducers that work on all contributions at once: what is here becomes one, and may be combined again above.
  CkReductionMsg* one = chare::combine_messages(type_, static_cast<int>(kept_.size()), kept_.data(), 0);
  kept_.assign(1, one);
  Contribution c = chare::contribution_of(one);
  c.sources = sources_;
  c.user_flag = user_flag_;
  return c;
}

Message Accumulator::message(int source) {
  const Contribution sum = result();
  Message message;
  if (!kept_.empty()) {
    message = Message::from_payload(kept_.front());
    kept_.clear();
  } else if (large_) {
    message = std::move(large_);
  } else {
    message = Message::make(data_at + sum.size);
    if (sum.size) std::memcpy(static_cast<char*>(message.payload()) + data_at, sum.data, sum.size);
  }
  ReductionMessageFields::address(message, source, type_, sum);
  return message;
}

CkReductionMsg* Accumulator::result_message(int source, std::uint32_t round) {
  auto* result = static_cast<CkReductionMsg*>(payload_of(message(source).release()));
  ReductionMessageFields::set_round(result, static_cast<int>(round));
  if (result->getUserFlag() != -1) CkSetRefNum(result, result->getUserFlag());
  return result;
}

}  // namespace periapt
