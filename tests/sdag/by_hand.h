// Bodies written by hand, for tests of what runs them.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/sdag/machine.h"
#include "runtime/sdag/sdag.h"

namespace periapt::sdag {

/// Entries: whens of these tests wait for a, b and c, whose arguments are two ints, and bodies are those of `body`.
constexpr int entry_a = 11, entry_b = 12, entry_c = 13, entry_body = 20;
using Two = Arguments<int, int>;

struct Object : Holder {
  Object() : Holder(kind) {}
  int turn = 0;
  std::string seen;
  static constexpr ObjectKind kind{[](const Holder&) { return std::string("Object"); }, nullptr};
};
constexpr ObjectKind Object::kind;

using Fragment = std::function<void(Object&, Frame&)>;

/// The tables of one body.
class Body {
 public:
  Body(std::vector<Step> steps, std::vector<Awaited> awaited, std::vector<Fragment> fragments, std::uint16_t slots,
       std::uint16_t links)
      : steps_(std::move(steps)), awaited_(std::move(awaited)) {
    code() = std::move(fragments);
    procedure_ = {run,   steps_.data(), awaited_.data(), nullptr, static_cast<std::uint16_t>(awaited_.size()),
                  slots, links};
    registerBody(entry_body, procedure_);
    for (int entry : {entry_a, entry_b, entry_c}) registerTrigger(entry, ArgumentsTypeOf<Two>::type);
  }
  const Procedure& procedure() const { return procedure_; }

 private:
  static std::vector<Fragment>& code() {
    static std::vector<Fragment> all;
    return all;
  }
  static void run(Holder& holder, int fragment, Frame& frame) {
    code()[static_cast<std::size_t>(fragment)](static_cast<Object&>(holder), frame);
  }
  std::vector<Step> steps_;
  std::vector<Awaited> awaited_;
  Procedure procedure_;
};

template <int entry>
int number_of_entry() {
  return entry;
}
template <int entry>
Awaited waits_for(std::uint16_t slot, std::uint16_t reference = no_fragment) {
  return {number_of_entry<entry>, reference, slot, &ArgumentsTypeOf<Two>::type};
}
/// A fragment that notes the arguments in a slot.
inline Fragment notes(const char* name, int slot) {
  return [=](Object& o, Frame& f) {
    o.seen += name + std::to_string(f.get<Two, 0>(slot)) + ":" + std::to_string(f.get<Two, 1>(slot)) + " ";
  };
}
inline Fragment notes(const char* text) {
  return [=](Object& o, Frame&) { o.seen += text; };
}
inline Fragment answers(std::function<std::int64_t(Object&, Frame&)> number) {
  return [=](Object& o, Frame& f) { f.reference(number(o, f)); };
}

/// What comes: an entry and its two arguments, of which the first is the reference number.
struct Call {
  int entry;
  int number, value;
};

/// An object and its machine.
struct Running {
  Object object;
  Machine* machine = new Machine(object, Object::kind);
  Running() = default;
  Running(const Running&) = delete;
  ~Running() { Machine::destroy(machine); }
  void begin(const Body& body) {
    Delivery none;
    machine->begin(entry_body, body.procedure(), none);
  }
  void come(const Call& call) {
    int arguments[2] = {call.number, call.value};
    Delivery delivery;
    delivery.arguments = arguments;
    delivery.length = sizeof arguments;
    machine->arrive(key_of(call.entry, call.number), delivery);
  }
};

}  // namespace periapt::sdag
