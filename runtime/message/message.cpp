// See message.h.
#include "runtime/message/message.h"

#include <cstring>

#include "machine/host/heap.h"

namespace periapt {

namespace {
struct Origin {
  host::Heap* heap;
  int pe;
};
thread_local Origin origin __attribute__((tls_model("initial-exec"))) = {nullptr, -1};
}  // namespace

void Message::set_origin(host::Heap* heap, int pe) { origin = {heap, pe}; }

Message Message::make(std::size_t size, unsigned priority_bits) {
  auto* envelope = static_cast<Envelope*>(origin.heap->allocate(message_bytes(size, priority_bits)));
  *envelope = Envelope{};
  envelope->size = size;
  envelope->priority_bits = static_cast<std::uint16_t>(priority_bits);
  envelope->queueing = Queueing::fifo;
  envelope->source = origin.pe;
  return Message(envelope);
}
void Message::drop() { origin.heap->release(std::exchange(envelope_, nullptr)); }
Message Message::share() const {
  host::Heap::add_reference(envelope_);
  return Message(envelope_);
}
bool Message::shared() const { return host::Heap::is_shared(envelope_); }
Message Message::copy() const {
  std::size_t bytes = message_bytes(envelope_->size, envelope_->priority_bits);
  void* copy = origin.heap->allocate(bytes);
  std::memcpy(copy, envelope_, bytes);
  return Message(static_cast<Envelope*>(copy));
}

}  // namespace periapt
