// The messages of an object that no when has taken yet, and the whens that wait: both are found by (entry, reference
// number) in a hash. A message lies in two lists, that of its entry and number and that of its entry; a when waits in
// one list for each entry that it names.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/flat_map.h"
#include "runtime/message/delivery.h"
#include "runtime/scheduler/inline_limit.h"
#include "runtime/sdag/arguments.h"

namespace periapt::sdag {

// An entry and a reference number, in one word. Numbers have 47 bits; what has more is refused with a sentence.
typedef std::uint64_t Key;
constexpr std::int64_t reference_max = (std::int64_t{1} << 47) - 1;
constexpr std::int64_t any_reference = -reference_max - 1;
constexpr Key key_of(int entry, std::int64_t reference) {
  return static_cast<Key>(entry) << 48 | (static_cast<Key>(reference) & ((Key{1} << 48) - 1));
}
constexpr int entry_of(Key key) { return static_cast<int>(key >> 48); }
constexpr Key key_of_any(Key key) { return key_of(entry_of(key), any_reference); }
constexpr std::int64_t reference_of(Key key) { return static_cast<std::int64_t>(key << 16) >> 16; }
constexpr bool is_any(Key key) { return reference_of(key) == any_reference; }

// What came for an entry, from its arrival to the end of the body that has taken it.
class Held {
 public:
  // Takes the message of the call, or a copy of arguments that came without.
  explicit Held(Delivery& call);
  // A message that the program owns.
  explicit Held(Message message) : arguments(message.payload()), message(std::move(message)) {}
  Held() = default;
  ~Held();
  Held(const Held&) = delete;

  // The arguments as variables.
  void make(const ArgumentsType& type);
  bool is_made() const { return type_ != nullptr; }
  void* made() { return made_; }
  // The object leaves for another PE: it takes along what the program owns.
  void leave();
  void pup(PUP::er& p, const ArgumentsType& type);

  struct Neighbours {
    Held* before = nullptr;
    Held* behind = nullptr;
  };
  Neighbours of_number, of_entry;  // in the lists of a mailbox
  Key key = 0;
  void* arguments = nullptr;
  std::size_t length = 0;
  Message message;  // empty: the arguments are inline

 private:
  static constexpr std::size_t made_max = 64;
  void pup_bytes(PUP::er& p, const ArgumentsType& type);
  const ArgumentsType* type_ = nullptr;
  void* made_ = nullptr;
  alignas(16) char inline_[inline_arguments_max];
  alignas(16) char room_[made_max];
};

class Frame;

// A when that waits for one entry: a frame has one for each entry that it waits for.
struct Link {
  Frame* frame;
  Link* before;
  Link* behind;
  Key key;
  std::uint32_t step;     // of the when
  std::uint32_t awaited;  // in the procedure's table
};

class Mailbox {
 public:
  struct Queue {
    Held* first = nullptr;
    Held* last = nullptr;
    Link* first_link = nullptr;
    Link* last_link = nullptr;
    bool empty() const { return first == nullptr && first_link == nullptr; }
  };

  Mailbox() = default;
  ~Mailbox();

  Held* first(Key key) {
    Queue* queue = queues_.find(key);
    return queue ? queue->first : nullptr;
  }
  static Held* next(const Held* held, Key key) { return is_any(key) ? held->of_entry.behind : held->of_number.behind; }
  Link* first_link(Key key) {
    Queue* queue = queues_.find(key);
    return queue ? queue->first_link : nullptr;
  }
  void add(Held* held);
  void remove(Held* held);
  void add(Link* link);
  void remove(Link* link);
  std::size_t size() const { return size_; }  // messages

  // visit(held) for each message, those of one entry in the order of their arrival.
  template <class Visit>
  void for_each(Visit&& visit) {
    queues_.for_each([&](Key key, Queue& queue) {
      if (!is_any(key)) return;
      for (Held* held = queue.first; held; held = held->of_entry.behind) visit(*held);
    });
  }

 private:
  void add_to(Key key, Held* held, Held::Neighbours Held::*list);
  void remove_from(Key key, Held* held, Held::Neighbours Held::*list);
  FlatMap<Queue> queues_;
  std::size_t size_ = 0;
};

}  // namespace periapt::sdag
