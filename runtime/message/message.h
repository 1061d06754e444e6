// A message with one owner: envelope, then payload, in a block of some PE's heap.
#pragma once
#include <utility>

#include "runtime/message/envelope.h"

namespace periapt {

namespace host {
class Heap;
}

// Move-only. Destroying it drops this reference; the block goes home when the last one is dropped.
class Message {
 public:
  Message() = default;
  explicit Message(Envelope* envelope) : envelope_(envelope) {}
  Message(Message&& other) noexcept : envelope_(std::exchange(other.envelope_, nullptr)) {}
  Message& operator=(Message&& other) noexcept {
    std::swap(envelope_, other.envelope_);
    return *this;
  }
  ~Message() {
    if (envelope_) drop();
  }

  // Of this thread: the heap that messages come from and go back through, and the PE that a new one names as its
  // source.
  static void set_origin(host::Heap* heap, int pe);
  // A message of `size` bytes of payload from that heap; the rest of the envelope is zero.
  static Message make(std::size_t size, unsigned priority_bits = 0);
  static Message from_payload(void* payload) { return Message(envelope_of(payload)); }

  explicit operator bool() const { return envelope_; }
  Envelope* operator->() const { return envelope_; }
  Envelope* envelope() const { return envelope_; }
  void* payload() const { return payload_of(envelope_); }
  // Gives up ownership without freeing.
  [[nodiscard]] Envelope* release() { return std::exchange(envelope_, nullptr); }

  // Another reference to the same bytes (both holders must treat them as constant).
  Message share() const;
  // A private copy.
  Message copy() const;
  bool shared() const;

 private:
  void drop();
  Envelope* envelope_ = nullptr;
};

}  // namespace periapt
