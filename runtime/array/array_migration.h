// How an element, with the elements of other arrays that are bound to it, goes to another PE: pup() packs them into one
// message, they are destroyed here, and made again over there. Where they have gone is Location's to know, what they
// may miss on the way ArrayBroadcasts'.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/array/array_manager.h"

namespace periapt {

// Sends an element that is here to PE `to`; it is gone when this returns. It stays where it is if it is there already,
// and for now if it is not confirmed yet, if its constructor or that of one that is bound to it runs, buffers of its
// calls are being filled or threads of its entries run: it goes then.
// `follows`: not 0: it goes after what it is bound to, to the PE of so many in a row.
void migrate(ArrayManager& array, ArrayElement* element, int to, std::uint32_t follows = 0);

// The same of many elements, which go to one PE: they are packed into messages of some batch_bytes. It is for one
// function of the runtime: what user code that runs meanwhile sends to elements of the batch waits until their message
// has been sent, with the last call of send().
class MigrationBatch {
 public:
  static constexpr std::size_t batch_bytes = 64 << 10;

  MigrationBatch(Pe& pe, int to) : pe_(pe), to_(to) {}
  ~MigrationBatch() { send(); }
  MigrationBatch(const MigrationBatch&) = delete;

  // Says what is wrong with its pup(), or with that of an element bound to it, which it then names: all stay as they
  // are (and were told that they leave, and then that they have come). Empty: nothing is.
  std::string add(ArrayManager& array, ArrayElement* element);
  void send();

 private:
  char* room(ArrayManager& leader, std::size_t bytes);

  Pe& pe_;
  const int to_;
  ArrayManager* leader_ = nullptr;  // of the arrays whose elements are in the message
  Message message_;
  std::size_t used_ = 0;             // of the message's bytes
  std::vector<std::uint64_t> left_;  // elements in the message
};

// Whether threads of its entries, or of those of elements bound to it, have begun and not ended.
bool has_threads(ArrayManager& array, std::uint64_t id);
// The element, or one bound to it, an entry of which looks after other messages now: nested_scheduling.h. None: no
// such.
ThreadOwner owner_around(const ArrayManager& array, std::uint64_t id);

void register_migration_entries();

}  // namespace periapt
