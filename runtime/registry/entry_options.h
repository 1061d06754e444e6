// Priority and queueing of one call: the last, optional argument of every marshalled proxy method.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/containers/bit_vector.h"
#include "runtime/registry/ids.h"

#define CK_QUEUEING_FIFO 2
#define CK_QUEUEING_LIFO 3
#define CK_QUEUEING_IFIFO 4
#define CK_QUEUEING_ILIFO 5
#define CK_QUEUEING_BFIFO 6
#define CK_QUEUEING_BLIFO 7
#define CK_QUEUEING_LFIFO 8
#define CK_QUEUEING_LLIFO 9

class CkEntryOptions {
 public:
  typedef unsigned int prio_t;
  CkEntryOptions() = default;
  CkEntryOptions(const CkEntryOptions&) = delete;
  CkEntryOptions& operator=(const CkEntryOptions&) = delete;

  CkEntryOptions& setPriority(prio_t priority) {
    queueing_ = CK_QUEUEING_IFIFO;
    bits_ = 32;
    words_.assign(1, priority);
    return *this;
  }
  CkEntryOptions& setPriority(int bits, const prio_t* words) {
    queueing_ = CK_QUEUEING_BFIFO;
    bits_ = bits;
    words_.assign(words, words + (bits + 31) / 32);
    return *this;
  }
  CkEntryOptions& setPriority(const CkBitVector& bits) { return setPriority(bits.usedBits, bits.data.data()); }
  CkEntryOptions& setQueueing(int queueing) {
    queueing_ = queueing;
    return *this;
  }
  CkEntryOptions& setGroupDepID(const CkGroupID& group) {
    dependencies_.assign(1, group);
    return *this;
  }
  CkEntryOptions& addGroupDepID(const CkGroupID& group) {
    dependencies_.push_back(group);
    return *this;
  }
  int getQueueing() const { return queueing_; }
  int getPriorityBits() const { return bits_; }
  const prio_t* getPriorityPtr() const { return words_.data(); }
  int getGroupDepSize() const { return static_cast<int>(dependencies_.size()); }
  int getGroupDepNum() const { return getGroupDepSize(); }
  CkGroupID getGroupDepID() const { return dependencies_.empty() ? CkGroupID() : dependencies_[0]; }
  CkGroupID getGroupDepID(int i) const { return dependencies_[i]; }

 private:
  int queueing_ = CK_QUEUEING_FIFO;
  int bits_ = 0;
  std::vector<prio_t> words_;
  std::vector<CkGroupID> dependencies_;
};
