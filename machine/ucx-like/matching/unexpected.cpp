#include "machine/ucx-like/matching/unexpected.h"

namespace periapt::ucx {

Unexpected& UnexpectedMessages::add(EndpointImpl* from, const MessageHeader& header) {
  Unexpected& message = *pool_.take();
  message.from = from;
  message.header = header;
  message.key = header.tag;
  message.order = ++arrivals_;
  by_tag_.append(&message);
  in_order_.push_back(&message);
  return message;
}

Unexpected* UnexpectedMessages::find(std::uint64_t tag, std::uint64_t mask) {
  if (mask == ~std::uint64_t{0}) return static_cast<Unexpected*>(by_tag_.first(tag));
  Unexpected* message = in_order_.front();
  while (message != nullptr && ((message->header.tag ^ tag) & mask) != 0) message = in_order_.after(message);
  return message;
}

void UnexpectedMessages::take_out(Unexpected& message) {
  by_tag_.remove(&message);
  message.Hook<InOrder>::unlink();
}

void UnexpectedMessages::put_back(List<Unexpected, InOrder>& taken) {
  Unexpected* place = in_order_.front();
  while (Unexpected* message = taken.pop_front()) {
    while (place != nullptr && place->order < message->order) place = in_order_.after(place);
    in_order_.insert_before(place, message);
    by_tag_.insert(message);
  }
}

void UnexpectedMessages::forget(Unexpected& message) {
  message.Hook<OfEndpoint>::unlink();
  pool_.give(&message);
}

}  // namespace periapt::ucx
