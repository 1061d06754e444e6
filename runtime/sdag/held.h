// What came for an entry, from its arrival to the end of the body that has taken it: the message, or arguments that
// came without one, which lie behind the Held in its block. C++17.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/message/delivery.h"
#include "runtime/scheduler/inline_limit.h"
#include "runtime/sdag/arguments.h"
#include "runtime/sdag/blocks.h"
#include "runtime/sdag/key.h"

namespace periapt::sdag {

class Held {
 public:
  // Takes the message of the call, or a copy of arguments that came without.
  static Held* of(Blocks& blocks, Delivery& call);
  // A message that the program owns.
  static Held* of(Blocks& blocks, Message message);
  static void destroy(Blocks& blocks, Held* held);
  Held(const Held&) = delete;

  // The arguments as variables.
  void make(Blocks& blocks, const ArgumentsType& type);
  void* made() { return made_; }
  // The object leaves for another PE: it takes along what the program owns.
  void leave();
  // Null: it is made of what is unpacked.
  static Held* pup(PUP::er& p, Blocks& blocks, Held* held, const ArgumentsType& type);

  struct Neighbours {
    Held* before = nullptr;
    Held* behind = nullptr;
  };
  Neighbours of_number, of_entry;  // in the lists of a mailbox
  Key key = 0;

 private:
  Held(void* arguments, std::size_t length) : arguments_(arguments), length_(length) {}
  ~Held() = default;
  static Held* of_inline(Blocks& blocks, const void* arguments, std::size_t length);
  static Held* of_bytes(Blocks& blocks, Message message, void* arguments, std::size_t length);
  static Held* unpacked(PUP::er& p, Blocks& blocks, const ArgumentsType& type);
  void pack(PUP::er& p, const ArgumentsType& type);

  void* arguments_;
  std::size_t length_;
  void* made_ = nullptr;
  const ArgumentsType* type_ = nullptr;
  Message message_;  // empty: the arguments are inline
};
static_assert(sizeof(Held) % 16 == 0, "arguments lie behind it, aligned as in a message");

}  // namespace periapt::sdag
