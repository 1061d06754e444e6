// What proxies and the generated code call: the receiver is found, and the call or message sent.
#include <utility>

#include "base/fatal.h"
#include "runtime/api/delegation.h"
#include "runtime/array/array_manager.h"
#include "runtime/objects/member_handle.h"
#include "runtime/objects/node_groups.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/scheduler/broadcast_tree.h"
#include "runtime/scheduler/process.h"
#include "runtime/sections/sections.h"

namespace periapt {

void* local_branch(CkGroupID id) {
  GroupRecord* record = PeObjects::current().find_group(id.idx);
  if (!record) return nullptr;
  return record->object ? record->object : record->object_in_construction;
}
void* local_node_branch(CkGroupID id) { return node_groups().find(id.idx); }
// By number alone: one that came as a seed is not where its maker's handle says.
void* local_chare(const CkChareID& chare) { return PeObjects::current().find_chare(chare.serial); }
void* localMember(const CProxyElement_Group& proxy) {
  return proxy.ckGetGroupPe() == Pe::current()->index ? local_branch(proxy.ckGetGroupID()) : nullptr;
}
void* localMember(const CProxyElement_NodeGroup& proxy) {
  return proxy.ckGetGroupPe() == Process::current()->rank() ? local_node_branch(proxy.ckGetGroupID()) : nullptr;
}

namespace {
Message addressed(void* payload, Target target, int ep, unsigned send, std::uint32_t collection,
                  std::uint64_t element) {
  Message message = given_away(payload);
  address(message, target, ep, collection, element);
  message->hops = 0;
  message->flags &= static_cast<std::uint8_t>(~envelope_expedited);
  if (send & send_expedited) message->flags |= envelope_expedited;
  if (send & send_immediate) message->flags |= envelope_immediate;
  return message;
}
// A group of processes or PEs must have been made before it is used.
void check_group(CkGroupID id, int ep) {
  if (!id.isZero()) [[likely]]
    return;
  fatal("a group proxy is used that was never set", describe_running(*Pe::current()),
        std::string("the call is of ") + chare_name_of_entry(ep) + "::" + entry_name(ep),
        "give it a group with ckNew() or an assignment first; a readonly is set in the mainchare's constructor");
}
bool is_pe(const Process& process, int pe) { return static_cast<unsigned>(pe) < static_cast<unsigned>(process.pes()); }
// Which PE of a process takes a call to a node group: each in turn; but those [exclusive] ones that a PE makes always
// the same, so that they come in its order. They cannot run at once anyway. In its own process it is another PE, which
// may run them before the calling entry ends.
std::uint64_t turn_of(Pe& pe, int ep) {
  return entry_info(ep).flags & ep_exclusive ? static_cast<std::uint64_t>(pe.index) + 1 : pe.objects->round_robin++;
}
int pe_at_turn(Pe& pe, int node, std::uint64_t turn) {
  const bootstrap::Process& process = pe.process.layout().processes[node];
  return process.first_pe + static_cast<int>(turn % static_cast<std::uint64_t>(process.pes));
}
int pe_of_node(Pe& pe, int node, int ep) {
  if (node < 0 || node >= pe.process.count()) bad_pe(node, "process", ep);
  return pe_at_turn(pe, node, turn_of(pe, ep));
}
// Expedited calls are messages, because their urgency is in the envelope, and so is the PE that a call comes from.
bool inline_fits(unsigned send) { return (send & ~send_together) == 0; }
}  // namespace

void send_call(const CProxyElement_Group& proxy, int ep, unsigned send, const void* arguments, unsigned length) {
  Pe& pe = *Pe::current();
  check_group(proxy.ckGetGroupID(), ep);
  const int to = proxy.ckGetGroupPe();
  if (!inline_fits(send) || proxy.ckIsDelegated())
    return send_message(proxy, ep, send,
                        payload_of(message_of_call(Target::group, ep, 0, 0, arguments, length).release()));
  if (!is_pe(pe.process, to)) bad_pe(to, "PE", ep);
  note_created(pe, to, ep, length, proxy.ckGetGroupID().idx);
  pe.send_call(to, call_meta(static_cast<std::uint16_t>(ep), proxy.ckGetGroupID().idx, length), 0, arguments,
               Pe::Counting::yes, send & send_together);
}

OpenCall open_call(const CProxyElement_Group& proxy, int ep, unsigned length, bool together) {
  Pe& pe = *Pe::current();
  const int to = proxy.ckGetGroupPe();
  if (!is_pe(pe.process, to) || proxy.ckIsDelegated()) return {};
  note_created(pe, to, ep, length, proxy.ckGetGroupID().idx);
  const std::uint64_t meta = call_meta(static_cast<std::uint16_t>(ep), proxy.ckGetGroupID().idx, length);
  return pe.reserve(to, meta, 0, Pe::Counting::yes, together);
}
// An element without a compact id has to be named whole.
OpenCall open_call(const CProxyElement_ArrayBase& proxy, int ep, unsigned length, bool together) {
  Pe& pe = *Pe::current();
  ArrayManager* array = find_array(*pe.objects, proxy.ckGetArrayID());
  const std::uint64_t id = proxy.ckGetID();
  if (!array || !chare::is_compact_id(id) || proxy.ckIsDelegated()) [[unlikely]]
    return {};
  const int to = array->locate(id, proxy.ckGetIndex());
  array->note_created(id, to, ep, length);
  const auto collection = static_cast<std::uint32_t>(proxy.ckGetArrayID().index());
  return pe.reserve(to, call_meta(static_cast<std::uint16_t>(ep), collection, length), id, Pe::Counting::yes, together);
}
OpenCall open_call(const CProxy_Chare& proxy, int ep, unsigned length, bool) {
  Pe& pe = *Pe::current();
  const CkChareID id = proxy.ckGetChareID();
  if (!is_pe(pe.process, id.onPE) || proxy.ckIsDelegated()) return {};
  note_created(pe, id.onPE, ep, length);
  const std::uint64_t meta = call_meta(static_cast<std::uint16_t>(ep), 0, length);
  return pe.reserve(id.onPE, meta, id.serial, Pe::Counting::yes);
}

void send_message(const CProxyElement_Group& proxy, int ep, unsigned send, void* payload) {
  if (delegate(proxy, ep, payload)) return;
  Pe& pe = *Pe::current();
  check_group(proxy.ckGetGroupID(), ep);
  const int to = proxy.ckGetGroupPe();
  if (!is_pe(pe.process, to)) bad_pe(to, "PE", ep);
  note_created(pe, to, ep, envelope_of(payload)->size, proxy.ckGetGroupID().idx);
  send_to(pe, to, addressed(payload, Target::group, ep, send, static_cast<std::uint32_t>(proxy.ckGetGroupID().idx), 0));
}

void send_call(const CProxy_Group& proxy, int ep, unsigned send, const void* arguments, unsigned length) {
  Pe& pe = *Pe::current();
  const int pes = pe.process.pes();
  check_group(proxy.ckGetGroupID(), ep);
  // Few PEs: a line to each costs less than a message and a tree.
  if (!scheduler::broadcasts_are_direct(pe.process.layout()) || !inline_fits(send) || proxy.ckIsDelegated())
    return send_message(proxy, ep, send,
                        payload_of(message_of_call(Target::group, ep, 0, 0, arguments, length).release()));
  note_created(pe, Created::all_pes, ep, length);
  const std::uint64_t meta = call_meta(static_cast<std::uint16_t>(ep), proxy.ckGetGroupID().idx, length);
  for (int i = 1; i <= pes; ++i) {
    const int to = pe.index + i < pes ? pe.index + i : pe.index + i - pes;
    pe.send_call(to, meta, 0, arguments, Pe::Counting::yes);
  }
}

void send_message(const CProxy_Group& proxy, int ep, unsigned send, void* payload) {
  if (delegate(proxy, ep, payload)) return;
  Pe& pe = *Pe::current();
  check_group(proxy.ckGetGroupID(), ep);
  Message message =
      addressed(payload, Target::group, ep, send, static_cast<std::uint32_t>(proxy.ckGetGroupID().idx), 0);
  note_created(pe, Created::all_pes, ep, message->size);
  if (pe.process.pes() > 1) {
    pack(message);
    pe.broadcast(message);
  }
  pe.send(pe.index, std::move(message));
}

// Sections of node groups, which have no tree, and the members that a call lists.
namespace {
template <class Element>
void send_to_each(const CProxySection_Group& proxy, int ep, unsigned send, Message message) {
  pack(message);
  for (const CkSectionID& part : proxy.ckGetParts())
    for (int to : part.pelist)
      send_message(Element(part.get_aid(), to), ep, send, payload_of(message.copy().release()));
}
}  // namespace
void send_message(const CProxySection_Group& proxy, int ep, unsigned send, void* payload) {
  if (delegate(proxy, ep, payload)) return;
  if (entry_info(ep).target == Target::node_group)
    return send_to_each<CProxyElement_NodeGroup>(proxy, ep, send, given_away(payload));
  if (!proxy.ckGetParts().empty() && !proxy.ckGetParts()[0]._cookie.names_section())
    return send_to_each<CProxyElement_Group>(proxy, ep, send, given_away(payload));
  PeObjects::current().sections->multicast(proxy.ckGetParts(), addressed(payload, Target::section, ep, send, 0, 0));
}

void send_call(const CProxyElement_NodeGroup& proxy, int ep, unsigned send, const void* arguments, unsigned length) {
  Pe& pe = *Pe::current();
  if (!inline_fits(send) || proxy.ckIsDelegated())
    return send_message(proxy, ep, send,
                        payload_of(message_of_call(Target::node_group, ep, 0, 0, arguments, length).release()));
  const int to = pe_of_node(pe, proxy.ckGetGroupPe(), ep);
  note_created(pe, to, ep, length, proxy.ckGetGroupID().idx);
  pe.send_call(to, call_meta(static_cast<std::uint16_t>(ep), proxy.ckGetGroupID().idx, length), 0, arguments,
               Pe::Counting::yes);
}
void send_message(const CProxyElement_NodeGroup& proxy, int ep, unsigned send, void* payload) {
  if (delegate(proxy, ep, payload)) return;
  Pe& pe = *Pe::current();
  const CkGroupID group = proxy.ckGetGroupID();
  check_group(group, ep);
  const int to = pe_of_node(pe, proxy.ckGetGroupPe(), ep);
  note_created(pe, to, ep, envelope_of(payload)->size, group.idx);
  send_to(pe, to, addressed(payload, Target::node_group, ep, send, static_cast<std::uint32_t>(group.idx), 0));
}
void send_message(const CProxy_NodeGroup& proxy, int ep, unsigned send, void* payload) {
  if (delegate(proxy, ep, payload)) return;
  Pe& pe = *Pe::current();
  const CkGroupID group = proxy.ckGetGroupID();
  check_group(group, ep);
  const std::uint64_t turn = turn_of(pe, ep);
  Message message = addressed(payload, Target::node_group, ep, send, static_cast<std::uint32_t>(group.idx), turn);
  note_created(pe, Created::all_processes, ep, message->size);
  if (pe.process.count() > 1) {
    pack(message);
    pe.broadcast(message);
  }
  pe.send(pe_at_turn(pe, pe.process.layout().process_of[pe.index], turn), std::move(message));
}

// --- chares ----------------------------------------------------------------------------------------------------------

namespace {
bool is_a(int type, int wanted) {
  if (type == wanted) return true;
  for (const ChareInfo::Base& base : registry().chares[type].bases)
    if (is_a(base.chare, wanted)) return true;
  return false;
}
// The mainchare that a proxy means which was never set: in Charm++ such a one names the first chare of PE 0, and
// programs call their mainchare so. None where the entry's class is no mainchare's.
CkChareID main_chare(int ep) {
  const std::vector<MainChareInfo>& mains = registry().mains;
  for (std::size_t i = 0; i < mains.size(); ++i)
    if (is_a(mains[i].chare, entry_info(ep).chare)) return {0, i + 1};  // numbered so by make_mainchares()
  return {};
}
PERIAPT_NOINLINE CkChareID receiver_unset(int ep) {
  const CkChareID main = main_chare(ep);
  if (main.onPE == 0) return main;
  fatal("a chare proxy is used that was never set", describe_running(*Pe::current()),
        std::string("the call is of ") + chare_name_of_entry(ep) + "::" + entry_name(ep),
        "give it a chare with ckNew() or an assignment first; a readonly is set in the mainchare's constructor");
}
[[noreturn]] PERIAPT_NOINLINE void receiver_elsewhere(int pe, int ep) {
  const int pes = Process::current()->pes();
  fatal("a chare on PE " + std::to_string(pe) + " is called, and this run has PEs 0 to " + std::to_string(pes - 1),
        describe_running(*Pe::current()),
        std::string("the call is of ") + chare_name_of_entry(ep) + "::" + entry_name(ep) +
            "; a proxy from a checkpoint of a run with more PEs is such a one, or bytes that never were one",
        "restart with as many PEs as the checkpoint has: single chares come back on no other number; in place of the "
        "thishandle of a group's member, keep the group");
}
CkChareID receiver(const CProxy_Chare& proxy, int ep) {
  const CkChareID& id = proxy.ckGetChareID();
  if (is_pe(*Process::current(), id.onPE)) return id;
  if (id.onPE < 0) return receiver_unset(ep);
  receiver_elsewhere(id.onPE, ep);
}
void send_to_member(const CkChareID& handle, int ep, unsigned send, void* payload) {
  const CkGroupID group = group_of_member(handle);
  if (entry_info(ep).target == Target::group)
    return send_message(CProxyElement_Group(group, handle.onPE), ep, send, payload);
  const int node = Process::current()->layout().process_of[handle.onPE];
  send_message(CProxyElement_NodeGroup(group, node), ep, send, payload);
}
}  // namespace

void send_call(const CProxy_Chare& proxy, int ep, unsigned send, const void* arguments, unsigned length) {
  Pe& pe = *Pe::current();
  const CkChareID id = receiver(proxy, ep);
  if (!inline_fits(send) || proxy.ckIsDelegated())
    return send_message(proxy, ep, send,
                        payload_of(message_of_call(Target::chare, ep, 0, 0, arguments, length).release()));
  note_created(pe, id.onPE, ep, length);
  pe.send_call(id.onPE, call_meta(static_cast<std::uint16_t>(ep), 0, length), id.serial, arguments, Pe::Counting::yes);
}
void send_message(const CProxy_Chare& proxy, int ep, unsigned send, void* payload) {
  if (delegate(proxy, ep, payload)) return;
  Pe& pe = *Pe::current();
  const CkChareID id = receiver(proxy, ep);
  if (names_member(id)) [[unlikely]]
    return send_to_member(id, ep, send, payload);
  note_created(pe, id.onPE, ep, envelope_of(payload)->size);
  send_to(pe, id.onPE, addressed(payload, Target::chare, ep, send, 0, id.serial));
}

// --- arrays ----------------------------------------------------------------------------------------------------------

void send_call(const CProxyElement_ArrayBase& proxy, int ep, unsigned send, const void* arguments, unsigned length) {
  ArrayManager* manager = find_array(PeObjects::current(), proxy.ckGetArrayID());
  if (manager && inline_fits(send) && !proxy.ckIsDelegated())
    return manager->call(proxy.ckGetID(), proxy.ckGetIndex(), ep, arguments, length, send & send_together);
  send_message(proxy, ep, send, payload_of(message_of_call(Target::array, ep, 0, 0, arguments, length).release()));
}
int receiver_pe(const CProxyElement_ArrayBase& proxy) {
  ArrayManager* manager = find_array(PeObjects::current(), proxy.ckGetArrayID());
  return manager ? manager->locate(proxy.ckGetID(), proxy.ckGetIndex()) : -1;
}
int receiver_pe(const CProxyElement_Group& proxy) {
  const int to = proxy.ckGetGroupPe();
  return is_pe(*Process::current(), to) ? to : -1;
}
int receiver_pe(const CProxyElement_NodeGroup& proxy) {
  const int node = proxy.ckGetGroupPe();
  const Process& process = *Process::current();
  return node >= 0 && node < process.count() ? process.layout().processes[node].first_pe : -1;
}
int receiver_pe(const CProxy_Chare& proxy) {
  const int to = proxy.ckGetChareID().onPE;
  return is_pe(*Process::current(), to) ? to : -1;
}

void send_message(const CProxyElement_ArrayBase& proxy, int ep, unsigned send, void* payload) {
  if (delegate(proxy, ep, payload)) return;
  PeObjects& objects = PeObjects::current();
  Message message = addressed(payload, Target::array, ep, send, 0, 0);
  ArrayManager* manager = find_array(objects, proxy.ckGetArrayID());
  if (manager) return manager->send(proxy.ckGetID(), proxy.ckGetIndex(), std::move(message));
  ArrayManager::send_early(objects, proxy.ckGetArrayID(), proxy.ckGetID(), proxy.ckGetIndex(), std::move(message));
}
void send_message(const CProxy_ArrayBase& proxy, int ep, unsigned send, void* payload) {
  if (delegate(proxy, ep, payload)) return;
  ArrayManager::broadcast(proxy.ckGetArrayID(), addressed(payload, Target::broadcast, ep, send, 0, 0));
}
void send_message(const CProxySection_ArrayBase& proxy, int ep, unsigned send, void* payload) {
  if (delegate(proxy, ep, payload)) return;
  PeObjects::current().sections->multicast(proxy.ckGetParts(), addressed(payload, Target::section, ep, send, 0, 0));
}

void* local_object(const CProxyElement_ArrayBase& proxy) {
  ArrayManager* manager = find_array(PeObjects::current(), proxy.ckGetArrayID());
  if (!manager) return nullptr;
  ArrayElement* element = manager->find(proxy.ckGetID(), proxy.ckGetIndex());
  return element ? manager->object_of(element) : nullptr;
}

void* local_object(const CProxyElement_ArrayBase& proxy, int type) {
  void* const object = local_object(proxy);
  if (!object || !bases_have_offsets) return object;
  return base_object_of(PeObjects::current().find_group(proxy.ckGetArrayID().index())->type, type, object);
}

void not_local(const CProxyElement_ArrayBase& proxy, const char* chare, const char* method) {
  fatal(std::string("[local] entry ") + chare + "::" + method + " is called on element " +
            proxy.ckGetIndex().toString() + ", which is not on PE " + std::to_string(Pe::current()->index),
        describe_running(*Pe::current()), "", "call it where ckLocal() is not null, or drop [local]");
}
void not_local(const CProxy_Group&, const char* chare, const char* method) {
  fatal(std::string("[local] entry ") + chare + "::" + method + " is called where its receiver is not: on PE " +
            std::to_string(Pe::current()->index),
        describe_running(*Pe::current()), "the proxy names the member of another PE, or the group is not made here yet",
        "call it on the PE of the member, or drop [local]");
}
void not_instantiated(const char* use) {
  const Pe* const pe = Pe::current();  // none before the run has begun
  fatal("a template entry is used with types that it is not instantiated for", pe ? describe_running(*pe) : "",
        std::string("the use: ") + use,
        "name the instance in the .ci file, with the types of its parameters: extern entry void Chare entry(int, ...); "
        "one that is named by reference (int&) is called as entry<int&>(...)");
}
void no_migration_constructor(const char* type, const void* object) {
  if (!object) throw NoMigrationConstructor();
  fatal(std::string("class ") + type + " cannot be made for an element that arrives",
        "it has neither a constructor from CkMigrateMessage* nor one without arguments", "",
        "add `X(CkMigrateMessage*) {}`");
}

}  // namespace periapt
