// Maps: where the elements of an array are made, and which PE is home to an index (knows where the element is now).
// C++17: reached from charm++.h.
#pragma once
#include <unordered_map>

#include "runtime/api/array_options.h"
#include "runtime/api/proxies.h"

class CkArray;
class CkLocIterator;

// Base of a program's own maps: `group MyMap : CkArrayMap { entry MyMap(); };` and override procNum.
class CkArrayMap : public Group {
 public:
  CkArrayMap() = default;
  explicit CkArrayMap(CkMigrateMessage*) {}
  // Called on each PE when an array begins to use the map; what it returns is handed to procNum as arrayHdl.
  virtual int registerArray(const CkArrayIndex& numElements, CkArrayID array) { return 0; }
  virtual void unregisterArray(int arrayHdl) {}
  virtual void storeCkArrayOpts(const CkArrayOptions&) {}
  // The PE of an index. Must answer the same on every PE.
  virtual int procNum(int arrayHdl, const CkArrayIndex& index);
  virtual int homePe(int arrayHdl, const CkArrayIndex& index) { return procNum(arrayHdl, index); }
  // Makes the first elements that belong on this PE: each index of the options that procNum puts here; another map may
  // make others, also where the options name none.
  virtual void populateInitial(int arrayHdl, CkArrayOptions& options, void* ctorMsg, CkArray* manager);
};

class CkIndex_CkArrayMap : public CkIndex_Group {
 public:
  typedef CkArrayMap local_t;
  static int __idx;
};
class CProxyElement_CkArrayMap : public CProxyElement_Group {
 public:
  using CProxyElement_Group::CProxyElement_Group;
  CProxyElement_CkArrayMap() = default;
  CkArrayMap* ckLocalBranch() const;
};
class CProxy_CkArrayMap : public CProxy_Group {
 public:
  typedef CkArrayMap local_t;
  typedef CkIndex_CkArrayMap index_t;
  typedef CProxy_CkArrayMap proxy_t;
  typedef CProxyElement_CkArrayMap element_t;
  using CProxy_Group::CProxy_Group;
  CProxy_CkArrayMap() = default;
  CkArrayMap* ckLocalBranch() const;
};
class CProxySection_CkArrayMap : public CProxySection_Group {
 public:
  using CProxySection_Group::CProxySection_Group;
  CProxySection_CkArrayMap() = default;
};

class CMessage_CkArrayCreatedMsg {
 public:
  static int __idx;
};
// What ckNew(..., CkCallback) of an array delivers.
class CkArrayCreatedMsg : public CkMessage {
 public:
  CkArrayID aid;
  explicit CkArrayCreatedMsg(CkArrayID array) : aid(array) {}
  void* operator new(std::size_t size) { return CkAllocMsg(CMessage_CkArrayCreatedMsg::__idx, size, 0); }
  void operator delete(void* message) { CkFreeMsg(message); }
};

// The manager of an array on this PE, as programs see it.
class CkArray {
 public:
  explicit CkArray(periapt::ArrayManager& manager) : manager_(manager) {}
  // From populateInitial: makes an element here. Owns ctorMsg.
  void insertInitial(const CkArrayIndex& index, void* ctorMsg);
  // From populateInitial of an array that begins empty: no others follow on this PE.
  void doneInserting();
  // As the proxy's: reductions wait on every PE for elements still to come, until doneInserting() of the proxy.
  void beginInserting();
  // What the proxy's calls do on each PE, on this PE alone.
  void remoteDoneInserting() { doneInserting(); }
  void remoteBeginInserting();
  std::size_t getNumLocalElems() const;
  // Of an element that is here; else null.
  ArrayElement* lookup(const CkArrayIndex& index) const;
  ArrayElement* lookup(CmiUInt8 id) const;
  // The record of an element that is here, or of one that is bound to it; else null. It stays when the element has
  // gone, to say so.
  CkLocRec* elementNrec(CmiUInt8 id) const;
  CkArrayIndex getNumInitial() const;
  // On this PE only. It hears of what happens from here on; the array owns it.
  void addListener(CkArrayListener* listener);
  int homePe(const CkArrayIndex& index) const;
  int procNum(const CkArrayIndex& index) const;
  int lastKnown(const CkArrayIndex& index) const;
  int whichPe(const CkArrayIndex& index) const;  // as lastKnown(), but -1 where this PE has heard nothing of it
  bool isHome(const CkArrayIndex& index) const { return homePe(index) == CmiMyPe(); }
  // The number that stands for an index, and back: of an element that is here, or a number that holds its index, as
  // those of small indices do.
  CmiUInt8 lookupID(const CkArrayIndex& index) const;
  bool lookupID(const CkArrayIndex& index, CmiUInt8& id) const {
    id = lookupID(index);
    return true;
  }
  CkArrayIndex lookupIdx(const CmiUInt8& id) const;
  CkArrayID getArrayID() const;
  CkGroupID getGroupID() const { return getArrayID(); }
  CkGroupID ckGetGroupID() const { return getArrayID(); }
  CkGroupID CkGetGroupID() const { return getArrayID(); }
  CkArray* getLocMgr() { return this; }
  // Shows each place where this PE has an element of the array, or of one that is bound to it.
  void iterate(CkLocIterator& visitor);
  std::size_t numLocalElements() const { return getNumLocalElems(); }
  periapt::ArrayManager& manager() { return manager_; }

 private:
  periapt::ArrayManager& manager_;
  mutable std::unordered_map<CmiUInt8, CkLocRec> records_;  // that were asked for
};
typedef CkArray CkLocMgr;
