// Records, for strategies that want it: which elements that take part have sent how much to which elements of arrays.
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
  std::vector<Communication> recorded() const;
  void restart() { amounts_.clear(); }

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
  };
  void on_created(Pe&, const Created& created) override;
  void add(const ElementName& to, std::uint64_t messages, std::uint64_t bytes);  // from what runs

  Pe& pe_;
  const Meter& meter_;
  bool on_ = false;
  std::vector<ElementName> names_;  // by record
  std::unordered_map<Pair, Amount, HashOfPair> amounts_;
};

// The name under which the database has an element: that of the array which the others are bound to.
ElementName name_of(PeObjects& objects, ElementName element);

}  // namespace periapt::loadbalance
