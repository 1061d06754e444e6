// What the protocols of a PE are given to send with. They know no PE, so tests put a network of their own under them
// (tests/collective); PeSender (protocols.h) is the one of a PE.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/api/callback.h"
#include "runtime/message/delivery.h"
#include "runtime/registry/registry.h"
#include "runtime/scheduler/inline_limit.h"

namespace periapt {

class Sender {
 public:
  Sender(int me, int pes, std::uint64_t& random_state) : me(me), pes(pes), random_state_(random_state) {}
  virtual ~Sender() = default;
  Sender(const Sender&) = delete;

  const int me;   // this PE
  const int pes;  // of the run

  // Calls an entry of the runtime on PE `to`. `arguments`: inline_arguments_max readable bytes, of which `length`
  // count.
  virtual void send(int to, int entry, int collection, std::uint64_t element, const void* arguments,
                    std::size_t length) = 0;
  // The same by a message that is addressed to the entry already (runtime_message()).
  virtual void send(int to, Message&& message) = 0;
  template <class T>
  void send(int to, int entry, int collection, std::uint64_t element, const T& arguments) {
    static_assert(sizeof(T) <= inline_arguments_max && std::is_trivially_copyable_v<T>);
    alignas(16) char bytes[inline_arguments_max];
    std::memcpy(bytes, &arguments, sizeof arguments);
    send(to, entry, collection, element, bytes, sizeof arguments);
  }

  // Something that is no message and that quiescence waits for.
  virtual void begin_pending() = 0;
  virtual void end_pending() = 0;

  std::uint64_t next_random() { return random_state_ += 0x9E3779B97F4A7C15u; }

  // Gives the program a result, which the callback then owns.
  virtual void deliver(const CkCallback& callback, void* message) = 0;
  // "group 3", or the name of its class: for messages.
  virtual std::string name_of(int collection) const = 0;

 private:
  std::uint64_t& random_state_;  // of the PE
};

// The place of one of many in a tree over all of them, numbered from 0, the root.
struct TreePlace {
  static constexpr int branching = 4;
  int parent = -1;  // of the root
  std::vector<int> children;

  TreePlace(int me, int count) {
    if (me > 0) parent = (me - 1) / branching;
    for (int child = branching * me + 1; child <= branching * (me + 1) && child < count; ++child)
      children.push_back(child);
  }
};

}  // namespace periapt
