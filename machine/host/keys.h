// Keys: which memory of a worker is registered, in a table that its peers map for reading. A key is the number of an
// entry and nothing else, so a forged or outdated one finds no entry that bears it, and an operation after
// deregister_memory() is refused by the process that would have done it, at the price of a load.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/platform.h"

namespace periapt::host {

struct KeyTable {
  static constexpr std::uint64_t kEntries = std::uint64_t{1} << 16;

  struct Entry {
    std::atomic<std::uint64_t> id;  ///< generation << 16 | index; 0: nothing is registered here
    std::atomic<std::uint64_t> address, size;
    std::atomic<std::uint64_t> segment;  ///< that it lies in; 0: private memory
  };
  Entry entries[kEntries];

  const Entry& of(std::uint64_t id) const { return entries[id % kEntries]; }
};
static_assert(sizeof(KeyTable) % platform::kPage == 0, "a memory file is whole pages");

/// An entry as one peer has read it.
struct CachedKey {
  std::uint64_t id = 0;
  std::uint64_t address = 0, size = 0, segment = 0;
  bool known = false;           ///< the fields above have been read
  std::uint64_t mapped_by = 0;  ///< number of the pair that has the memory mapped; 0: none, as far as is known
  std::uint64_t shift = 0;      ///< from an address of the owner's to that one

  /// Is the memory still registered, and does it hold all of that?
  PERIAPT_INLINE bool allows(const KeyTable& table, std::uint64_t remote, std::uint64_t bytes) {
    const KeyTable::Entry& entry = table.of(id);
    // acquire: partner is the release in KeyRing::add(), after it has written the other fields.
    if (PERIAPT_UNLIKELY(entry.id.load(std::memory_order_acquire) != id || id == 0)) return false;
    if (PERIAPT_UNLIKELY(!known)) read(entry);
    std::uint64_t at = remote - address;
    return at <= size && bytes <= size - at;
  }

 private:
  void read(const KeyTable::Entry& entry) {
    address = entry.address.load(std::memory_order_acquire);
    size = entry.size.load(std::memory_order_acquire);
    segment = entry.segment.load(std::memory_order_acquire);
    known = entry.id.load(std::memory_order_acquire) == id;
    if (!known) address = size = segment = 0;
  }
};

/// The owner's side: gives entries out and takes them back.
class KeyRing {
 public:
  explicit KeyRing(KeyTable* table = nullptr) : table_(table) {}

  /// The key's number; 0: the table is full.
  std::uint64_t add(std::uint64_t address, std::uint64_t size, std::uint64_t segment) {
    std::uint64_t index;
    if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
    } else if (used_ < KeyTable::kEntries) {
      index = used_++;
    } else {
      return 0;
    }
    KeyTable::Entry& entry = table_->entries[index];
    entry.address.store(address, std::memory_order_release);
    entry.size.store(size, std::memory_order_release);
    entry.segment.store(segment, std::memory_order_release);
    std::uint64_t id = ++generation_ * KeyTable::kEntries + index;
    entry.id.store(id, std::memory_order_release);
    return id;
  }
  void remove(std::uint64_t id) {
    if (!holds(id)) return;
    table_->entries[id % KeyTable::kEntries].id.store(0, std::memory_order_release);
    free_.push_back(id % KeyTable::kEntries);
  }
  bool holds(std::uint64_t id) const { return id != 0 && table_->of(id).id.load(std::memory_order_relaxed) == id; }
  KeyTable& table() const { return *table_; }

 private:
  KeyTable* table_;
  std::uint64_t used_ = 0, generation_ = 0;
  std::vector<std::uint64_t> free_;
};

}  // namespace periapt::host
