// What the translator makes of the body of an entry: a table of steps. A frame (machine.h) stands at one of them; what
// is C++ in the .ci is a fragment of one function of the class, called by its number. C++17: reached from charm++.h.
//
//   when a(), b() {...}      when, the body, release of the arguments
//   if (c) {...} else {...}  unless(c) else, the body, jump behind it, the other body
//   overlap { x y }          overlap of two, jump to x, jump to y; x, end; y, end
//   case { when ... }        choose of so many, the whens; each body ends in a release and a jump behind it
//   forall [i] (...) {...}   forall, the body, end
//
// `target` is where it goes on: behind the body of unless, overlap and forall; the body of a when.
#pragma once
#include <cstdint>

#include "runtime/objects/serial_block.h"
#include "runtime/sdag/arguments.h"

namespace periapt::sdag {

class Frame;
class Holder;

enum class Op : std::uint8_t { serial, unless, jump, when, release, overlap, forall, choose, end };

struct Step {
  Op op;
  std::uint16_t fragment;
  std::uint16_t first;  // when: the first of what it waits for; release, forall: slot
  std::uint16_t count;  // of whens, children, slots
  std::uint32_t target;
  SerialBlock block;
};

constexpr Step serial(std::uint16_t fragment, const char* place, const char* label = "") {
  return {Op::serial, fragment, 0, 0, 0, {label, place}};
}
constexpr Step unless(std::uint16_t fragment, std::uint32_t target) {
  return {Op::unless, fragment, 0, 0, target, {"", ""}};
}
constexpr Step jump(std::uint32_t target) { return {Op::jump, 0, 0, 0, target, {"", ""}}; }
constexpr Step when(std::uint16_t first, std::uint16_t count, std::uint32_t target, const char* place) {
  return {Op::when, 0, first, count, target, {"", place}};
}
constexpr Step release(std::uint16_t slot, std::uint16_t count) { return {Op::release, 0, slot, count, 0, {"", ""}}; }
constexpr Step overlap(std::uint16_t count, std::uint32_t target, const char* place) {
  return {Op::overlap, 0, 0, count, target, {"", place}};
}
constexpr Step forall(std::uint16_t fragment, std::uint16_t slot, std::uint32_t target, const char* place) {
  return {Op::forall, fragment, slot, 1, target, {"", place}};
}
constexpr Step choose(std::uint16_t count, const char* place) { return {Op::choose, 0, 0, count, 0, {"", place}}; }
constexpr Step end() { return {Op::end, 0, 0, 0, 0, {"", ""}}; }

constexpr std::uint16_t no_fragment = 0xffff;

// One entry that a when waits for.
struct Awaited {
  int (*entry)();           // answers its number
  std::uint16_t reference;  // fragment that answers the reference number, or no_fragment
  std::uint16_t slot;       // of its arguments
  const ArgumentsType* type;
};

// The body of an entry.
struct Procedure {
  void (*function)(Holder&, int fragment, Frame&);
  const Step* steps;
  const Awaited* awaited;     // null: it waits for nothing
  const ArgumentsType* type;  // of its own arguments, which lie in slot 0
  std::uint16_t awaited_count;
  std::uint16_t slots;
  std::uint16_t links;  // most entries that it waits for at one place
};

}  // namespace periapt::sdag
