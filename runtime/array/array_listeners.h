// The listeners of an array on one PE, and the ints that they keep for each element here. An array without listeners
// has none of this.
#pragma once
#include <array>
#include <cstdint>
#include <unordered_map>

#include "runtime/api/array_listener.h"
#include "runtime/api/objects.h"
#include "runtime/containers/vec.h"

namespace periapt {

class ArrayManager;

// The ints of all listeners of one element.
using ListenerInts = std::array<int, CK_ARRAYLISTENER_MAXLEN>;

class ArrayListeners {
 public:
  using List = CkPupAblePtrVec<CkArrayListener>;

  explicit ArrayListeners(ArrayManager& array) : array_(array) {}

  // Owns it from here on, and tells it of the array.
  void add(CkArrayListener* listener);
  // The same of one that was there when a checkpoint was written, and has been told then.
  void restore(CkArrayListener* listener);
  const List& all() const { return all_; }

  ListenerInts stamp();
  // `stamp`: null where it is not a new one: pup() brings its ints.
  void came(ArrayElement* element, const ListenerInts* stamp);
  void went(std::uint64_t id) { ints_.erase(id); }
  int* ints_of(const ArrayElement* element) { return ints_[element->ckGetID()].data(); }
  void pup_ints(PUP::er& p, const ArrayElement* element) { p(ints_of(element), static_cast<std::size_t>(length_)); }

  void begin_inserting();
  void end_inserting();
  // False: it has gone, or a listener says so.
  bool created(std::uint64_t id);
  void died(ArrayElement* element);
  void leaving(ArrayElement* element);
  void arriving(std::uint64_t id);

 private:
  template <bool (CkArrayListener::*hears)(ArrayElement*)>
  bool tell(std::uint64_t id);

  ArrayManager& array_;
  List all_;
  int length_ = 0;                                        // ints of all listeners
  std::unordered_map<std::uint64_t, ListenerInts> ints_;  // by element, if there are any
};

}  // namespace periapt
