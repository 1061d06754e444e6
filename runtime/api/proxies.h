// The bases of the generated proxies: small values that name the receiver of calls. C++17: reached from charm++.h.
//
//   CProxy_Chare                                  one chare
//   CProxy_Group      CProxyElement_Group         all members; the one on a PE
//   CProxy_NodeGroup  CProxyElement_NodeGroup     all members; the one of a process
//   CProxy_ArrayBase  CProxyElement_ArrayBase     all elements; one
//   CProxySection_*                               some
#pragma once
#include <vector>

#include "runtime/api/array_options.h"
#include "runtime/api/objects.h"
#include "runtime/api/sections.h"
#include "runtime/converse/converse.h"

class CkDelegateMgr;

class CkDelegateData;

class CProxy {
 public:
  // Calls go to a manager instead (runtime/api/delegation.h). The data belong to the proxy and its copies.
  void ckDelegate(CkDelegateMgr* to, CkDelegateData* data = nullptr);
  void ckDelegate(CkGroupID to);
  void ckUndelegate() { delegation_ = 0; }
  int ckIsDelegated() const { return delegation_ != 0; }
  CkDelegateMgr* ckDelegatedTo() const;
  CkDelegateData* ckDelegatedPtr() const;
  CkGroupID ckDelegatedIdx() const;
  void pup(PUP::er& p);

  // An element's calls go where those of its collection go.
  void ckDelegateLike(const CProxy& whole) { delegation_ = whole.delegation_; }

 private:
  std::int32_t delegation_ = 0;  // number of the manager and its data; 0: none
};

class CProxy_Chare : public CProxy {
 public:
  CProxy_Chare() = default;
  CProxy_Chare(const CkChareID& id) : id_(id) {}
  CProxy_Chare(const Chare* chare) : id_(chare->ckGetChareID()) {}
  const CkChareID& ckGetChareID() const { return id_; }
  operator const CkChareID&() const { return id_; }
  void ckSetChareID(const CkChareID& id) { id_ = id; }
  // Ends the run where the proxy was never set; so for other kinds.
  void ckCheck() const;
  bool operator==(const CProxy_Chare& o) const { return id_ == o.id_; }
  void pup(PUP::er& p) {
    CProxy::pup(p);
    p | id_;
  }

 private:
  CkChareID id_;
};

typedef void (*CkReductionClientFn)(void* param, int size, void* data);

namespace periapt {
// What proxies of groups and of node groups have in common; `Whole` is the class of the proxy itself.
template <class Whole>
class GroupProxy : public CProxy {
 public:
  GroupProxy() = default;
  GroupProxy(CkGroupID group) : group_(group) {}
  GroupProxy(const IrrGroup* g) : group_(g->ckGetGroupID()) {}
  CkGroupID ckGetGroupID() const { return group_; }
  operator CkGroupID() const { return group_; }
  // The handle of the member on this PE, also while that is still coming: its thishandle. Of a node group, that of its
  // process's branch, called from this PE; the branch's own thishandle names the PE that has made it.
  CkChareID ckGetChareID() const;
  void ckSetGroupID(CkGroupID group) { group_ = group; }
  void ckCheck() const;
  bool operator==(const Whole& o) const { return group_ == o.ckGetGroupID(); }
  bool operator!=(const Whole& o) const { return group_ != o.ckGetGroupID(); }
  // Either becomes the other: said for the two, none is in doubt.
  bool operator==(const CkGroupID& o) const { return group_ == o; }
  bool operator!=(const CkGroupID& o) const { return group_ != o; }
  void ckSetReductionClient(CkCallback* cb) const;
  void setReductionClient(CkReductionClientFn fn, void* param = nullptr) const;
  void ckSetReductionClient(CkReductionClientFn fn, void* param = nullptr) const { setReductionClient(fn, param); }
  void pup(PUP::er& p) {
    CProxy::pup(p);
    p | group_;
  }

 private:
  CkGroupID group_;
};

// Of one member: its PE, or its process where it is a node group's.
template <class Whole>
class MemberProxy : public Whole {
 public:
  MemberProxy() = default;
  MemberProxy(CkGroupID group, int place) : Whole(group), place_(place) {}
  MemberProxy(const IrrGroup* g);
  int ckGetGroupPe() const { return place_; }
  bool operator==(const MemberProxy& o) const { return this->ckGetGroupID() == o.ckGetGroupID() && place_ == o.place_; }
  bool operator!=(const MemberProxy& o) const { return !(*this == o); }
  void pup(PUP::er& p) {
    Whole::pup(p);
    p | place_;
  }

 private:
  int place_ = -1;
};
}  // namespace periapt

class CProxy_Group : public periapt::GroupProxy<CProxy_Group> {
 public:
  using periapt::GroupProxy<CProxy_Group>::GroupProxy;
  CProxy_Group() = default;
};
class CProxyElement_Group : public periapt::MemberProxy<CProxy_Group> {
 public:
  using periapt::MemberProxy<CProxy_Group>::MemberProxy;
  CProxyElement_Group() = default;
};
class CProxySection_Group : public CProxy_Group {
 public:
  CProxySection_Group() = default;
  CProxySection_Group(const CkGroupID& group, const int* pes, int count, int factor = 0)
      : CProxy_Group(group), sections_(1, CkSectionID(group, pes, count, factor)) {
    periapt::name_section(sections_);
  }
  CProxySection_Group(const CkGroupID& group, const std::vector<int>& pes, int factor = 0)
      : CProxySection_Group(group, pes.data(), static_cast<int>(pes.size()), factor) {}
  static CkSectionID ckNew(const CkGroupID& group, const int* pes, int count, int factor = USE_DEFAULT_BRANCH_FACTOR) {
    return CkSectionID(group, pes, count, factor);
  }
  static CkSectionID ckNew(const CkGroupID& group, const std::vector<int>& pes,
                           int factor = USE_DEFAULT_BRANCH_FACTOR) {
    return CkSectionID(group, pes, factor);
  }
  CProxySection_Group(const CkSectionID& section) : CProxy_Group(section.get_aid()), sections_(1, section) {
    periapt::name_section(sections_);
  }
  // Members of several groups.
  CProxySection_Group(int n, const CkGroupID* groups, int const* const* pes, const int* counts, int factor = 0)
      : CProxy_Group(groups[0]) {
    for (int i = 0; i < n; ++i) sections_.emplace_back(groups[i], pes[i], counts[i], factor);
    periapt::name_section(sections_);
  }
  CProxySection_Group(const IrrGroup* g) : CProxy_Group(g) {}
  // As they are: what has no name gets none.
  explicit CProxySection_Group(std::vector<CkSectionID>&& parts)
      : CProxy_Group(parts[0].get_aid()), sections_(std::move(parts)) {}
  int ckGetNumSections() const { return static_cast<int>(sections_.size()); }
  CkSectionID& ckGetSectionID(int i = 0) { return sections_[i]; }
  const CkSectionID& ckGetSectionID(int i = 0) const { return sections_[i]; }
  CkSectionID* ckGetSectionIDs() { return sections_.data(); }
  const std::vector<CkSectionID>& ckGetParts() const { return sections_; }
  CkSectionInfo& ckGetSectionInfo() { return sections_[0]._cookie; }
  CkGroupID ckGetGroupIDn(int i) const { return sections_[i]._cookie.get_aid(); }
  int ckGetBfactor() const { return sections_[0].bfactor; }
  PERIAPT_SECTION_CONTRIBUTE(static)
  void setReductionClient(CkCallback* cb) const;
  using CProxy_Group::setReductionClient;
  void ckSectionDelegate(CkDelegateMgr* manager, int opts = 1);
  const int* ckGetElements(int i = 0) const { return sections_[i].pelist.data(); }
  int ckGetNumElements(int i = 0) const { return static_cast<int>(sections_[i].pelist.size()); }
  void pup(PUP::er& p);

 private:
  std::vector<CkSectionID> sections_;
};

namespace periapt {
// The members that `group.method(arguments, n, pes)` and `group.method(arguments, CmiGroup)` call.
CProxySection_Group listed(const CProxy_Group& group, int count, const int* pes);
CProxySection_Group listed(const CProxy_Group& group, const CmiGroup& pes);
}  // namespace periapt
PUPbytes(CmiGroup)

    class CProxy_NodeGroup : public periapt::GroupProxy<CProxy_NodeGroup> {
 public:
  using periapt::GroupProxy<CProxy_NodeGroup>::GroupProxy;
  CProxy_NodeGroup() = default;
};
class CProxyElement_NodeGroup : public periapt::MemberProxy<CProxy_NodeGroup> {
 public:
  using periapt::MemberProxy<CProxy_NodeGroup>::MemberProxy;
  CProxyElement_NodeGroup() = default;
};

namespace periapt {
// In these the two differ.
template <>
void GroupProxy<CProxy_Group>::ckCheck() const;
template <>
void GroupProxy<CProxy_NodeGroup>::ckCheck() const;
template <>
void GroupProxy<CProxy_Group>::ckSetReductionClient(CkCallback* cb) const;
template <>
void GroupProxy<CProxy_NodeGroup>::ckSetReductionClient(CkCallback* cb) const;
template <>
MemberProxy<CProxy_Group>::MemberProxy(const IrrGroup* g);
template <>
MemberProxy<CProxy_NodeGroup>::MemberProxy(const IrrGroup* g);
extern template void GroupProxy<CProxy_Group>::setReductionClient(CkReductionClientFn fn, void* param) const;
extern template void GroupProxy<CProxy_NodeGroup>::setReductionClient(CkReductionClientFn fn, void* param) const;
extern template CkChareID GroupProxy<CProxy_Group>::ckGetChareID() const;
extern template CkChareID GroupProxy<CProxy_NodeGroup>::ckGetChareID() const;
}  // namespace periapt
typedef CProxySection_Group CProxySection_NodeGroup;
typedef CProxy_Group CProxy_IrrGroup;
typedef CProxyElement_Group CProxyElement_IrrGroup;
typedef CProxySection_Group CProxySection_IrrGroup;

class CProxy_ArrayBase : public CProxy {
 public:
  CProxy_ArrayBase() = default;
  CProxy_ArrayBase(const CkArrayID& array) : array_(array) {}
  CProxy_ArrayBase(const ArrayElement* e) : array_(e->ckGetArrayID()) {}
  CkArrayID ckGetArrayID() const { return array_; }
  operator CkArrayID() const { return array_; }
  void ckCheck() const;
  CkArray* ckLocalBranch() const { return array_.ckLocalBranch(); }
  CkArray* ckLocalBranchOther(int rank) const { return array_.ckLocalBranchOther(rank); }
  bool operator==(const CProxy_ArrayBase& o) const { return array_ == o.array_; }
  bool operator!=(const CProxy_ArrayBase& o) const { return array_ != o.array_; }
  unsigned int numLocalElements() const;
  // Dynamic insertion: between beginInserting() and doneInserting() reductions wait for elements still to come.
  void beginInserting();
  void doneInserting();
  // Destroys all elements that the array has when this comes to them; new ones may be inserted behind it.
  void ckDestroy() const;
  CkArray* ckLocMgr() const { return ckLocalBranch(); }
  // An array, made by the number of its elements' constructor. Owns the message.
  static CkArrayID ckCreateArray(CkArrayMessage* message, int constructor, const CkArrayOptions& options);
  // Calls by the number of an entry (runtime/face/entry_calls.h). They own the message.
  void ckBroadcast(void* message, int entry, int opts = 0) const;
  void ckInsertIdx(void* message, int constructor, int onPe, const CkArrayIndex& index) const;
  void ckSetReductionClient(CkCallback* cb) const;
  void setReductionClient(CkReductionClientFn fn, void* param = nullptr) const;
  void ckSetReductionClient(CkReductionClientFn fn, void* param = nullptr) const { setReductionClient(fn, param); }
  void pup(PUP::er& p) {
    CProxy::pup(p);
    p | array_;
  }

 private:
  CkArrayID array_;
};
typedef CProxy_ArrayBase CProxy_ArrayElement;

// The managers of an array, which is its location manager too: for ckLocalBranch() alone.
class CProxy_CkArray : public CProxy_Group {
 public:
  using CProxy_Group::CProxy_Group;
  CProxy_CkArray() = default;
  CkArray* ckLocalBranch() const { return CkArrayID(ckGetGroupID()).ckLocalBranch(); }
  static CkArray* ckLocalBranch(CkGroupID array) { return CkArrayID(array).ckLocalBranch(); }
};
typedef CProxy_CkArray CProxy_CkLocMgr;

class CProxyElement_ArrayBase : public CProxy_ArrayBase {
 public:
  CProxyElement_ArrayBase() = default;
  CProxyElement_ArrayBase(const CkArrayID& array, const CkArrayIndex& index)
      : CProxy_ArrayBase(array), id_(periapt::chare::compact_id(index)), index_(index) {}
  CProxyElement_ArrayBase(const ArrayElement* e)
      : CProxy_ArrayBase(e), id_(e->ckGetID()), index_(e->ckGetArrayIndex()) {}
  const CkArrayIndex& ckGetIndex() const { return index_; }
  // 0 when the index is too large to be an id
  std::uint64_t ckGetID() const { return id_; }
  bool operator==(const CProxyElement_ArrayBase& o) const {
    return ckGetArrayID() == o.ckGetArrayID() && index_ == o.index_;
  }
  bool operator!=(const CProxyElement_ArrayBase& o) const { return !(*this == o); }
  ArrayElement* ckLocal() const;
  void ckDestroy() const;
  void ckEmigrate(int toPe) const;
  void ckSend(void* message, int entry, int opts = 0) const;
  // Calls a [sync] entry and waits, in a thread, for its answer, which the caller owns. Owns the message.
  void* ckSendSync(CkArrayMessage* message, int entry) const;
  void ckInsert(void* message, int constructor, int onPe) const { ckInsertIdx(message, constructor, onPe, index_); }
  void pup(PUP::er& p) {
    CProxy_ArrayBase::pup(p);
    p | id_;
    p | index_;
  }

 private:
  std::uint64_t id_ = 0;
  CkArrayIndex index_;
};
typedef CProxyElement_ArrayBase CProxyElement_ArrayElement;

class CProxySection_ArrayBase : public CProxy_ArrayBase {
 public:
  CProxySection_ArrayBase() = default;
  CProxySection_ArrayBase(const CkArrayID& array, const CkArrayIndex* elements, int count, int factor = 0)
      : CProxy_ArrayBase(array), sections_(1, CkSectionID(array, elements, count, factor)) {
    periapt::name_section(sections_);
  }
  CProxySection_ArrayBase(const CkArrayID& array, const std::vector<CkArrayIndex>& elements, int factor = 0)
      : CProxy_ArrayBase(array), sections_(1, CkSectionID(array, elements, factor)) {
    periapt::name_section(sections_);
  }
  // As they are.
  explicit CProxySection_ArrayBase(std::vector<CkSectionID>&& parts)
      : CProxy_ArrayBase(parts[0].get_aid()), sections_(std::move(parts)) {}
  CProxySection_ArrayBase(const CkSectionID& section)
      : CProxy_ArrayBase(section._cookie.get_aid()), sections_(1, section) {
    periapt::name_section(sections_);
  }
  CProxySection_ArrayBase(const std::vector<CkArrayID>& arrays, const std::vector<std::vector<CkArrayIndex>>& elements,
                          int factor = 0);
  CProxySection_ArrayBase(int n, const CkArrayID* arrays, CkArrayIndex const* const* elements, const int* counts,
                          int factor = 0);
  int ckGetNumSubSections() const { return static_cast<int>(sections_.size()); }
  CkSectionID* ckGetSectionIDs() { return sections_.data(); }
  CkSectionID& ckGetSectionID(int i = 0) { return sections_[i]; }
  const CkSectionID& ckGetSectionID(int i = 0) const { return sections_[i]; }
  const std::vector<CkSectionID>& ckGetParts() const { return sections_; }
  CkSectionInfo& ckGetSectionInfo() { return sections_[0]._cookie; }
  int ckGetBfactor() const { return sections_[0].bfactor; }
  PERIAPT_SECTION_CONTRIBUTE(static)
  // Gets the results of reductions whose contributions name no callback.
  void setReductionClient(CkCallback* cb) const;
  using CProxy_ArrayBase::setReductionClient;
  // Nothing is to be done when the section is used from another PE than where it was made.
  void resetSection() {}
  void ckSectionDelegate(CkDelegateMgr* manager, int opts = 1);
  void ckAutoDelegate(int = 1) {}
  CkArrayID ckGetArrayIDn(int i) const { return sections_[i]._cookie.get_aid(); }
  CkArrayIndex* ckGetArrayElements(int i = 0) const { return const_cast<CkArrayIndex*>(sections_[i]._elems.data()); }
  int ckGetNumElements(int i = 0) const { return static_cast<int>(sections_[i]._elems.size()); }
  void ckDestroy() const;  // the elements of the section
  void ckSend(void* message, int entry, int opts = 0) const;
  void pup(PUP::er& p);

 private:
  std::vector<CkSectionID> sections_;
};
typedef CProxySection_ArrayBase CProxySection_ArrayElement;

namespace periapt {
// Proxies of classes with several bases are several proxies: those are not delegated.
template <class Element, class Whole>
Element elementOf(const Whole& whole, Element element) {
  if constexpr (std::is_convertible<Element*, CProxy*>::value &&
                std::is_convertible<const Whole*, const CProxy*>::value)
    element.ckDelegateLike(whole);
  return element;
}
}  // namespace periapt

// Indices of the runtime's own bases, for generated classes to derive from.
class CkIndex_Chare {
 public:
  static int __idx;
};
class CkIndex_Group {
 public:
  static int __idx;
};
typedef CkIndex_Group CkIndex_IrrGroup;
class CkIndex_NodeGroup {
 public:
  static int __idx;
};
class CkIndex_ArrayBase {
 public:
  static int __idx;
};
class CkIndex_ArrayElement {
 public:
  static int __idx;
  static int ep_ckDestroy;
  static int ckDestroy() { return ep_ckDestroy; }
};
