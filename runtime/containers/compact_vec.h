// CkCompactVec: a vector of pointers or numbers that come in order and are done with in about that order. What is null
// at its front is forgotten, and the others keep their places. C++17: reached from charm++.h.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "runtime/containers/vec.h"

template <class T>
class CkCompactVec {
 public:
  CkCompactVec() = default;
  explicit CkCompactVec(const CkSkipInitialization&) {}
  CkCompactVec(std::size_t size) : CkCompactVec(size, size) {}
  CkCompactVec(std::size_t capacity, std::size_t used) : room_(capacity), length_(used) { grow_to(used); }

  // Of all, those included that are forgotten.
  std::size_t& length() { return length_; }
  std::size_t length() const { return length_; }
  std::size_t size() const { return length_; }
  // Room for those that are kept.
  std::size_t capacity() const { return room_.size(); }
  // The first one that is kept.
  T* getVec() { return room_.data(); }
  const T* getVec() const { return room_.data(); }

  T& operator[](std::size_t place) {
    must_be_kept("CkCompactVec", place);
    return room_[place - first_];
  }
  // Null where one is forgotten.
  const T& operator[](std::size_t place) const {
    periapt::check_index("CkCompactVec", place, length_);
    static const T null{};
    return place < first_ ? null : room_[place - first_];
  }

  int reserve(std::size_t length) {
    grow_to(length);
    return 1;
  }
  int resize(std::size_t length) {
    grow_to(length);
    length_ = length;
    return 1;
  }
  void growAtLeast(std::size_t place) {
    if (place >= first_ + room_.size()) grow_to(2 * place + 16);
  }
  void insert(std::size_t place, const T& element) {
    const T copy(element);  // it may be one of ours
    growAtLeast(place);
    if (place >= length_) length_ = place + 1;
    must_be_kept("CkCompactVec::insert", place);
    room_[place - first_] = copy;
  }
  void insertAtEnd(const T& element) { insert(length_, element); }
  void push_back(const T& element) { insert(length_, element); }
  std::size_t push_back_v(const T& element) {
    insert(length_, element);
    return length_ - 1;
  }
  // Those behind it come one place nearer.
  void remove(std::size_t place) {
    if (place < first_ || place >= length_)
      periapt::index_out_of_bounds("CkCompactVec::remove", place, length_, first_);
    room_.erase(room_.begin() + static_cast<std::ptrdiff_t>(place - first_));
    --length_;
    nulls_ = 0;
  }
  // It is done with.
  void marknull(std::size_t place) {
    (*this)[place] = T();
    while (first_ + nulls_ < length_ && room_[nulls_] == T()) ++nulls_;
    if (nulls_ > 0 && nulls_ >= room_.size() / 4) shrink();
  }
  // Forgets what is null at the front.
  void shrink() {
    const auto first_used = std::find_if(room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(nulls_),
                                         [](const T& element) { return !(element == T()); });
    first_ += static_cast<std::size_t>(first_used - room_.begin());
    room_.erase(room_.begin(), first_used);
    nulls_ = 0;
  }
  void removeAll() { length_ = first_ = nulls_ = 0; }
  void clear() {
    removeAll();
    room_.clear();
  }
  void free() { clear(); }

  // Pups the length alone, and answers it.
  std::size_t pupbase(PUP::er& p) {
    std::size_t length = length_;
    p | length;
    if (p.isUnpacking()) resize(length);
    return length;
  }
  void pup(PUP::er& p) {
    if (!p.isUnpacking()) room_.resize(length_ - first_);
    p | length_;
    p | first_;
    p | nulls_;
    p | room_;
  }

 private:
  void must_be_kept(const char* what, std::size_t place) const {
    if (CMK_ERROR_CHECKING && (place < first_ || place >= length_))
      periapt::index_out_of_bounds(what, place, length_, first_);
  }
  void grow_to(std::size_t length) {
    if (length > first_ + room_.size()) room_.resize(length - first_);
  }

  std::vector<T> room_;     // from first_ on
  std::size_t first_ = 0;   // those before it are forgotten
  std::size_t nulls_ = 0;   // at the front of room_, as marknull() knows
  std::size_t length_ = 0;  // of all
};
