// The groups that must exist on a PE before a message is delivered there: CkEntryOptions::setGroupDepID,
// `new (..., GroupDepNum(n)) M` with setGroupDep(). The list stands at the end of the payload, its length last, and
// envelope_waits says that it is there; a message without one pays nothing. C++17.
#pragma once
#include <cstring>

#include "runtime/message/envelope.h"
#include "runtime/registry/ids.h"

namespace periapt {

class GroupDependencies {
 public:
  // Bytes of a payload of `size` bytes with a list of `count` groups behind it.
  static std::size_t padded(std::size_t size, int count) {
    return count ? ((size + 3) & ~std::size_t{3}) + 4 * (static_cast<std::size_t>(count) + 1) : size;
  }
  // Makes the list in a message whose payload was sized for it: no group yet.
  GroupDependencies(Envelope* envelope, int count) : end_(end_of(envelope)), count_(count) {
    envelope->flags |= envelope_waits;
    std::memcpy(end_ - 4, &count_, 4);
    for (int i = 0; i < count_; ++i) set(i, CkGroupID());
  }
  // Reads the list of a message with envelope_waits.
  explicit GroupDependencies(const Envelope* envelope) : end_(end_of(const_cast<Envelope*>(envelope))) {
    std::memcpy(&count_, end_ - 4, 4);
  }
  int count() const { return count_; }
  // Bytes of the list.
  std::size_t size() const { return 4 * (static_cast<std::size_t>(count_) + 1); }
  CkGroupID get(int i) const {
    CkGroupID id;
    std::memcpy(&id, end_ - 8 - 4 * i, 4);
    return id;
  }
  void set(int i, CkGroupID id) { std::memcpy(end_ - 8 - 4 * i, &id, 4); }

 private:
  static char* end_of(Envelope* envelope) { return static_cast<char*>(payload_of(envelope)) + envelope->size; }
  char* end_;
  int count_ = 0;
};
static_assert(sizeof(CkGroupID) == 4, "a group in the list is one word");

}  // namespace periapt
