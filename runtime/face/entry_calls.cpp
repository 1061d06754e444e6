// See entry_calls.h.
#include "runtime/face/entry_calls.h"

#include <string>

#include "base/fatal.h"
#include "runtime/api/ck_future.h"
#include "runtime/api/invoke.h"
#include "runtime/api/proxies.h"
#include "runtime/face/startup.h"
#include "runtime/objects/member_handle.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/registry/packing.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/process.h"

namespace {
std::string class_in_words(int type) {
  const auto& chares = periapt::registry().chares;
  const bool is_known = type >= 0 && static_cast<std::size_t>(type) < chares.size();
  return std::to_string(type) + " is " + (is_known ? chares[static_cast<std::size_t>(type)].name : "no class");
}
// Ends the run where a class's number and an entry's do not say what to make.
void check_made(const char* caller, const char* kind, ChareType wanted, int type, int constructor) {
  const auto& chares = periapt::registry().chares;
  const auto& entries = periapt::registry().entries;
  const bool is_entry = constructor > 0 && static_cast<std::size_t>(constructor) < entries.size() &&
                        entries[static_cast<std::size_t>(constructor)].target != periapt::Target::runtime;
  if (is_entry && type == entries[static_cast<std::size_t>(constructor)].chare) {
    const ChareType is = chares[static_cast<std::size_t>(type)].type;
    if (is == wanted || (is == TypeMainChare && wanted == TypeChare)) return;
  }
  std::string why = "class " + class_in_words(type) + ", and entry " + std::to_string(constructor) + " is ";
  if (is_entry)
    why += periapt::entry_name(constructor) + std::string(" of ") + periapt::chare_name_of_entry(constructor);
  else
    why += "none";
  periapt::fatal(std::string(caller) + "() is given numbers that are not those of " + kind + " and its constructor",
                 periapt::Pe::current() ? periapt::describe_running(*periapt::Pe::current()) : "", why,
                 "give it what CkRegisterChare() and CkRegisterEp() have answered");
}
}  // namespace

void CkCreateChare(int type, int constructor, void* message, CkChareID* chare, int pe) {
  check_made("CkCreateChare", "a chare", TypeChare, type, constructor);
  const CkChareID made = periapt::newChareMessage(type, constructor, pe, message);
  if (chare) *chare = made;
}
CkGroupID CkCreateGroup(int type, int constructor, void* message) {
  check_made("CkCreateGroup", "a group", TypeGroup, type, constructor);
  return periapt::newGroupMessage(type, constructor, message);
}
CkGroupID CkCreateNodeGroup(int type, int constructor, void* message) {
  check_made("CkCreateNodeGroup", "a node group", TypeNodeGroup, type, constructor);
  return periapt::newNodeGroupMessage(type, constructor, message);
}
CkArrayID CProxy_ArrayBase::ckCreateArray(CkArrayMessage* message, int constructor, const CkArrayOptions& options) {
  const auto& entries = periapt::registry().entries;
  const bool is_known = constructor >= 0 && static_cast<std::size_t>(constructor) < entries.size();
  const int type = is_known ? entries[static_cast<std::size_t>(constructor)].chare : -1;
  check_made("ckCreateArray", "an element", TypeArray, type, constructor);
  return periapt::newArrayMessage(type, constructor, options, message);
}

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
// A message that is sent belongs to the one that gets it.
void CkSendMsgNodeBranchMulti(int entry, void* message, CkGroupID group, int count, const int* nodes, int opts) {
  for (int i = 0; i < count; ++i)
    CkSendMsgNodeBranch(entry, i + 1 < count ? CkCopyMsg(&message) : message, nodes[i], group, opts);
  if (count == 0) CkFreeMsg(message);
}

void CkSendMsgInline(int entry, void* message, const CkChareID* chare, int opts) {
  if (periapt::names_member(*chare)) {
    const CkGroupID group = periapt::group_of_member(*chare);
    if (periapt::entry_info(entry).target == periapt::Target::node_group)
      return CkSendMsgNodeBranchInline(entry, message, CkNodeOf(chare->onPE), group, opts);
    return CkSendMsgBranchInline(entry, message, chare->onPE, group, opts);
  }
  periapt::PeObjects& objects = periapt::PeObjects::current();
  const periapt::ChareRecord* record =
      chare->onPE == objects.pe.index ? objects.find_chare_record(chare->serial) : nullptr;
  if (!record || !record->object) return CkSendMsg(entry, message, chare, opts);
  objects.run_now(entry, periapt::object_for_entry(record->type, entry, record->object), message,
                  periapt::ThreadOwner::of_chare(chare->serial));
}
void CkSendMsgBranchInline(int entry, void* message, int pe, CkGroupID group, int opts) {
  periapt::PeObjects& objects = periapt::PeObjects::current();
  const periapt::GroupRecord* record = pe == objects.pe.index ? objects.find_group(group.idx) : nullptr;
  if (!record || !record->object) return CkSendMsgBranch(entry, message, pe, group, opts);
  objects.run_now(entry, periapt::object_for_entry(record->type, entry, record->object), message, {});
}
void CkSendMsgArrayInline(int entry, void* message, CkArrayID array, const CkArrayIndex& index, int opts) {
  const CProxyElement_ArrayBase proxy(array, index);
  void* const object = periapt::local_object(proxy);
  if (!object) return CkSendMsgArray(entry, message, array, index, opts);
  periapt::PeObjects& objects = periapt::PeObjects::current();
  const int type = objects.find_group(array.index())->type;
  objects.run_now(entry, periapt::object_for_entry(type, entry, object), message,
                  periapt::ThreadOwner::of(proxy.ckLocal()));
}
// Another PE may be in an [exclusive] entry, which such a call waits for. Where a base lies at an offset, its member's
// address is known where calls are delivered.
void CkSendMsgNodeBranchInline(int entry, void* message, int node, CkGroupID group, int opts) {
  void* const object = node == CkMyNode() ? CkLocalNodeBranch(group) : nullptr;
  if (!object || periapt::bases_have_offsets || periapt::entry_info(entry).flags & periapt::ep_exclusive)
    return CkSendMsgNodeBranch(entry, message, node, group, opts);
  periapt::PeObjects::current().run_now(entry, object, message, {});
}

void CkDeliverMessageFree(int entry, void* message, void* object) {
  periapt::PeObjects::current().run_now(entry, object, message, {});
}
void CkDeliverMessageReadonly(int entry, const void* message, void* object) {
  void* original = const_cast<void*>(message);
  void* const copy = CkCopyMsg(&original);
  if (original != message)
    periapt::fatal("CkDeliverMessageReadonly() cannot leave the caller its message",
                   periapt::describe_running(*periapt::Pe::current()),
                   "to copy it, it was packed and unpacked, and it is at another address now",
                   "let pack() and unpack() of its class answer what they are given, or give the message away with "
                   "CkDeliverMessageFree()");
  CkDeliverMessageFree(entry, copy, object);
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
  periapt::Message message = periapt::given_away(payload);
  periapt::address(message, periapt::Target::group, entry, static_cast<std::uint32_t>(group.idx), 0);
  message->hops = 0;
  message->flags &= static_cast<std::uint8_t>(~periapt::envelope_expedited);
  if (!periapt::shareable_in_process(message)) periapt::pack(message);  // each member makes its own of it
  const int first = pe.process.first_pe();
  for (int to = first; to < first + pe.process.own_pes(); ++to) {
    periapt::note_created(pe, to, entry, message->size);
    pe.send(to, message.share());
  }
}

CkFutureID CkRemoteCallAsync(int entry, void* message, const CkChareID* chare) {
  const CkFutureID future = CkCreateAttachedFuture(message);
  CkSendMsg(entry, message, chare);
  return future;
}
CkFutureID CkRemoteBranchCallAsync(int entry, void* message, CkGroupID group, int pe) {
  const CkFutureID future = CkCreateAttachedFuture(message);
  CkSendMsgBranch(entry, message, pe, group);
  return future;
}
CkFutureID CkRemoteNodeBranchCallAsync(int entry, void* message, CkGroupID group, int node) {
  const CkFutureID future = CkCreateAttachedFuture(message);
  CkSendMsgNodeBranch(entry, message, node, group);
  return future;
}
CkFutureID CkCreateAttachedFutureSend(void* message, int entry, CkArrayID array, CkArrayIndex index,
                                      void (*send)(CkArrayID, CkArrayIndex, void*, int, int), int) {
  const CkFutureID future = CkCreateAttachedFuture(message);
  send(array, index, message, entry, 0);
  return future;
}

void* CProxyElement_ArrayBase::ckSendSync(CkArrayMessage* message, int entry) const {
  const CkFutureID future = CkCreateAttachedFuture(message);
  ckSend(message, entry);
  return CkWaitReleaseFuture(future);
}

void CkPrintEntryMethod(int entry) { CkPrintf("%s", periapt::entry_name(entry)); }
void CkPrintChareName(int chare) {
  const auto& chares = periapt::registry().chares;
  const bool known = chare >= 0 && static_cast<std::size_t>(chare) < chares.size();
  CkPrintf("%s", known ? chares[static_cast<std::size_t>(chare)].name : "(no chare)");
}
