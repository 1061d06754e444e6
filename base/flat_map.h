// FlatMap: 64-bit key -> value, for the hot path. Open addressing with linear probing over an array of {key, value};
// erase shifts the run back instead of leaving tombstones, so a table that lives long stays as fast as a new one.
// The key ~0 marks an empty place and cannot be stored. Pointers to values are valid until the next insert or erase.
// C++17.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/bits.h"
#include "base/platform.h"

namespace periapt {

template <class T>
class FlatMap {
 public:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  struct Entry {
    std::uint64_t key;
    T value;
  };

  FlatMap() = default;
  explicit FlatMap(std::size_t expected) { reserve(expected); }
  FlatMap(FlatMap&& other) noexcept { swap(other); }
  FlatMap& operator=(FlatMap&& other) noexcept {
    swap(other);
    return *this;
  }
  FlatMap(const FlatMap&) = delete;
  FlatMap& operator=(const FlatMap&) = delete;
  ~FlatMap() { destroy(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  T* find(std::uint64_t key) {
    Entry& entry = entries_[place_of(key)];
    return PERIAPT_LIKELY(entry.key != kEmpty) ? &entry.value : nullptr;
  }
  const T* find(std::uint64_t key) const { return const_cast<FlatMap*>(this)->find(key); }
  bool contains(std::uint64_t key) const { return find(key) != nullptr; }

  /// The value of `key`, made from `arguments` if there was none; second: whether it was made.
  template <class... Arguments>
  std::pair<T*, bool> try_emplace(std::uint64_t key, Arguments&&... arguments) {
    assert(key != kEmpty);
    if (PERIAPT_UNLIKELY((size_ + 1) * 3 > capacity() * 2)) grow();
    std::size_t i = place_of(key);
    if (entries_[i].key != kEmpty) return {&entries_[i].value, false};
    new (&entries_[i].value) T(std::forward<Arguments>(arguments)...);
    entries_[i].key = key;
    ++size_;
    return {&entries_[i].value, true};
  }
  T& operator[](std::uint64_t key) { return *try_emplace(key).first; }

  /// Returns whether it was there.
  bool erase(std::uint64_t key) {
    std::size_t hole = place_of(key);
    if (entries_[hole].key == kEmpty) return false;
    // Everything behind the hole that would no longer be found from its home moves up, until the run ends.
    for (std::size_t i = (hole + 1) & mask_; entries_[i].key != kEmpty; i = (i + 1) & mask_) {
      std::size_t distance_from_home = (i - home(entries_[i].key)) & mask_;
      if (distance_from_home < ((i - hole) & mask_)) continue;
      entries_[hole].key = entries_[i].key;
      entries_[hole].value = std::move(entries_[i].value);
      hole = i;
    }
    entries_[hole].value.~T();
    entries_[hole].key = kEmpty;
    --size_;
    return true;
  }

  void clear() {
    destroy();
    entries_ = empty_table();
    mask_ = 0;
    shift_ = 63;
    size_ = 0;
  }

  void reserve(std::size_t expected) {
    std::size_t wanted = round_up_power_of_two(expected + expected / 2 + 2);
    if (wanted > capacity()) rehash(wanted);
  }

  /// Calls visit(key, value&) for each entry; visit must not insert or erase.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (std::size_t i = 0; i <= mask_; ++i) {
      if (entries_[i].key != kEmpty) visit(entries_[i].key, entries_[i].value);
    }
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i <= mask_; ++i) {
      if (entries_[i].key != kEmpty) visit(entries_[i].key, static_cast<const T&>(entries_[i].value));
    }
  }

  std::size_t memory_bytes() const { return capacity() * sizeof(Entry); }

 private:
  // A map that holds nothing points at one shared empty place: find needs no test for it.
  static Entry* empty_table() {
    alignas(Entry) static const std::uint64_t place[(sizeof(Entry) + 7) / 8] = {kEmpty};
    return const_cast<Entry*>(reinterpret_cast<const Entry*>(place));
  }
  // Where the key is, or the empty place where it would go. There always is an empty place.
  std::size_t place_of(std::uint64_t key) const {
    std::size_t i = home(key);
    while (entries_[i].key != key && entries_[i].key != kEmpty) i = (i + 1) & mask_;
    return i;
  }
  std::size_t capacity() const { return entries_ == empty_table() ? 0 : mask_ + 1; }
  // Fibonacci hashing, top bits: neighbouring keys spread, one multiplication.
  std::size_t home(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9E37'79B9'7F4A'7C15u) >> shift_) & mask_;
  }
  void grow() { rehash(capacity() == 0 ? 8 : capacity() * 2); }

  PERIAPT_NOINLINE void rehash(std::size_t capacity) {
    static_assert(alignof(Entry) <= alignof(std::max_align_t), "operator new aligns them");
    Entry* old = entries_;
    std::size_t old_places = mask_ + 1;
    entries_ = static_cast<Entry*>(::operator new(capacity * sizeof(Entry)));
    for (std::size_t i = 0; i < capacity; ++i) entries_[i].key = kEmpty;
    mask_ = capacity - 1;
    shift_ = 64 - floor_log2(capacity);
    for (std::size_t from = 0; from < old_places; ++from) {
      if (old[from].key == kEmpty) continue;
      std::size_t i = home(old[from].key);
      while (entries_[i].key != kEmpty) i = (i + 1) & mask_;
      entries_[i].key = old[from].key;
      new (&entries_[i].value) T(std::move(old[from].value));
      old[from].value.~T();
    }
    if (old != empty_table()) ::operator delete(old);
  }

  void destroy() {
    if (entries_ == empty_table()) return;
    for (std::size_t i = 0; i <= mask_; ++i) {
      if (entries_[i].key != kEmpty) entries_[i].value.~T();
    }
    ::operator delete(entries_);
  }

  void swap(FlatMap& other) noexcept {
    std::swap(entries_, other.entries_);
    std::swap(mask_, other.mask_);
    std::swap(shift_, other.shift_);
    std::swap(size_, other.size_);
  }

  Entry* entries_ = empty_table();
  std::size_t mask_ = 0;
  unsigned shift_ = 63;
  std::size_t size_ = 0;
};

}  // namespace periapt
