// Priority and queueing of one call: the last, optional argument of every marshalled proxy method.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/chare/ids.h"

#define CK_QUEUEING_FIFO 2
#define CK_QUEUEING_LIFO 3
#define CK_QUEUEING_IFIFO 4
#define CK_QUEUEING_ILIFO 5
#define CK_QUEUEING_BFIFO 6
#define CK_QUEUEING_BLIFO 7
#define CK_QUEUEING_LFIFO 8
#define CK_QUEUEING_LLIFO 9

// A priority of any length: compared as a string of bits, a shorter one that is a prefix comes first.
class CkBitVector {
 public:
  typedef unsigned int prio_t;
  CkBitVector() = default;
  // `choice` out of `choices`: the smallest number of bits that tells them apart.
  CkBitVector(prio_t choice, prio_t choices) { Concat(CkBitVector().setChoice(choice, choices)); }
  CkBitVector& Concat(const CkBitVector& tail) {
    for (int i = 0; i < tail.usedBits; ++i) append(tail.bit(i));
    return *this;
  }
  CkBitVector& Set(const CkBitVector& o) { return *this = o; }
  CkBitVector& Clear() {
    usedBits = 0;
    data.clear();
    return *this;
  }
  int Length() const { return usedBits; }

  int usedBits = 0;
  std::vector<prio_t> data;  // most significant bit first

  void pup(PUP::er& p) {
    p | usedBits;
    int words = static_cast<int>(data.size());
    p | words;
    data.resize(words);
    PUParray(p, data.data(), words);
  }

 private:
  CkBitVector& setChoice(prio_t choice, prio_t choices) {
    int bits = 0;
    while (choices && (choices - 1) >> bits) ++bits;
    for (int i = bits - 1; i >= 0; --i) append((choice >> i) & 1);
    return *this;
  }
  bool bit(int i) const { return (data[i / 32] >> (31 - i % 32)) & 1; }
  void append(bool value) {
    if (usedBits % 32 == 0) data.push_back(0);
    if (value) data[usedBits / 32] |= 1u << (31 - usedBits % 32);
    ++usedBits;
  }
};

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
