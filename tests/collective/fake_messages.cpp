// See fake_messages.h: what the protocols need of the rest of the runtime.
#include "tests/collective/fake_messages.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "runtime/message/message.h"
#include "runtime/registry/messages.h"
#include "runtime/registry/packing.h"
#include "runtime/registry/registry.h"
#include "runtime/registry/runtime_message.h"

namespace periapt {

int test::messages_alive = 0;

namespace {
struct alignas(16) Block {  // in front of the envelope, so that payloads begin on a line
  int references = 1;
};
Block* block_of(Envelope* envelope) { return reinterpret_cast<Block*>(envelope) - 1; }
void* allocate(std::size_t bytes) {
  ++test::messages_alive;
  return new (std::aligned_alloc(64, round_up(sizeof(Block) + bytes, 64))) Block + 1;
}
}  // namespace

Message Message::make(std::size_t size, unsigned priority_bits) {
  auto* envelope = new (allocate(message_bytes(size, priority_bits))) Envelope{};
  envelope->size = size;
  envelope->priority_bits = static_cast<std::uint16_t>(priority_bits);
  envelope->queueing = Queueing::fifo;
  return Message(envelope);
}
void Message::drop() {
  Block* block = block_of(envelope_);
  if (--block->references > 0) return;
  --test::messages_alive;
  std::free(block);
}
Message Message::share() const {
  ++block_of(envelope_)->references;
  return Message(envelope_);
}
bool Message::shared() const { return block_of(envelope_)->references > 1; }
Message Message::copy() const {
  const std::size_t bytes = message_bytes(envelope_->size, envelope_->priority_bits);
  return Message(static_cast<Envelope*>(std::memcpy(allocate(bytes), envelope_, bytes)));
}

// No class here packs itself.
Message unshared(Message message) { return message.shared() ? message.copy() : std::move(message); }

Message runtime_message(Message message, int entry, std::uint32_t collection, std::uint64_t element) {
  message->target = Target::runtime;
  message->entry = static_cast<std::uint16_t>(entry);
  message->collection = collection;
  message->element = element;
  return message;
}

int register_runtime_entry(const char*, RuntimeFunction, unsigned) {
  static int entries = 0;
  return ++entries;
}

}  // namespace periapt

using periapt::Message;

void* CkAllocMsg(int message_type, std::size_t bytes, int priority_bits, GroupDepNum) {
  Message message = Message::make(bytes, static_cast<unsigned>(priority_bits));
  message->message_type = static_cast<std::uint16_t>(message_type);
  return periapt::payload_of(message.release());
}
void CkFreeMsg(void* message) {
  if (message) Message::from_payload(message);
}
void CkSetRefNum(void* message, std::int64_t reference) {
  periapt::envelope_of(message)->reference = static_cast<std::int32_t>(reference);
}
CMK_REFNUM_TYPE CkGetRefNum(void* message) { return periapt::envelope_of(message)->reference; }
