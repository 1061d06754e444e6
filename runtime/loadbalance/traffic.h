// Records, for strategies that want it: which elements that take part have sent how much to which elements of arrays
// and members of groups and node groups, by sections too. What goes to all of a collection is not recorded: wherever
// its sender is, it goes everywhere.
//
// It hears of messages as they are created on this PE, and asks the meter whose entry creates them. Off, which it is
// unless a strategy wants it, it hears of nothing.
#pragma once
#include <unordered_map>
#include <vector>

#include "runtime/loadbalance/database.h"
#include "runtime/loadbalance/meter.h"

namespace periapt::loadbalance {

class Traffic : public Observer {
 public:
  Traffic(Pe& pe, const Meter& meter) : pe_(pe), meter_(meter) {}
  ~Traffic() override { turn(false); }

  // The meter has to be on as well.
  void turn(bool on);
  // Which element a record of the meter is, from now on.
  void set_name(std::int32_t record, ElementName name);
  // What runs now has sent so much.
  void sent(ElementName to, std::uint64_t messages, std::uint64_t bytes);
  // What was recorded since the last restart().
  std::vector<Communication> recorded();
  void restart() {
    forget_known();
    amounts_.clear();
  }

 private:
  struct Pair {
    ElementName from, to;
    bool operator==(const Pair&) const = default;
  };
  struct HashOfPair {
    std::size_t operator()(const Pair& pair) const {
      return std::hash<ElementName>()(pair.from) * 31 + std::hash<ElementName>()(pair.to);
    }
  };
  struct Amount {
    std::uint64_t messages = 0, bytes = 0;
    std::int32_t to_pe = -1;  // see Communication
    bool to_process = false;
  };
  // Where what a record has sent to a receiver is added up: elements send to few again and again, and to find that by
  // names takes longer than sending. Whole words are compared: parts of one that have just been written side by side
  // would have to reach the cache before they can be read as one.
  struct alignas(64) Known {
    std::uint64_t sender_and_collection = ~std::uint64_t{0};  // and whether it is a member of a group
    std::uint64_t element = 0;                                // of a member: the PE
    std::uint64_t messages = 0, bytes = 0;                    // that are not in *amount yet
    Amount* amount = nullptr;
    void add_up() {
      if (!amount) return;
      amount->messages += messages;
      amount->bytes += bytes;
    }
  };
  static constexpr std::size_t known_count = 256;  // a power of two
  void on_created(Pe&, const Created& created) override;
  Amount& amount_for(const ElementName& to) { return amounts_[{names_[meter_.running()], to}]; }  // of what runs
  void forget_known();
  Amount* find(const Created& created);  // null: it is for none whose messages are recorded

  Pe& pe_;
  const Meter& meter_;
  bool on_ = false;
  std::vector<ElementName> names_;  // by record
  std::unordered_map<Pair, Amount, HashOfPair> amounts_;
  std::vector<Known> known_;  // by a hash; empty before it is first turned on
  bool knows_ = false;        // one of them: elements that arrive by the thousand look no further
};

// The name under which the database has an element: that of the array which the others are bound to.
ElementName name_of(PeObjects& objects, ElementName element);

}  // namespace periapt::loadbalance
