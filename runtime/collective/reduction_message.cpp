// Messages that carry a contribution or the result of a reduction.
#include "runtime/api/reduction_message.h"

#include <cstring>

#include "base/fatal.h"
#include "runtime/api/reduction_fields.h"

CkReductionMsg* ReductionMessageFields::make(std::size_t bytes, CkReduction::reducerType type) {
  auto* m = static_cast<CkReductionMsg*>(CkAllocMsg(CMessage_CkReductionMsg::__idx, sizeof(CkReductionMsg) + bytes, 0));
  begin(m, bytes, type);
  return m;
}

void ReductionMessageFields::address(periapt::Message& message, int source, CkReduction::reducerType type,
                                     const periapt::chare::Contribution& c) {
  *message.envelope() = periapt::Envelope{};
  message->size = sizeof(CkReductionMsg) + c.size;
  message->queueing = periapt::Queueing::fifo;
  message->source = source;
  message->message_type = static_cast<std::uint16_t>(CMessage_CkReductionMsg::__idx);
  auto* m = static_cast<CkReductionMsg*>(message.payload());
  begin(m, c.size, type);
  set(m, type, c);
}

int CMessage_CkReductionMsg::__idx;

CkReductionMsg* CkReductionMsg::buildNew(int size, const void* data, CkReduction::reducerType reducer,
                                         CkReductionMsg* reuse) {
  CkReductionMsg* m = reuse ? reuse : ReductionMessageFields::make(size, reducer);
  m->size_ = size;
  m->reducer_ = reducer;
  if (data && size && data != m->getData()) std::memmove(m->getData(), data, size);
  return m;
}
CkReductionMsg* CkReductionMsg::buildFromTuple(CkReduction::tupleElement* elements, int count) {
  CkReductionMsg* m = ReductionMessageFields::make(periapt::chare::tuple_bytes(elements, count), CkReduction::tuple);
  periapt::chare::write_tuple(elements, count, m->getData());
  return m;
}
void CkReductionMsg::toTuple(CkReduction::tupleElement** elements, int* count) const {
  periapt::chare::read_tuple(getData(), size_, elements, count);
}

namespace periapt {

namespace chare {
CkReductionMsg* new_reduction_message(std::size_t bytes, CkReduction::reducerType type) {
  return ReductionMessageFields::make(bytes, type);
}
void delete_reduction_message(CkReductionMsg* message) { CkFreeMsg(message); }
Contribution contribution_of(CkReductionMsg* message) { return ReductionMessageFields::contribution(message); }
void set_contribution(CkReductionMsg* message, CkReduction::reducerType type, const Contribution& contribution) {
  ReductionMessageFields::set(message, type, contribution);
}
}  // namespace chare

const void* reduction_data(const void* message, std::size_t& size) {
  auto* contributions = static_cast<const CkReductionMsg*>(message);
  size = contributions->getSize();
  return contributions->getData();
}
void demand_values(const void* message) {
  if (static_cast<const CkReductionMsg*>(message)->getReducer() != CkReduction::tuple) return;
  fatal("the result of a tuple reduction is for an entry that takes values", {},
        "the results of its reductions lie one behind the other, with what says how long they are",
        "declare `entry void result(CkReductionMsg* m);` and take them from m->toTuple()");
}

}  // namespace periapt
