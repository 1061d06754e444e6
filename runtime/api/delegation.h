// Delegation: calls of a proxy go to a manager, a group of the program's own, which does with their messages what it
// likes. C++17: reached from charm++.h.
//
// A delegated proxy holds a number, which stands for a manager and its data in all of the process; copies of the proxy,
// and the proxies of its elements, hold the same. What has been numbered is kept.
#pragma once
#include "runtime/api/proxies.h"

// What a manager keeps with the proxies that are delegated to it.
class CkDelegateData {
 public:
  CkDelegateData() = default;
  CkDelegateData(const CkDelegateData&) = delete;
  CkDelegateData& operator=(const CkDelegateData&) = delete;
  virtual ~CkDelegateData() = default;
  void reset() { references_ = 0; }
  void ref() { ++references_; }
  void unref() {
    if (--references_ == 0) delete this;
  }

 private:
  int references_ = 0;
};

#define CK_DELCTOR_PARAM CkDelegateMgr *dTo, CkDelegateData *dPtr
#define CK_DELCTOR_ARGS dTo, dPtr
#define GROUP_SECTION_PROXY 1

// The base of managers. Each function gets one call, with its message, which it owns; those of this class send it to
// whom the proxy names.
class CkDelegateMgr : public Group {
 public:
  CkDelegateMgr() = default;
  explicit CkDelegateMgr(CkMigrateMessage* m) : Group(m) {}
  virtual void ChareSend(CkDelegateData* data, int ep, void* m, const CkChareID* c, int onPE);
  virtual void GroupSend(CkDelegateData* data, int ep, void* m, int onPE, CkGroupID g);
  virtual void GroupBroadcast(CkDelegateData* data, int ep, void* m, CkGroupID g);
  virtual void GroupSectionSend(CkDelegateData* data, int ep, void* m, int parts, CkSectionID* section);
  virtual void NodeGroupSend(CkDelegateData* data, int ep, void* m, int onNode, CkNodeGroupID g);
  virtual void NodeGroupBroadcast(CkDelegateData* data, int ep, void* m, CkNodeGroupID g);
  virtual void NodeGroupSectionSend(CkDelegateData* data, int ep, void* m, int parts, CkSectionID* section);
  virtual void ArrayCreate(CkDelegateData* data, int ep, void* m, const CkArrayIndex& index, int onPE, CkArrayID a);
  virtual void ArraySend(CkDelegateData* data, int ep, void* m, const CkArrayIndex& index, CkArrayID a);
  virtual void ArrayBroadcast(CkDelegateData* data, int ep, void* m, CkArrayID a);
  virtual void ArraySectionSend(CkDelegateData* data, int ep, void* m, int parts, CkSectionID* section, int opts);
  // A section proxy has been delegated to it.
  virtual void initDelegateMgr(CProxy* proxy, int opts = 0) {}
  virtual CkDelegateData* ckCopyDelegateData(CkDelegateData* data) {
    data->ref();
    return data;
  }
  // Of a proxy that travels: when unpacking, it makes the data anew.
  virtual CkDelegateData* DelegatePointerPup(PUP::er& p, CkDelegateData* data) { return data; }
};

namespace periapt {
// Calls of a delegated proxy, which its manager gets. False: it is not delegated.
bool delegate(const CProxy_Chare& proxy, int ep, void* message);
bool delegate(const CProxyElement_Group& proxy, int ep, void* message);
bool delegate(const CProxy_Group& proxy, int ep, void* message);
bool delegate(const CProxySection_Group& proxy, int ep, void* message);
bool delegate(const CProxyElement_NodeGroup& proxy, int ep, void* message);
bool delegate(const CProxy_NodeGroup& proxy, int ep, void* message);
bool delegate(const CProxyElement_ArrayBase& proxy, int ep, void* message);
bool delegate(const CProxy_ArrayBase& proxy, int ep, void* message);
bool delegate(const CProxySection_ArrayBase& proxy, int ep, void* message);
}  // namespace periapt
