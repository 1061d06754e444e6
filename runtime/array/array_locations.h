// The places of an array's elements on one PE as programs see them, and the end of elements by a call of their array.
// C++17: reached from charm++.h.
//
//   struct Count : CkLocIterator {
//     int n = 0;
//     void addLocation(CkLocation&) override { ++n; }
//   } count;
//   proxy.ckLocMgr()->iterate(count);
#pragma once
#include "runtime/api/array_map.h"

// One index of an array that has an element here, with those of arrays that are bound to it.
class CkLocation {
 public:
  CkLocation(CkLocMgr& manager, std::uint64_t id, const CkArrayIndex& index)
      : manager_(manager), id_(id), index_(index) {}
  CkLocation(CkLocMgr* manager, CkLocRec* record) : CkLocation(*manager, record->getID(), record->getIndex()) {}
  CkLocMgr* getManager() const { return &manager_; }
  const CkArrayIndex& getIndex() const { return index_; }
  CmiUInt8 getID() const { return id_; }
  // Of an element here; null once it has gone.
  CkLocRec* getLocalRecord() const { return manager_.elementNrec(id_); }
  // Calls ckDestroy() of each element.
  void destroyAll();
  // Pups the elements where they are, one after the other.
  void pup(PUP::er& p);

 private:
  CkLocMgr& manager_;
  const std::uint64_t id_;
  const CkArrayIndex index_;
};

class CkLocIterator {
 public:
  virtual ~CkLocIterator() = default;
  virtual void addLocation(CkLocation& location) = 0;
};

namespace periapt {
void register_array_locations();
}
