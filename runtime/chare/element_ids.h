// The numbers of an array's elements: what messages carry and tables are looked up by, instead of whole indices.
//
// Every index has one number, the same on all PEs without their talking. Most indices are small enough to be their own
// ("compact", see array_index.h); another one gets 62 bits of its hash. Should two indices of an array ever collide,
// the PE that sees both refuses. What is sent to an element without a compact number brings the whole index along.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>

#include "runtime/chare/array_index.h"
#include "runtime/message/message.h"

namespace periapt {

class ElementIds {
 public:
  // Of an array whose elements are of this chare type.
  explicit ElementIds(int type) : type_(type) {}

  // From now on the index is known here.
  std::uint64_t id_of(const CkArrayIndex& index);
  // Of a compact number, or of one that is known here.
  CkArrayIndex index_of(std::uint64_t id) const;
  std::string describe(std::uint64_t id) const;  // "Hello[3]"

  // The whole index in a message instead of its number, in envelope fields that are free then.
  static void put_index(Message& message, const CkArrayIndex& index);
  // The number, which stands in the message again.
  std::uint64_t take_index(Message& message);

 private:
  const int type_;
  // Indices too large to be numbers.
  std::unordered_map<CkArrayIndex, std::uint64_t> assigned_;
  std::unordered_map<std::uint64_t, CkArrayIndex> index_of_assigned_;
};

}  // namespace periapt
