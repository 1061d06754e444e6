// CkMulticastMgr, as programs know it. Sections have trees without one; it gives its branching factor to those that are
// delegated to it, and has functions for their reductions. C++17: reached from ckmulticast.h.
#pragma once
#include "runtime/api/delegation.h"

typedef void (*redClientFn)(CkSectionInfo section, void* param, int size, void* data);

class CkMulticastMgr : public CkDelegateMgr {
 public:
  explicit CkMulticastMgr(int branching = USE_DEFAULT_BRANCH_FACTOR, unsigned int = 0, unsigned int = 0)
      : branching_(branching) {}
  explicit CkMulticastMgr(CkMigrateMessage* m) : CkDelegateMgr(m) {}
  static void register_class();
  void pup(PUP::er& p) override { p | branching_; }

  void initDelegateMgr(CProxy* proxy, int opts = 0) override;
  PERIAPT_SECTION_CONTRIBUTE()
  void setReductionClient(CProxySection_ArrayBase& proxy, CkCallback* cb) { proxy.setReductionClient(cb); }
  void setReductionClient(CProxySection_ArrayBase& proxy, redClientFn fn, void* param = nullptr);
  void setReductionClient(CProxySection_Group& proxy, CkCallback* cb) { proxy.setReductionClient(cb); }
  // Nothing is to be done when the section is used from another PE than where it was made.
  void resetSection(CProxySection_ArrayBase&) {}
  void rebuild(CkSectionInfo&) {}
  // Nor when it is made.
  void setSection(CkSectionInfo&) {}
  // A section by its cookie alone: what is multicast with that goes to these elements, whatever list the proxy has.
  // This PE is the root of its tree, and keeps the members.
  void setSection(CkSectionInfo& id, CkArrayID array, const CkArrayIndex* elements, int count) {
    setSection(id, array, elements, count, branching_);
  }
  void setSection(CkSectionInfo& id, CkArrayID array, const CkArrayIndex* elements, int count, int factor);
  void setSection(CProxySection_ArrayBase&) {}

 private:
  int branching_ = USE_DEFAULT_BRANCH_FACTOR;
};

class CkIndex_CkMulticastMgr : public CkIndex_Group {
 public:
  static int __idx;
  static int ep_constructor;
};
class CProxyElement_CkMulticastMgr : public CProxyElement_Group {
 public:
  using CProxyElement_Group::CProxyElement_Group;
  CProxyElement_CkMulticastMgr() = default;
  CkMulticastMgr* ckLocalBranch() const;
};
class CProxy_CkMulticastMgr : public CProxy_Group {
 public:
  typedef CkMulticastMgr local_t;
  typedef CkIndex_CkMulticastMgr index_t;
  typedef CProxy_CkMulticastMgr proxy_t;
  typedef CProxyElement_CkMulticastMgr element_t;
  using CProxy_Group::CProxy_Group;
  CProxy_CkMulticastMgr() = default;
  CkMulticastMgr* ckLocalBranch() const;
  static CkMulticastMgr* ckLocalBranch(CkGroupID id) { return CProxy_CkMulticastMgr(id).ckLocalBranch(); }
  CProxyElement_CkMulticastMgr operator[](int pe) const { return CProxyElement_CkMulticastMgr(ckGetGroupID(), pe); }
  // The last two are Charm++'s: messages are not cut into pieces here.
  static CkGroupID ckNew(int branching = USE_DEFAULT_BRANCH_FACTOR, unsigned int = 0, unsigned int = 0,
                         const CkEntryOptions* options = nullptr);
};

inline void _registerCkMulticast() {}
