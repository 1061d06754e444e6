// See runtime/api/delegation.h.
#include "runtime/api/delegation.h"

#include <deque>
#include <mutex>

#include "base/fatal.h"
#include "runtime/api/invoke.h"
#include "runtime/objects/node_groups.h"
#include "runtime/objects/pe_objects.h"

namespace periapt {

namespace {
struct Delegation {
  CkGroupID manager;
  bool node_group = false;
  CkDelegateData* data = nullptr;
  bool operator==(const Delegation& o) const {
    return manager == o.manager && node_group == o.node_group && data == o.data;
  }
};
// Of the process: proxies that are readonlys are used by all of its PEs.
struct Delegations {
  std::mutex mutex;
  std::deque<Delegation> all;

  std::int32_t number_of(const Delegation& wanted) {
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i] == wanted) return static_cast<std::int32_t>(i + 1);
    all.push_back(wanted);
    return static_cast<std::int32_t>(all.size());
  }
  Delegation get(std::int32_t number) {
    const std::lock_guard lock(mutex);
    return all[static_cast<std::size_t>(number - 1)];
  }
};
Delegations& delegations() {
  static Delegations the;
  return the;
}
CkDelegateMgr* manager_of(const Delegation& delegation) {
  if (delegation.node_group) return static_cast<CkDelegateMgr*>(local_node_branch(delegation.manager));
  GroupRecord* record = PeObjects::current().find_group(delegation.manager.idx);
  return record ? static_cast<CkDelegateMgr*>(record->base) : nullptr;
}

// function(manager, data) for a delegated proxy.
template <class Function>
bool with_manager(const CProxy& proxy, int ep, Function&& function) {
  if (!proxy.ckIsDelegated()) [[likely]]
    return false;
  CkDelegateMgr* manager = proxy.ckDelegatedTo();
  if (!manager)
    fatal("a delegated proxy is used where its manager is not made yet", describe_running(*Pe::current()),
          std::string("the call is of ") + entry_name(ep),
          "make the manager's group in the mainchare's constructor, or delegate the proxy when the group is there");
  function(manager, proxy.ckDelegatedPtr());
  return true;
}
}  // namespace

bool delegate(const CProxy_Chare& proxy, int ep, void* message) {
  return with_manager(proxy, ep, [&](CkDelegateMgr* manager, CkDelegateData* data) {
    const CkChareID id = proxy.ckGetChareID();
    manager->ChareSend(data, ep, message, &id, id.onPE);
  });
}
bool delegate(const CProxyElement_Group& proxy, int ep, void* message) {
  return with_manager(proxy, ep, [&](CkDelegateMgr* manager, CkDelegateData* data) {
    manager->GroupSend(data, ep, message, proxy.ckGetGroupPe(), proxy.ckGetGroupID());
  });
}
bool delegate(const CProxy_Group& proxy, int ep, void* message) {
  return with_manager(proxy, ep, [&](CkDelegateMgr* manager, CkDelegateData* data) {
    manager->GroupBroadcast(data, ep, message, proxy.ckGetGroupID());
  });
}
bool delegate(const CProxySection_Group& proxy, int ep, void* message) {
  return with_manager(proxy, ep, [&](CkDelegateMgr* manager, CkDelegateData* data) {
    std::vector<CkSectionID> parts = proxy.ckGetParts();
    if (entry_info(ep).target == Target::node_group)
      return manager->NodeGroupSectionSend(data, ep, message, static_cast<int>(parts.size()), parts.data());
    manager->GroupSectionSend(data, ep, message, static_cast<int>(parts.size()), parts.data());
  });
}
bool delegate(const CProxyElement_NodeGroup& proxy, int ep, void* message) {
  return with_manager(proxy, ep, [&](CkDelegateMgr* manager, CkDelegateData* data) {
    manager->NodeGroupSend(data, ep, message, proxy.ckGetGroupPe(), proxy.ckGetGroupID());
  });
}
bool delegate(const CProxy_NodeGroup& proxy, int ep, void* message) {
  return with_manager(proxy, ep, [&](CkDelegateMgr* manager, CkDelegateData* data) {
    manager->NodeGroupBroadcast(data, ep, message, proxy.ckGetGroupID());
  });
}
bool delegate(const CProxyElement_ArrayBase& proxy, int ep, void* message) {
  return with_manager(proxy, ep, [&](CkDelegateMgr* manager, CkDelegateData* data) {
    manager->ArraySend(data, ep, message, proxy.ckGetIndex(), proxy.ckGetArrayID());
  });
}
bool delegate(const CProxy_ArrayBase& proxy, int ep, void* message) {
  return with_manager(proxy, ep, [&](CkDelegateMgr* manager, CkDelegateData* data) {
    manager->ArrayBroadcast(data, ep, message, proxy.ckGetArrayID());
  });
}
bool delegate(const CProxySection_ArrayBase& proxy, int ep, void* message) {
  return with_manager(proxy, ep, [&](CkDelegateMgr* manager, CkDelegateData* data) {
    std::vector<CkSectionID> parts = proxy.ckGetParts();
    manager->ArraySectionSend(data, ep, message, static_cast<int>(parts.size()), parts.data(), 0);
  });
}

}  // namespace periapt

using periapt::Delegation;
using periapt::delegations;
using periapt::send_message;

void CProxy::ckDelegate(CkDelegateMgr* to, CkDelegateData* data) {
  if (data) data->ref();
  delegation_ = delegations().number_of({to->ckGetGroupID(), to->isNodeGroup(), data});
}
void CProxy::ckDelegate(CkGroupID to) { delegation_ = delegations().number_of({to, false, nullptr}); }
CkDelegateMgr* CProxy::ckDelegatedTo() const {
  return delegation_ ? manager_of(delegations().get(delegation_)) : nullptr;
}
CkDelegateData* CProxy::ckDelegatedPtr() const { return delegation_ ? delegations().get(delegation_).data : nullptr; }
CkGroupID CProxy::ckDelegatedIdx() const { return delegation_ ? delegations().get(delegation_).manager : CkGroupID(); }

// The data travel as far as the manager is there to pack and unpack them.
void CProxy::pup(PUP::er& p) {
  Delegation delegation;
  if (delegation_ && !p.isUnpacking()) delegation = delegations().get(delegation_);
  p | delegation.manager;
  if (delegation.manager.isZero()) {
    delegation_ = 0;
    return;
  }
  p | delegation.node_group;
  if (CkDelegateMgr* manager = manager_of(delegation)) {
    CkDelegateData* data = manager->DelegatePointerPup(p, delegation.data);
    if (p.isUnpacking()) {
      delegation.data = data;
      if (data) data->ref();
    }
  }
  if (p.isUnpacking()) delegation_ = delegations().number_of(delegation);
}

void CProxySection_Group::ckSectionDelegate(CkDelegateMgr* manager, int) {
  ckDelegate(manager);
  manager->initDelegateMgr(this, GROUP_SECTION_PROXY);
}
void CProxySection_ArrayBase::ckSectionDelegate(CkDelegateMgr* manager, int opts) {
  ckDelegate(manager);
  if (opts == 1) manager->initDelegateMgr(this);
}

// --- what managers do that do nothing else ---------------------------------------------------------------------------

namespace {
template <class Proxy>
Proxy section_of(int parts, const CkSectionID* section) {
  return Proxy(std::vector<CkSectionID>(section, section + parts));
}
}  // namespace

void CkDelegateMgr::ChareSend(CkDelegateData*, int ep, void* m, const CkChareID* c, int) {
  send_message(CProxy_Chare(*c), ep, 0, m);
}
void CkDelegateMgr::GroupSend(CkDelegateData*, int ep, void* m, int pe, CkGroupID g) {
  send_message(CProxyElement_Group(g, pe), ep, 0, m);
}
void CkDelegateMgr::GroupBroadcast(CkDelegateData*, int ep, void* m, CkGroupID g) {
  send_message(CProxy_Group(g), ep, 0, m);
}
void CkDelegateMgr::GroupSectionSend(CkDelegateData*, int ep, void* m, int parts, CkSectionID* section) {
  send_message(section_of<CProxySection_Group>(parts, section), ep, 0, m);
}
void CkDelegateMgr::NodeGroupSend(CkDelegateData*, int ep, void* m, int node, CkNodeGroupID g) {
  send_message(CProxyElement_NodeGroup(g, node), ep, 0, m);
}
void CkDelegateMgr::NodeGroupBroadcast(CkDelegateData*, int ep, void* m, CkNodeGroupID g) {
  send_message(CProxy_NodeGroup(g), ep, 0, m);
}
void CkDelegateMgr::NodeGroupSectionSend(CkDelegateData*, int ep, void* m, int parts, CkSectionID* section) {
  send_message(section_of<CProxySection_NodeGroup>(parts, section), ep, 0, m);
}
void CkDelegateMgr::ArrayCreate(CkDelegateData*, int ep, void* m, const CkArrayIndex& index, int pe, CkArrayID a) {
  periapt::insert_element(CProxyElement_ArrayBase(a, index), ep, pe, m);
}
void CkDelegateMgr::ArraySend(CkDelegateData*, int ep, void* m, const CkArrayIndex& index, CkArrayID a) {
  send_message(CProxyElement_ArrayBase(a, index), ep, 0, m);
}
void CkDelegateMgr::ArrayBroadcast(CkDelegateData*, int ep, void* m, CkArrayID a) {
  send_message(CProxy_ArrayBase(a), ep, 0, m);
}
void CkDelegateMgr::ArraySectionSend(CkDelegateData*, int ep, void* m, int parts, CkSectionID* section, int) {
  send_message(section_of<CProxySection_ArrayBase>(parts, section), ep, 0, m);
}
