// The elements of an array that live on one PE: by number, and as a list.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/flat_map.h"
#include "runtime/api/objects.h"
#include "runtime/objects/pe_objects.h"

namespace periapt {

class LocalElements {
 public:
  // Of an array whose elements are of this chare type.
  explicit LocalElements(int type) : type_(type) {}

  ArrayElement* find(std::uint64_t id) {
    const std::uint64_t place = id - run_first_;
    if (place < run_.size()) return run_[place];
    ArrayElement** found = by_id_.find(id);
    return found ? *found : nullptr;
  }
  const std::vector<ArrayElement*>& all() const { return all_; }
  std::size_t size() const { return all_.size(); }

  // The whole object, and the part of it that `ep` is an entry of.
  void* object_of(ArrayElement* element) const { return reinterpret_cast<char*>(element) - element_offset_; }
  const ArrayElement* element_of(const void* object) const {
    return reinterpret_cast<const ArrayElement*>(static_cast<const char*>(object) + element_offset_);
  }
  void* object_for(ArrayElement* element, int ep) const { return object_for_entry(type_, ep, object_of(element)); }

  // Room for so many.
  void expect(std::size_t count) { all_.reserve(count); }
  void expect_any(std::size_t count) { by_id_.reserve(count); }
  // Numbers `first` and so many behind it will live here: once, and before any is added.
  void expect_run(std::uint64_t first, std::size_t count) {
    run_first_ = first;
    run_.resize(count);
  }

  // An element that has got its number, the base of `object`.
  void add(ArrayElement* element, const void* object) {
    element_offset_ = reinterpret_cast<const char*>(element) - static_cast<const char*>(object);
    element->position_ = static_cast<std::uint32_t>(all_.size());
    all_.push_back(element);
    const std::uint64_t id = element->ckGetID();
    if (id - run_first_ < run_.size())
      run_[id - run_first_] = element;
    else
      by_id_[id] = element;
  }
  // The last one of the list takes its place.
  void remove(ArrayElement* element) {
    ArrayElement* last = all_.back();
    all_[element->position_] = last;
    last->position_ = element->position_;
    all_.pop_back();
    const std::uint64_t id = element->ckGetID();
    if (id - run_first_ < run_.size())
      run_[id - run_first_] = nullptr;
    else
      by_id_.erase(id);
  }
  // In the list.
  std::size_t position(const ArrayElement* element) const { return element->position_; }

 private:
  const int type_;
  // Those of the run of numbers run_first_ ... that a dense 1D array begins with on this PE lie in a plain table, null
  // where one has gone; others in the map.
  std::vector<ArrayElement*> run_;
  std::uint64_t run_first_ = 0;
  FlatMap<ArrayElement*> by_id_;
  std::vector<ArrayElement*> all_;
  std::ptrdiff_t element_offset_ = 0;  // of the ArrayElement within the object
};

}  // namespace periapt
