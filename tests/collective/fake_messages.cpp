// See fake_messages.h: what the protocols need of the rest of the runtime.
#include "tests/collective/fake_messages.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/chare/messages.h"
#include "runtime/chare/registry.h"
#include "runtime/chare/runtime_message.h"
#include "runtime/message/message.h"

namespace periapt {

int test::messages_alive = 0;

namespace {
// A block's header in front of it, as in a heap.
void* allocate(std::size_t bytes) {
  const std::size_t total = round_up(sizeof(shm::Block) + bytes, 64);
  auto* block = new (std::aligned_alloc(64, total)) shm::Block{};
  block->references = 1;
  ++test::messages_alive;
  return block->bytes();
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
  shm::Block* block = shm::Block::of(envelope_);
  if (--block->references > 0) return;
  --test::messages_alive;
  std::free(block);
}
Message Message::share() const {
  ++shm::Block::of(envelope_)->references;
  return Message(envelope_);
}
Message Message::copy() const {
  const std::size_t bytes = message_bytes(envelope_->size, envelope_->priority_bits);
  return Message(static_cast<Envelope*>(std::memcpy(allocate(bytes), envelope_, bytes)));
}

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
void CkSetRefNum(void* message, CMK_REFNUM_TYPE reference) { periapt::envelope_of(message)->reference = reference; }
CMK_REFNUM_TYPE CkGetRefNum(void* message) { return periapt::envelope_of(message)->reference; }
