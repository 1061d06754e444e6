// The sum so far of some contributions to a reduction.
//
// What can be added one at a time is: the first contribution is copied, and each further one is worked into that where
// the contributor has it. The sum lies behind the room for the header of a message, so that it is sent, or given to the
// program, as it is. Only reducers that need all contributions at once keep them, each as a message.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/api/reducers.h"
#include "runtime/api/reduction_message.h"
#include "runtime/message/message.h"

namespace periapt {

using ReducerType = CkReduction::reducerType;

class Accumulator {
 public:
  // Where the data of a sum begin in the payload of its message.
  static constexpr std::size_t data_at = sizeof(CkReductionMsg);

  Accumulator() = default;
  Accumulator(Accumulator&&) = default;
  Accumulator& operator=(Accumulator&&) = delete;
  ~Accumulator();
  // One more that brings no data to a sum without data: the usual case of an empty reduction. False: use add().
  bool count_only(ReducerType type, const chare::Contribution& contribution) {
    if (!any_ || type != CkReduction::nop || type_ != type || contribution.size != 0 || contribution.user_flag != -1)
      return false;
    sources_ += contribution.sources;
    return true;
  }
  void add(ReducerType type, const chare::Contribution& contribution, std::uint64_t random_bits);
  // The same of data that lie in `message` from data_at on, which is given up: the sum may go on there.
  void add(ReducerType type, const chare::Contribution& contribution, Message message, std::uint64_t random_bits);
  // Everything as one contribution; its data live until the next call.
  chare::Contribution result();
  // The same as a message, made on PE `source`; nothing is left here.
  Message message(int source);
  // That message as the program gets it: it knows its round, and a user flag is its reference number too.
  CkReductionMsg* result_message(int source, std::uint32_t round);
  ReducerType type() const { return type_; }
  std::uint32_t sources() const { return sources_; }

 private:
  char* data() { return large_ ? static_cast<char*>(large_.payload()) + data_at : small_; }
  void begin(const chare::Contribution& contribution);
  void keep(ReducerType type, const chare::Contribution& contribution);

  ReducerType type_ = CkReduction::nop;
  std::uint32_t sources_ = 0;
  int user_flag_ = -1;
  bool reduced_ = true;
  bool any_ = false;
  std::size_t size_ = 0;
  alignas(16) char small_[64];
  Message large_;  // has the data if they don't fit there
  std::vector<CkReductionMsg*> kept_;
};

}  // namespace periapt
