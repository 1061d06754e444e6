// Names of parallel objects: small values that can be copied into a message. C++17: reached from charm++.h.
#pragma once
#include <cstdint>

#include "runtime/pup/pup.h"

// A group, or the group of managers of an array. Groups made on PE 0 count up from 1; those made elsewhere are negative
// and hold their maker. 0 is no group.
struct CkGroupID {
  int idx = 0;
  bool isZero() const { return idx == 0; }
  void setZero() { idx = 0; }
  bool operator==(const CkGroupID& o) const { return idx == o.idx; }
  bool operator!=(const CkGroupID& o) const { return idx != o.idx; }
  bool operator<(const CkGroupID& o) const { return idx < o.idx; }
};
PUPbytes(CkGroupID) typedef CkGroupID CkNodeGroupID;
typedef CkGroupID CkLocMgrID;

class CkArray;

class CkArrayID {
  CkGroupID group_;

 public:
  CkArrayID() = default;
  CkArrayID(CkGroupID group) : group_(group) {}
  operator CkGroupID() const { return group_; }
  CkArray* ckLocalBranch() const;
  static CkArray* CkLocalBranch(CkArrayID array) { return array.ckLocalBranch(); }
  // On another PE of this process: see startup.h.
  CkArray* ckLocalBranchOther(int rank) const;
  static CkArray* CkLocalBranchOther(CkArrayID array, int rank) { return array.ckLocalBranchOther(rank); }
  bool isZero() const { return group_.isZero(); }
  void setZero() { group_.setZero(); }
  bool operator==(const CkArrayID& o) const { return group_ == o.group_; }
  bool operator!=(const CkArrayID& o) const { return group_ != o.group_; }
  // Proxies compare with both, and each becomes the other: said for the two, none is in doubt.
  friend bool operator==(const CkArrayID& a, const CkGroupID& b) { return a.group_ == b; }
  friend bool operator==(const CkGroupID& a, const CkArrayID& b) { return a == b.group_; }
  friend bool operator!=(const CkArrayID& a, const CkGroupID& b) { return a.group_ != b; }
  friend bool operator!=(const CkGroupID& a, const CkArrayID& b) { return a != b.group_; }
  int index() const { return group_.idx; }
  template <class Er>
  void pup(Er& p) {
    p | group_;
  }
};
PUPbytes(CkArrayID)

    // An element of an array: which array, and its number in it. It may be taken for the number.
    namespace ck {
  class ObjID {
   public:
    ObjID() = default;
    ObjID(CkGroupID collection, std::uint64_t element) : collection_(collection), element_(element) {}
    CkGroupID getCollectionID() const { return collection_; }
    std::uint64_t getElementID() const { return element_; }
    std::uint64_t getID() const { return element_; }
    operator std::uint64_t() const { return element_; }
    bool operator==(const ObjID& o) const { return collection_ == o.collection_ && element_ == o.element_; }
    bool operator!=(const ObjID& o) const { return !(*this == o); }

   private:
    CkGroupID collection_;
    std::uint64_t element_ = 0;
  };
}
PUPbytes(ck::ObjID)

    // A single chare: the PE it was made for and a number given by its maker (which is part of the number).
    struct CkChareID {
  int onPE = -1;
  union {
    std::uint64_t serial = 0;
    void* objPtr;  // the number as programs look at it: null where it is none, and never to be followed
  };
  bool operator==(const CkChareID& o) const { return onPE == o.onPE && serial == o.serial; }
  bool operator!=(const CkChareID& o) const { return !(*this == o); }
};
PUPbytes(CkChareID)

    // How many groups must exist before a message may be delivered (CkEntryOptions::setGroupDepID).
    struct GroupDepNum {
  int groupDepNum;
  explicit GroupDepNum(int n = 0) : groupDepNum(n) {}
  operator int() const { return groupDepNum; }
};

enum ChareType { TypeInvalid = 0, TypeChare, TypeMainChare, TypeGroup, TypeNodeGroup, TypeArray };

#define CK_PE_ALL (-1)
#define CK_PE_ALL_BUT_ME (-2)
#define CK_PE_ANY (-3)
#define CK_PE_INVALID (-4)
