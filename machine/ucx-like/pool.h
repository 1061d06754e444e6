// Pool<T>: objects of one type, taken and given back in a few instructions; memory goes back to the system at the end.
// ObjectCache<T>: the same, but an object is made once, and taken as it was given back.
// Ids<T>: numbers for objects that peers name in their answers. A number that comes from outside is looked up, never
// followed: an id of an object that is gone, or that never was, finds nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/platform.h"

namespace periapt::ucx {

template <class T>
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  template <class... Arguments>
  T* take(Arguments&&... arguments) {
    if (PERIAPT_UNLIKELY(free_ == nullptr)) grow();
    Place* place = free_;
    free_ = place->next;
    ++used_;
    platform::unpoison(place->bytes, sizeof(T));
    return new (place->bytes) T(std::forward<Arguments>(arguments)...);
  }
  void give(T* object) {
    object->~T();
    --used_;
    Place* place = reinterpret_cast<Place*>(object);
    place->next = free_;
    free_ = place;
    platform::poison(place->bytes + sizeof(place->next), sizeof(T) - sizeof(place->next));
  }
  std::size_t used() const { return used_; }

 private:
  union Place {
    Place* next;
    alignas(T) std::byte bytes[sizeof(T)];
  };
  static constexpr std::size_t kChunk = 64;

  PERIAPT_NOINLINE void grow() {
    chunks_.push_back(std::unique_ptr<Place[]>(new Place[kChunk]));
    for (std::size_t i = kChunk; i-- > 0;) {
      chunks_.back()[i].next = free_;
      free_ = &chunks_.back()[i];
    }
  }

  Place* free_ = nullptr;
  std::size_t used_ = 0;
  std::vector<std::unique_ptr<Place[]>> chunks_;
};

/// `Owner`: what each T is made from.
template <class T, class Owner>
class ObjectCache {
 public:
  explicit ObjectCache(Owner& owner) : owner_(owner) {}
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;
  ~ObjectCache() {
    for (Chunk& chunk : chunks_) {
      platform::unpoison(chunk.get(), sizeof(T) * kChunk);
      for (std::size_t i = 0; i < kChunk; ++i) object(chunk, i)->~T();
    }
  }

  PERIAPT_INLINE T* take() {
    if (PERIAPT_UNLIKELY(count_ == 0)) grow();
    T* object = free_[--count_];
    platform::unpoison(object, sizeof(T));
    return object;
  }
  /// None but those that would have to be made?
  bool empty() const { return count_ == 0; }
  /// What take() will give, unless it is empty().
  T* next() const {
    platform::unpoison(free_[count_ - 1], sizeof(T));
    return free_[count_ - 1];
  }
  PERIAPT_INLINE void give(T* object) {
    platform::poison(object, sizeof(T));
    free_[count_++] = object;
  }

 private:
  static constexpr std::size_t kChunk = 64;
  struct Release {
    void operator()(std::byte* bytes) const { ::operator delete(bytes, std::align_val_t(alignof(T))); }
  };
  using Chunk = std::unique_ptr<std::byte, Release>;

  static T* object(const Chunk& chunk, std::size_t i) {
    return std::launder(reinterpret_cast<T*>(chunk.get() + i * sizeof(T)));
  }
  PERIAPT_NOINLINE void grow() {
    chunks_.emplace_back(static_cast<std::byte*>(::operator new(sizeof(T) * kChunk, std::align_val_t(alignof(T)))));
    free_.resize(chunks_.size() * kChunk);
    for (std::size_t i = kChunk; i-- > 0;) give(new (chunks_.back().get() + i * sizeof(T)) T(owner_));
  }

  Owner& owner_;
  std::vector<Chunk> chunks_;
  std::vector<T*> free_;   ///< room for all that there are, so that giving back never asks for more
  std::size_t count_ = 0;  ///< of them
};

template <class T>
class Ids {
 public:
  /// Never 0.
  std::uint64_t add(T* object) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.push_back({});
    }
    std::uint32_t slot = free_.back();
    free_.pop_back();
    slots_[slot].object = object;
    return (std::uint64_t{slots_[slot].generation} << 32) | slot;
  }
  T* find(std::uint64_t id) const {
    std::uint32_t slot = static_cast<std::uint32_t>(id);
    if (slot >= slots_.size() || slots_[slot].generation != static_cast<std::uint32_t>(id >> 32)) return nullptr;
    return slots_[slot].object;
  }
  void remove(std::uint64_t id) {
    if (find(id) == nullptr) return;
    Slot& slot = slots_[static_cast<std::uint32_t>(id)];
    slot.object = nullptr;
    ++slot.generation;
    free_.push_back(static_cast<std::uint32_t>(id));
  }

 private:
  struct Slot {
    T* object = nullptr;
    std::uint32_t generation = 1;
  };
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace periapt::ucx
