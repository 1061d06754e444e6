// The numbers of an array's elements: what messages carry and tables are looked up by, instead of whole indices.
//
// Every index has one number, the same on all PEs without their talking: a function of the index. Most indices are
// small enough to be their own ("compact", see array_index.h); another one gets 62 bits of its hash, which do not lead
// back. So what is sent to such an element, or waits for it, brings the whole index along, and each PE remembers those
// of the elements that live there, as long as they do: it is there that two indices with one number would meet.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/flat_map.h"
#include "runtime/api/array_index.h"
#include "runtime/message/message.h"

namespace periapt {

class ElementIds {
 public:
  // Of an array whose elements are of this chare type.
  explicit ElementIds(int type) : type_(type) {}

  static std::uint64_t id_of(const CkArrayIndex& index);

  // An element with this index is to live here, or has gone.
  void came(std::uint64_t id, const CkArrayIndex& index);
  void went(std::uint64_t id) {
    if (!chare::is_compact_id(id)) indices_.erase(id);
  }
  // Of a compact number, or of an element that is here.
  CkArrayIndex index_of(std::uint64_t id) const;
  // What is said to be for a number that lives here is for its index: two indices with one number cannot be told apart.
  void check(std::uint64_t id, const CkArrayIndex& index) const;
  // Indices that are remembered.
  std::size_t remembered() const { return indices_.size(); }

  std::string describe(const CkArrayIndex& index) const;  // "Hello[3]"
  std::string describe(std::uint64_t id) const;           // "Hello[?]" if that is not to be known
  // The receiver of a message.
  std::string describe_receiver(const Message& message) const;

  // The whole index in a message instead of its number, in envelope fields that are free then.
  static void put_index(Message& message, const CkArrayIndex& index);
  // Of a message whose number is not compact and has no index: it will find its way although the element, which is
  // here, may have gone meanwhile.
  void put_index(Message& message) const;
  // The index of a message's receiver, which stays in it.
  static CkArrayIndex index_in(const Message& message);
  // The number, which stands in the message again.
  static std::uint64_t take_index(Message& message);

 private:
  const int type_;
  FlatMap<CkArrayIndex> indices_;  // of elements that are here and have no compact number
};

}  // namespace periapt
