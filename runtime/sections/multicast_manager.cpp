// See multicast_manager.h.
#include "runtime/sections/multicast_manager.h"

#include "runtime/api/invoke.h"
#include "runtime/api/reduction_message.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/sections/sections.h"

int CkIndex_CkMulticastMgr::__idx = 0, CkIndex_CkMulticastMgr::ep_constructor = 0;

namespace {
void construct(periapt::Delivery& call, void* object) {
  periapt::Unmarshal in(call);
  periapt::Arg<int> branching(in);
  new (object) CkMulticastMgr(branching.move());
}
void construct_migrated(periapt::Delivery&, void* object) { periapt::migrationConstruct<CkMulticastMgr>(object); }

// Lives as long as the section.
struct Client {
  redClientFn fn;
  void* param;
  CkSectionInfo section;
  static void call(void* self, void* message) {
    auto* client = static_cast<Client*>(self);
    auto* m = static_cast<CkReductionMsg*>(message);
    client->section.redNo = m->getRedNo();
    client->fn(client->section, client->param, m->getSize(), m->getData());
    CkFreeMsg(message);
  }
};
}  // namespace

void CkMulticastMgr::register_class() {
  using Index = CkIndex_CkMulticastMgr;
  Index::__idx = CkRegisterChare("CkMulticastMgr", sizeof(CkMulticastMgr), TypeGroup);
  Index::ep_constructor = CkRegisterEp("CkMulticastMgr(int branching)", construct, CkMarshallMsg::__idx, Index::__idx,
                                       periapt::ep_marshalled | periapt::ep_constructor);
  CkRegisterMigCtor(Index::__idx, CkRegisterEp("CkMulticastMgr(CkMigrateMessage*)", construct_migrated, 0, Index::__idx,
                                               periapt::ep_constructor));
}

CkGroupID CProxy_CkMulticastMgr::ckNew(int branching, unsigned int, unsigned int, const CkEntryOptions* options) {
  return periapt::newGroup(index_t::__idx, index_t::ep_constructor, options, branching);
}
CkMulticastMgr* CProxy_CkMulticastMgr::ckLocalBranch() const {
  return static_cast<CkMulticastMgr*>(periapt::localBranch(*this));
}
CkMulticastMgr* CProxyElement_CkMulticastMgr::ckLocalBranch() const {
  return static_cast<CkMulticastMgr*>(periapt::localBranch(*this));
}

// The section's tree does what the manager is for: the proxy is not delegated.
void CkMulticastMgr::initDelegateMgr(CProxy* proxy, int opts) {
  const auto take = [this](CkSectionID& part) {
    if (part.bfactor == USE_DEFAULT_BRANCH_FACTOR) part.bfactor = branching_;
  };
  proxy->ckUndelegate();
  if (opts == GROUP_SECTION_PROXY) {
    auto* section = static_cast<CProxySection_Group*>(proxy);
    for (int i = 0; i < section->ckGetNumSections(); ++i) take(section->ckGetSectionID(i));
  } else {
    auto* section = static_cast<CProxySection_ArrayBase*>(proxy);
    for (int i = 0; i < section->ckGetNumSubSections(); ++i) take(section->ckGetSectionID(i));
  }
}

void CkMulticastMgr::setSection(CkSectionInfo& id, CkArrayID array, const CkArrayIndex* elements, int count,
                                int factor) {
  std::vector<CkSectionID> parts(1, CkSectionID(array, elements, count, factor));
  periapt::PeObjects::current().sections->name_and_keep(parts);
  id = parts[0]._cookie;
}

void CkMulticastMgr::setReductionClient(CProxySection_ArrayBase& proxy, redClientFn fn, void* param) {
  CkCallback cb(Client::call, new Client{fn, param, proxy.ckGetSectionInfo()});
  proxy.setReductionClient(&cb);
}
