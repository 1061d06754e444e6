// See entry_calls.h.
#include "runtime/face/entry_calls.h"

#include "runtime/api/invoke.h"
#include "runtime/api/proxies.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/registry/packing.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/process.h"

void CkSendMsg(int entry, void* message, const CkChareID* chare, int) {
  periapt::send_message(CProxy_Chare(*chare), entry, 0, message);
}
void CkSendMsgBranch(int entry, void* message, int pe, CkGroupID group, int) {
  periapt::send_message(CProxyElement_Group(group, pe), entry, 0, message);
}
void CkSendMsgNodeBranch(int entry, void* message, int node, CkGroupID group, int) {
  periapt::send_message(CProxyElement_NodeGroup(group, node), entry, 0, message);
}
void CkBroadcastMsgBranch(int entry, void* message, CkGroupID group, int) {
  periapt::send_message(CProxy_Group(group), entry, 0, message);
}
void CkBroadcastMsgNodeBranch(int entry, void* message, CkGroupID group, int) {
  periapt::send_message(CProxy_NodeGroup(group), entry, 0, message);
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
