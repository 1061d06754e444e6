// What came for an entry, from its arrival to the end of the body that has taken it: the message, or arguments that
// came without one. A short call that waits is one cache line, as a when that looks for one among very many pays for
// each line that it touches: the words of the mailbox's lists and of the unpacked arguments are the same, and short
// arguments lie behind them. C++17.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "base/platform.h"
#include "runtime/message/delivery.h"
#include "runtime/scheduler/inline_limit.h"
#include "runtime/sdag/arguments.h"
#include "runtime/sdag/blocks.h"
#include "runtime/sdag/key.h"

namespace periapt::sdag {

class Held {
 public:
  // Takes the message of the call, or a copy of arguments that came without.
  static Held* of(Blocks& blocks, Delivery& call) {
    if (PERIAPT_UNLIKELY(static_cast<bool>(call.message) || call.length > inline_arguments_max))
      return of_call_with_message(blocks, call);
    return of_inline(blocks, call.arguments, call.length);
  }
  // A message that the program owns.
  static Held* of(Blocks& blocks, Message message);
  static void destroy(Blocks& blocks, Held* held) {
    if (held->is_made()) held->unmake(blocks);
    if (PERIAPT_UNLIKELY(!held->is_inline())) return destroy_with_message(blocks, held);
    blocks.give(held, sizeof(Held) + held->inline_length());
  }
  Held(const Held&) = delete;

  // The arguments as variables. It is in no list of a mailbox any more.
  void make(Blocks& blocks, const ArgumentsType& type) {
    if (PERIAPT_UNLIKELY(type.is_message && !type.is_lent)) share_with_program();
    void* const at = blocks.take(type.size);
    type.make(at, arguments(), length());
    made_ = {at, &type};
    owner_ |= made_bit;
  }
  void* made() { return made_.at; }
  // The object leaves for another PE: it takes along what the program owns.
  void leave();
  // Null: it is made of what is unpacked.
  static Held* pup(PUP::er& p, Blocks& blocks, Held* held, const ArgumentsType& type);

  // Its place in the lists of a mailbox.
  enum List { of_number, of_entry };
  struct Neighbours {
    Held* before;
    Held* behind;
  };
  Neighbours& in(List list) { return in_[list]; }
  const Neighbours& in(List list) const { return in_[list]; }
  Key key = 0;

 private:
  struct Made {
    void* at;
    const ArgumentsType* type;
  };
  // Behind a Held with a message: where its arguments lie.
  struct Far {
    void* arguments;
    std::size_t length;
  };
  // `owner_` is the address of the envelope, or inline_bit and the length of the arguments that lie behind the Held;
  // made_bit: `made_` counts, not `in_`.
  static constexpr std::uintptr_t inline_bit = 1, made_bit = 2;
  static constexpr int length_shift = 2;
  static_assert(alignof(Envelope) > (inline_bit | made_bit), "the bits of an envelope's address that are free");

  explicit Held(std::uintptr_t owner) : in_{}, owner_(owner) {}
  ~Held() = default;
  static Held* of_inline(Blocks& blocks, const void* arguments, std::size_t length) {
    Held* held = new (blocks.take(sizeof(Held) + length)) Held(length << length_shift | inline_bit);
    if (arguments && length != 0) std::memcpy(held + 1, arguments, length);
    return held;
  }
  static Held* of_call_with_message(Blocks& blocks, Delivery& call);
  static Held* of_message(Blocks& blocks, Message message, void* arguments, std::size_t length);
  static void destroy_with_message(Blocks& blocks, Held* held);
  static Held* unpacked(PUP::er& p, Blocks& blocks, const ArgumentsType& type);
  void pack(PUP::er& p, const ArgumentsType& type);
  void pack_message(PUP::er& p, const ArgumentsType& type);
  void share_with_program();
  void unmake(Blocks& blocks) {
    made_.type->destroy(made_.at);
    blocks.give(made_.at, made_.type->size);
  }

  bool is_made() const { return (owner_ & made_bit) != 0; }
  bool is_inline() const { return (owner_ & inline_bit) != 0; }
  std::size_t inline_length() const { return owner_ >> length_shift; }
  Envelope* envelope() const { return reinterpret_cast<Envelope*>(owner_ & ~made_bit); }
  Far& far() { return *reinterpret_cast<Far*>(this + 1); }
  void* arguments() { return is_inline() ? this + 1 : far().arguments; }
  std::size_t length() { return is_inline() ? inline_length() : far().length; }

  union {
    Neighbours in_[2];
    Made made_;
  };
  std::uintptr_t owner_;
};
static_assert(sizeof(Held) == 48, "with 16 bytes of arguments it is one line; they are aligned as in a message");

}  // namespace periapt::sdag
