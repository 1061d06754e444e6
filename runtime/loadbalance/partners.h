// Which objects exchange messages: the communication of a database, by object instead of by name. A database of a
// million objects has ten million pairs, so the rows lie one behind the other, and names are looked up in tables where
// they are dense.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/flat_map.h"
#include "runtime/loadbalance/database.h"

namespace periapt::loadbalance {

// The place in database.objects of an element.
class ObjectIndex {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  explicit ObjectIndex(const LoadDatabase& database);
  std::uint32_t find(ElementName name) const;

 private:
  struct Table {
    std::uint64_t least = ~std::uint64_t{0}, most = 0, count = 0;
    std::vector<std::uint32_t> dense;  // by element - least; empty: the names are too far apart
    FlatMap<std::uint32_t> sparse;
  };
  std::map<std::int32_t, Table> arrays_;
};

// What an object exchanges with another one, both ways together.
struct Partner {
  std::uint32_t object;
  std::uint32_t messages;
  std::uint64_t bytes;
};

// By object, of the partners by number. What is exchanged with elements that are no objects is left out.
class Partners {
 public:
  explicit Partners(const LoadDatabase& database);
  std::span<const Partner> operator[](std::size_t object) const {
    return {all_.data() + begin_[object], all_.data() + end_[object]};
  }
  // Of all rows together: each pair counts twice.
  std::size_t size() const;

 private:
  std::vector<std::size_t> begin_, end_;  // a row's place in all_
  std::vector<Partner> all_;
};

inline Partners partners_of(const LoadDatabase& database) { return Partners(database); }

}  // namespace periapt::loadbalance
