// See entry_calls.h.
#include "runtime/face/entry_calls.h"

#include "runtime/api/invoke.h"
#include "runtime/api/proxies.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/registry/packing.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/process.h"

void CkSendMsg(int entry, void* message, const CkChareID* chare, int opts) {
  periapt::send_message(CProxy_Chare(*chare), entry, periapt::send_flags(opts), message);
}
void CkSendMsgBranch(int entry, void* message, int pe, CkGroupID group, int opts) {
  periapt::send_message(CProxyElement_Group(group, pe), entry, periapt::send_flags(opts), message);
}
void CkSendMsgNodeBranch(int entry, void* message, int node, CkGroupID group, int opts) {
  periapt::send_message(CProxyElement_NodeGroup(group, node), entry, periapt::send_flags(opts), message);
}
void CkBroadcastMsgBranch(int entry, void* message, CkGroupID group, int opts) {
  periapt::send_message(CProxy_Group(group), entry, periapt::send_flags(opts), message);
}
void CkBroadcastMsgNodeBranch(int entry, void* message, CkGroupID group, int opts) {
  periapt::send_message(CProxy_NodeGroup(group), entry, periapt::send_flags(opts), message);
}
void CkSendMsgArray(int entry, void* message, CkArrayID array, const CkArrayIndex& index, int opts) {
  periapt::send_message(CProxyElement_ArrayBase(array, index), entry, periapt::send_flags(opts), message);
}
void CkBroadcastMsgArray(int entry, void* message, CkArrayID array, int opts) {
  periapt::send_message(CProxy_ArrayBase(array), entry, periapt::send_flags(opts), message);
}
void CkBroadcastMsgSection(int entry, void* message, CkSectionID section, int opts) {
  periapt::send_message(CProxySection_ArrayBase(section), entry, periapt::send_flags(opts), message);
}
void CkSendMsgBranchMulti(int entry, void* message, CkGroupID group, int count, const int* pes, int opts) {
  periapt::send_message(periapt::listed(group, count, pes), entry, periapt::send_flags(opts), message);
}
void CkSendMsgBranchGroup(int entry, void* message, CkGroupID group, CmiGroup pes, int opts) {
  periapt::send_message(periapt::listed(group, pes), entry, periapt::send_flags(opts), message);
}

void CProxy_ArrayBase::ckBroadcast(void* message, int entry, int opts) const {
  periapt::send_message(*this, entry, periapt::send_flags(opts), message);
}
void CProxyElement_ArrayBase::ckSend(void* message, int entry, int opts) const {
  periapt::send_message(*this, entry, periapt::send_flags(opts), message);
}
void CProxySection_ArrayBase::ckSend(void* message, int entry, int opts) const {
  periapt::send_message(*this, entry, periapt::send_flags(opts), message);
}
void CProxy_ArrayBase::ckInsertIdx(void* message, int constructor, int onPe, const CkArrayIndex& index) const {
  periapt::insertElementMessage(CProxyElement_ArrayBase(array_, index), constructor, onPe, message);
}

void CkBroadcastWithinNode(int entry, void* payload, CkGroupID group, int) {
  periapt::Pe& pe = *periapt::Pe::current();
  periapt::Message message = periapt::Message::from_payload(payload);
  periapt::address(message, periapt::Target::group, entry, static_cast<std::uint32_t>(group.idx), 0);
  message->hops = 0;
  message->flags &= static_cast<std::uint8_t>(~(periapt::envelope_tree | periapt::envelope_expedited));
  if (!periapt::shareable_in_process(message)) periapt::pack(message);  // each member makes its own of it
  const int first = pe.process.first_pe();
  for (int to = first; to < first + pe.process.own_pes(); ++to) {
    periapt::note_created(pe, to, entry, message->size);
    pe.send(to, message.share());
  }
}
