// What balancers of the old school keep their objects and processors in: records with a load, heaps and sets of
// pointers to them (elements.h, ckheap.h, ckset.h). None of them owns a record. C++17.
#pragma once
#include <algorithm>
#include <cstddef>
#include <list>
#include <vector>

#include "base/cmk.h"

class InfoRecord {
 public:
  double load;
  int Id;
};

// A set by address, the newest first.
class Iterator {
 public:
  std::list<InfoRecord*>::const_iterator next;
};
class Set {
 public:
  void insert(InfoRecord* record) {
    if (!find(record)) records_.push_front(record);
  }
  int find(InfoRecord* record) const { return std::find(records_.begin(), records_.end(), record) != records_.end(); }
  void remove(InfoRecord* record) { records_.remove(record); }
  int numElements() const { return static_cast<int>(records_.size()); }
  // The first; each next() one more, and null behind the last.
  InfoRecord* iterator(Iterator* at) const {
    at->next = records_.begin();
    return next(at);
  }
  InfoRecord* next(Iterator* at) const { return at->next == records_.end() ? nullptr : *at->next++; }

 private:
  std::list<InfoRecord*> records_;
};

class computeInfo : public InfoRecord {
 public:
  CmiUInt8 id;
  int processor;
  int oldProcessor;
  bool migratable;
};
class processorInfo : public InfoRecord {
 public:
  double backgroundLoad;
  double computeLoad;
  double pe_speed;
  double utilization;
  bool available;
  Set* computeSet;
};

// Heaps by load, which have a constant number of places in Charm++ and grow here.
class heapIterator {
 public:
  int next;
};
namespace periapt::loadbalance {
template <bool heavy_first>
class RecordHeap {
 public:
  explicit RecordHeap(int size) { records_.reserve(static_cast<std::size_t>(size)); }
  int numElements() const { return static_cast<int>(records_.size()); }
  int insert(InfoRecord* record) {
    records_.push_back(record);
    std::push_heap(records_.begin(), records_.end(), later);
    return 0;
  }
  // In no order that means anything. Null behind the last.
  InfoRecord* iterator(heapIterator* at) const {
    at->next = 0;
    return next(at);
  }
  InfoRecord* next(heapIterator* at) const { return at->next == numElements() ? nullptr : records_[at->next++]; }

 protected:
  InfoRecord* take() {
    if (records_.empty()) return nullptr;
    std::pop_heap(records_.begin(), records_.end(), later);
    InfoRecord* record = records_.back();
    records_.pop_back();
    return record;
  }
  void order() { std::make_heap(records_.begin(), records_.end(), later); }

 private:
  static bool later(const InfoRecord* a, const InfoRecord* b) {
    return heavy_first ? a->load < b->load : a->load > b->load;
  }
  std::vector<InfoRecord*> records_;
};
}  // namespace periapt::loadbalance

class minHeap : public periapt::loadbalance::RecordHeap<false> {
 public:
  using RecordHeap::RecordHeap;
  InfoRecord* deleteMin() { return take(); }  // null: it is empty
  void update(InfoRecord*) { order(); }       // its load has changed
};
class maxHeap : public periapt::loadbalance::RecordHeap<true> {
 public:
  using RecordHeap::RecordHeap;
  InfoRecord* deleteMax() { return take(); }
};
