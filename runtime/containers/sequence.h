// CkSequence: a set of integers in ascending order, kept as strided runs. C++17: reached from cksequence.h.
//
//   CkSequence<int> s(v.begin(), v.end());  s.Insert(7);  s.Remove(3);  s.DoneInserting();
//   for (CkSequence<int>::iterator i = s.begin(); i != s.end(); ++i) use(*i);
//
// Elements are collected in a sorted list; DoneInserting() turns it into runs (start, stride, count), so that the
// indices of a dense or regular array take a few words whatever their number. Nothing can be inserted afterwards.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/fatal.h"
#include "runtime/pup/stl.h"

template <class T>
class CkSequence {
  struct Run {
    T start;
    T stride;
    std::size_t count;
    T at(std::size_t i) const { return static_cast<T>(start + stride * static_cast<T>(i)); }
    void pup(PUP::er& p) {
      p | start;
      p | stride;
      p | count;
    }
  };

 public:
  // Valid until the sequence changes.
  class iterator {
   public:
    typedef std::forward_iterator_tag iterator_category;
    typedef T value_type;
    typedef std::ptrdiff_t difference_type;
    typedef const T* pointer;
    typedef T reference;
    iterator() = default;
    T operator*() const { return runs_ ? (*runs_)[outer_].at(inner_) : (*elements_)[outer_]; }
    iterator& operator++() {
      if (!runs_ || ++inner_ == (*runs_)[outer_].count) {
        ++outer_;
        inner_ = 0;
      }
      return *this;
    }
    iterator operator++(int) {
      iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const iterator& other) const { return outer_ == other.outer_ && inner_ == other.inner_; }
    bool operator!=(const iterator& other) const { return !(*this == other); }

   private:
    friend class CkSequence;
    const std::vector<T>* elements_ = nullptr;
    const std::vector<Run>* runs_ = nullptr;
    std::size_t outer_ = 0;  // element, or run
    std::size_t inner_ = 0;  // within the run
  };

  CkSequence() = default;
  template <class Iterator>
  CkSequence(Iterator begin, Iterator end) {
    Insert(begin, end);
  }

  // Replaces all elements.
  template <class Iterator>
  void Insert(Iterator begin, Iterator end) {
    elements_.assign(begin, end);
    runs_.clear();
    compact_ = false;
    sorted_ = false;
  }
  void Insert(const T& element) {
    must_be_open();
    sorted_ = sorted_ && (elements_.empty() || elements_.back() < element);
    elements_.push_back(element);
  }
  void Remove(const T& element) {
    must_be_open();
    sort();
    auto found = std::lower_bound(elements_.begin(), elements_.end(), element);
    if (found != elements_.end() && *found == element) elements_.erase(found);
  }
  void DoneInserting() {
    if (compact_) return;
    sort();
    // A run goes on as long as the stride stays; two elements alone may be any run, so it starts anew with the third.
    for (std::size_t i = 0; i < elements_.size();) {
      Run run = {elements_[i], T(1), 1};
      if (i + 1 < elements_.size()) run.stride = static_cast<T>(elements_[i + 1] - elements_[i]);
      while (i + run.count < elements_.size() && elements_[i + run.count] == run.at(run.count)) ++run.count;
      if (run.count == 2 && i + 2 < elements_.size()) run.count = 1;
      runs_.push_back(run);
      i += run.count;
    }
    std::vector<T>().swap(elements_);
    runs_.shrink_to_fit();
    compact_ = true;
  }

  int num_elements() {
    if (!compact_) {
      sort();
      return static_cast<int>(elements_.size());
    }
    std::size_t sum = 0;
    for (const Run& run : runs_) sum += run.count;
    return static_cast<int>(sum);
  }
  // Bytes taken by the elements.
  int mem_size() const { return static_cast<int>(elements_.size() * sizeof(T) + runs_.size() * sizeof(Run)); }

  iterator begin() {
    sort();
    return position(0);
  }
  iterator end() {
    sort();
    return position(compact_ ? runs_.size() : elements_.size());
  }

  void pup(PUP::er& p) {
    p | compact_;
    p | sorted_;
    p | elements_;
    p | runs_;
  }

 private:
  iterator position(std::size_t outer) const {
    iterator i;
    i.elements_ = &elements_;
    i.runs_ = compact_ ? &runs_ : nullptr;
    i.outer_ = outer;
    return i;
  }
  void sort() {
    if (sorted_) return;
    std::sort(elements_.begin(), elements_.end());
    elements_.erase(std::unique(elements_.begin(), elements_.end()), elements_.end());
    sorted_ = true;
  }
  void must_be_open() const {
    if (compact_) {
      periapt::fatal("a CkSequence was changed after DoneInserting()", "CkSequence::Insert or Remove",
                     "its elements are kept as runs from then on", "insert everything first");
    }
  }

  std::vector<T> elements_;  // until DoneInserting()
  std::vector<Run> runs_;    // from then on
  bool compact_ = false;
  bool sorted_ = true;
};
