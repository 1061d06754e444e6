// What programs call of sections beside their proxies' entries.
#include "base/fatal.h"
#include "runtime/api/proxies.h"
#include "runtime/sections/sections.h"

using periapt::PeObjects;

void CkGetSectionInfo(CkSectionInfo& section, void* message) {
  auto* base = static_cast<CkMcastBaseMsg*>(message);
  if (periapt::envelope_of(message)->size < sizeof(CkMcastBaseMsg) || !CkMcastBaseMsg::checkMagic(base) ||
      !base->_cookie.names_section())
    periapt::fatal("CkGetSectionInfo() of a message that brings no section", describe_running(*periapt::Pe::current()),
                   "its class does not derive from CkMcastBaseMsg first, or it was not multicast to a section",
                   "write `class M : public CkMcastBaseMsg, public CMessage_M`, and multicast it with a section proxy");
  const int next = section.is_of(base->_cookie) ? section.redNo : 0;
  section = base->_cookie;
  section.redNo = next;
}

void CkSectionID::pup(PUP::er& p) {
  p | _cookie;
  int n = static_cast<int>(_elems.size());
  p | n;
  _elems.resize(n);
  for (CkArrayIndex& e : _elems) p | e;
  n = static_cast<int>(pelist.size());
  p | n;
  pelist.resize(n);
  p(pelist.data(), pelist.size());
  p | bfactor;
}

namespace {
void pup_sections(PUP::er& p, std::vector<CkSectionID>& sections) {
  int n = static_cast<int>(sections.size());
  p | n;
  sections.resize(n);
  for (CkSectionID& section : sections) section.pup(p);
  if (!p.isUnpacking() || !p.isCheckpoint() || sections.empty() || !sections[0]._cookie.names_section()) return;
  // Its tree was of an earlier run: here it is another section of the same members.
  for (CkSectionID& section : sections) section._cookie = CkSectionInfo(section._cookie.aid);
  periapt::name_section(sections);
}
// Without a name: it is used once.
std::vector<CkSectionID> unnamed(const CkGroupID& group, const int* pes, int count) {
  return std::vector<CkSectionID>(1, CkSectionID(group, pes, count));
}
}  // namespace

CProxySection_Group periapt::listed(const CProxy_Group& group, int count, const int* pes) {
  return CProxySection_Group(unnamed(group.ckGetGroupID(), pes, count));
}
CProxySection_Group periapt::listed(const CProxy_Group& group, const CmiGroup& pes) {
  int count;
  int* list;
  CmiLookupGroup(pes, &count, &list);
  return listed(group, count, list);
}
void CProxySection_Group::pup(PUP::er& p) {
  CProxy_Group::pup(p);
  pup_sections(p, sections_);
}
void CProxySection_ArrayBase::pup(PUP::er& p) {
  CProxy_ArrayBase::pup(p);
  pup_sections(p, sections_);
}

void CProxySection_Group::setReductionClient(CkCallback* cb) const {
  PeObjects::current().sections->set_client(sections_, *cb);
}
void CProxySection_ArrayBase::setReductionClient(CkCallback* cb) const {
  PeObjects::current().sections->set_client(sections_, *cb);
}

namespace periapt {

// A section that is made before the run has PEs has no name, and none can use it.
void name_section(std::vector<CkSectionID>& parts) {
  if (Pe* pe = Pe::current(); pe && pe->objects) pe->objects->sections->name(parts);
}

void contribute_to_section(CkSectionInfo& cookie, std::size_t size, const void* data, CkReduction::reducerType type,
                           const CkCallback* callback, int user_flag) {
  chare::Contribution c;
  c.data = const_cast<void*>(data);
  c.size = size;
  c.user_flag = user_flag;
  PeObjects::current().sections->contribute(cookie, type, c, callback);
}

}  // namespace periapt
