// Chares and groups: creation, look-up, sending.
#include <new>
#include <utility>

#include "base/fatal.h"
#include "runtime/chare/array_manager.h"
#include "runtime/chare/futures.h"
#include "runtime/chare/node_groups.h"
#include "runtime/chare/pe_objects.h"
#include "runtime/chare/protocols.h"
#include "runtime/chare/quiescence.h"
#include "runtime/chare/reduction.h"
#include "runtime/chare/runtime_message.h"
#include "runtime/chare/start_gate.h"
#include "runtime/chare/watchdog.h"
#include "runtime/chare/zero_copy_entries.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
int entry_new_chare, entry_new_group, entry_new_node_group, entry_to_section;
// Creation messages keep their envelope and carry type and constructor in fields that are free then.
Message creation(Message message, int entry, int type, int ep, std::uint32_t collection, std::uint64_t element) {
  address(message, Target::runtime, entry, collection, element);
  message->extra = static_cast<std::uint32_t>(type) << 16 | static_cast<std::uint32_t>(ep);
  return message;
}
// What is to be made, of a creation message.
struct Made {
  int type, constructor;
  explicit Made(const Delivery& call)
      : type(static_cast<int>(call.message->extra >> 16)), constructor(static_cast<int>(call.message->extra & 65535)) {}
};
}  // namespace

GroupRecord::GroupRecord() = default;
GroupRecord::~GroupRecord() = default;
GroupRecord::GroupRecord(GroupRecord&&) noexcept = default;
GroupRecord& GroupRecord::operator=(GroupRecord&&) noexcept = default;

void register_chare_entries() {
  entry_new_chare = register_runtime_entry("new chare", [](Pe& pe, Delivery& call) {
    const Made made(call);
    pe.objects->create_chare(call.element, made.type, made.constructor, std::move(call.message));
  });
  entry_new_group = register_runtime_entry(
      "new group",
      [](Pe& pe, Delivery& call) {
        const Made made(call);
        pe.objects->create_group(CkGroupID{static_cast<int>(call.collection)}, made.type, made.constructor,
                                 std::move(call.message));
      },
      ep_creation);
  entry_new_node_group = register_runtime_entry(
      "new node group",
      [](Pe& pe, Delivery& call) {
        if (pe.rank != 0) return;
        const Made made(call);
        node_groups().create(*pe.objects, CkGroupID{static_cast<int>(call.collection)}, made.type, made.constructor,
                             std::move(call.message));
      },
      ep_creation);
}

bool makes_node_group(const Envelope* envelope) {
  return envelope->target == Target::runtime && envelope->entry == entry_new_node_group;
}

void register_section_entries() {
  entry_to_section = register_runtime_entry("to a section", [](Pe& pe, Delivery& call) {
    pe.objects->send_to_section(pe.index, call.element >> 16, static_cast<int>(call.element & 65535),
                                payload_of(received_whole(call).release()));
  });
}

void* allocate_object(std::size_t bytes) {
  // Programs end chares with `delete this`: the storage is what operator delete takes.
  void* object = ::operator new(bytes, std::nothrow);
  if (!object) fatal("no memory for an object of " + std::to_string(bytes) + " bytes");
  return object;
}
void free_object(void* object) { ::operator delete(object); }

PeObjects::PeObjects(Pe& pe)
    : pe(pe),
      protocols(std::make_unique<PeProtocols>(pe)),
      futures(std::make_unique<Futures>(pe)),
      quiescence(std::make_unique<Quiescence>(*protocols, *protocols)),
      watchdog(std::make_unique<Watchdog>(*this)),
      start_gate(std::make_unique<StartGate>(*this)) {
  groups_.reserve(64);
}
PeObjects::~PeObjects() = default;

zero_copy::Posts& PeObjects::zero_copy_posts() {
  if (!posts) posts = std::make_unique<zero_copy::Posts>();
  return *posts;
}

// --- groups ----------------------------------------------------------------------------------------------------------

GroupRecord& PeObjects::group(int index) {
  if (index < 0) return far_groups_[index];
  if (static_cast<std::size_t>(index) >= groups_.size()) groups_.resize(index + 1);
  return groups_[index];
}
GroupRecord* PeObjects::find_group_slow(int index) {
  if (index >= 0) return nullptr;
  auto found = far_groups_.find(index);
  return found == far_groups_.end() ? nullptr : &found->second;
}

CkGroupID PeObjects::new_group_id() {
  const int serial = ++group_serial_;
  return CkGroupID{pe.index == 0 ? serial : -(serial * pe.process.pes() + pe.index)};
}

void PeObjects::create_group(CkGroupID id, int type, int ep, Message message) {
  const std::size_t size = registry().chares[type].size;
  void* object = allocate_object(size);
  {
    GroupRecord& record = group(id.idx);
    record.type = type;
    record.reduction = std::make_unique<Reduction>(*protocols, id.idx, Reduction::Tree::pes,
                                                   TreePlace(pe.index, pe.process.pes()), true);
    record.reduction->born();
    record.object_in_construction = object;
  }
  const Creation outer = creating;
  creating = {};
  creating.group = id;
  construct(ep, object, std::move(message));
  creating = outer;
  group(id.idx).object = object;
  group_ready(id);
}

void PeObjects::group_ready(CkGroupID id) { pe.enqueue_front(std::exchange(group(id.idx).waiting, {})); }

namespace {
// A group is made on all other PEs by one broadcast.
void tell_others(Pe& pe, Message& message, int entry, int type, int ep, CkGroupID id) {
  if (pe.process.pes() == 1) return;
  pack(message);
  Message news = creation(message.copy(), entry, type, ep, static_cast<std::uint32_t>(id.idx), 0);
  pe.broadcast(news);
}
}  // namespace

CkGroupID new_group(int type, int ep, void* payload) {
  PeObjects& objects = PeObjects::current();
  const CkGroupID id = objects.new_group_id();
  Message message = Message::from_payload(payload);
  tell_others(objects.pe, message, entry_new_group, type, ep, id);
  objects.create_group(id, type, ep, std::move(message));
  return id;
}

CkGroupID new_node_group(int type, int ep, void* payload) {
  PeObjects& objects = PeObjects::current();
  Pe& pe = objects.pe;
  const CkGroupID id = objects.new_group_id();
  Message message = Message::from_payload(payload);
  tell_others(pe, message, entry_new_node_group, type, ep, id);
  if (pe.rank == 0) node_groups().create(objects, id, type, ep, std::move(message));
  return id;
}

void* local_branch(CkGroupID id) {
  GroupRecord* record = PeObjects::current().find_group(id.idx);
  if (!record) return nullptr;
  return record->object ? record->object : record->object_in_construction;
}
void* local_node_branch(CkGroupID id) { return node_groups().find(id.idx); }
void* localMember(const CProxyElement_Group& proxy) {
  return proxy.ckGetGroupPe() == Pe::current()->index ? local_branch(proxy.ckGetGroupID()) : nullptr;
}
void* localMember(const CProxyElement_NodeGroup& proxy) {
  return proxy.ckGetGroupPe() == Process::current()->rank() ? local_node_branch(proxy.ckGetGroupID()) : nullptr;
}

namespace {
Message addressed(void* payload, Target target, int ep, unsigned send, std::uint32_t collection,
                  std::uint64_t element) {
  Message message = Message::from_payload(payload);
  address(message, target, ep, collection, element);
  message->hops = 0;
  message->flags &= static_cast<std::uint8_t>(~(envelope_tree | envelope_expedited));
  if (send & send_expedited) message->flags |= envelope_expedited;
  if (send & send_immediate) message->flags |= envelope_immediate;
  return message;
}
[[noreturn]] void bad_pe(int pe, const char* what, int ep) {
  fatal(std::string("a message for ") + what + " " + std::to_string(pe) + ", which does not exist", entry_name(ep),
        "they are numbered 0 to " +
            std::to_string((what[0] == 'P' ? Process::current()->pes() : Process::current()->count()) - 1));
}
// A group of processes or PEs must have been made by somebody.
void check_group(CkGroupID id, int ep) {
  if (!id.isZero()) [[likely]]
    return;
  fatal("a group proxy is used that was never set", describe_running(*Pe::current()),
        std::string("the call is of ") + chare_name_of_entry(ep) + "::" + entry_name(ep),
        "give it a group with ckNew() or an assignment first; a readonly is set in the mainchare's constructor");
}
// The PE of a process that takes a call to a node group: each in turn.
int pe_of_node(Pe& pe, int node, int ep) {
  if (node < 0 || node >= pe.process.count()) bad_pe(node, "process", ep);
  const bootstrap::Process& process = pe.process.layout().processes[node];
  return process.first_pe + static_cast<int>(pe.objects->round_robin++ % process.pes);
}
// Expedited calls are messages, because their urgency is in the envelope.
bool inline_fits(unsigned send) { return send == 0; }
}  // namespace

void note_created(Pe& pe, int to, int ep, std::size_t bytes) {
  if (pe.watched(Observer::created)) [[unlikely]]
    pe.notify_created({to, static_cast<std::uint16_t>(ep), bytes});
}

void send_call(const CProxyElement_Group& proxy, int ep, unsigned send, const void* arguments, unsigned length) {
  Pe& pe = *Pe::current();
  check_group(proxy.ckGetGroupID(), ep);
  const int to = proxy.ckGetGroupPe();
  if (!inline_fits(send))
    return send_message(proxy, ep, send,
                        payload_of(message_of_call(Target::group, ep, 0, 0, arguments, length).release()));
  if (static_cast<unsigned>(to) >= static_cast<unsigned>(pe.process.pes())) bad_pe(to, "PE", ep);
  note_created(pe, to, ep, length);
  pe.send_call(to, call_meta(static_cast<std::uint16_t>(ep), proxy.ckGetGroupID().idx, length), 0, arguments,
               Pe::Counting::yes);
}

// Who wants to hear of every message is told by send_call().
OpenCall open_call(const CProxyElement_Group& proxy, int ep, unsigned length) {
  Pe& pe = *Pe::current();
  const int to = proxy.ckGetGroupPe();
  if (static_cast<unsigned>(to) >= static_cast<unsigned>(pe.process.pes()) || pe.watched(Observer::created)) return {};
  return open_call_to(pe, to, call_meta(static_cast<std::uint16_t>(ep), proxy.ckGetGroupID().idx, length), 0);
}
OpenCall open_call(const CProxy_Chare& proxy, int ep, unsigned length) {
  Pe& pe = *Pe::current();
  const CkChareID id = proxy.ckGetChareID();
  if (id.onPE < 0 || pe.watched(Observer::created)) return {};
  return open_call_to(pe, id.onPE, call_meta(static_cast<std::uint16_t>(ep), 0, length), id.serial);
}
OpenCall open_call(const CProxyElement_ArrayBase& proxy, int ep, unsigned length) {
  ArrayManager* manager = PeObjects::current().array(proxy.ckGetArrayID());
  if (!manager) [[unlikely]]
    return {};
  return manager->open_call(proxy.ckGetID(), proxy.ckGetIndex(), ep, length);
}
void close_call(const OpenCall& call) {
  Pe::current()->commit(call.pe, call.meta, static_cast<host::Slot*>(call.slot));
}

void send_message(const CProxyElement_Group& proxy, int ep, unsigned send, void* payload) {
  Pe& pe = *Pe::current();
  check_group(proxy.ckGetGroupID(), ep);
  const int to = proxy.ckGetGroupPe();
  if (static_cast<unsigned>(to) >= static_cast<unsigned>(pe.process.pes())) bad_pe(to, "PE", ep);
  note_created(pe, to, ep, envelope_of(payload)->size);
  send_to(pe, to, addressed(payload, Target::group, ep, send, static_cast<std::uint32_t>(proxy.ckGetGroupID().idx), 0));
}

void send_call(const CProxy_Group& proxy, int ep, unsigned send, const void* arguments, unsigned length) {
  Pe& pe = *Pe::current();
  const int pes = pe.process.pes();
  check_group(proxy.ckGetGroupID(), ep);
  // Few PEs: a line to each costs less than a message and a tree.
  constexpr int few = 8;
  if (pes > few || !inline_fits(send))
    return send_message(proxy, ep, send,
                        payload_of(message_of_call(Target::group, ep, 0, 0, arguments, length).release()));
  const std::uint64_t meta = call_meta(static_cast<std::uint16_t>(ep), proxy.ckGetGroupID().idx, length);
  for (int i = 1; i <= pes; ++i) {
    const int to = pe.index + i < pes ? pe.index + i : pe.index + i - pes;
    note_created(pe, to, ep, length);
    pe.send_call(to, meta, 0, arguments, Pe::Counting::yes);
  }
}

void send_message(const CProxy_Group& proxy, int ep, unsigned send, void* payload) {
  Pe& pe = *Pe::current();
  check_group(proxy.ckGetGroupID(), ep);
  Message message =
      addressed(payload, Target::group, ep, send, static_cast<std::uint32_t>(proxy.ckGetGroupID().idx), 0);
  for (int to = 0; to < pe.process.pes(); ++to) note_created(pe, to, ep, message->size);
  if (pe.process.pes() > 1) {
    pack(message);
    pe.broadcast(message);
  }
  pe.send(pe.index, std::move(message));
}

void send_message(const CProxySection_Group& proxy, int ep, unsigned send, void* payload) {
  Message message = Message::from_payload(payload);
  pack(message);
  for (int i = 0; i < proxy.ckGetNumSections(); ++i) {
    const CkSectionID& section = proxy.ckGetSectionID(i);
    for (int to : section.pelist)
      send_message(CProxyElement_Group(section._cookie.get_aid(), to), ep, send, payload_of(message.copy().release()));
  }
}

void send_call(const CProxyElement_NodeGroup& proxy, int ep, unsigned send, const void* arguments, unsigned length) {
  Pe& pe = *Pe::current();
  if (!inline_fits(send))
    return send_message(proxy, ep, send,
                        payload_of(message_of_call(Target::node_group, ep, 0, 0, arguments, length).release()));
  const int to = pe_of_node(pe, proxy.ckGetGroupPe(), ep);
  note_created(pe, to, ep, length);
  pe.send_call(to, call_meta(static_cast<std::uint16_t>(ep), proxy.ckGetGroupID().idx, length), 0, arguments,
               Pe::Counting::yes);
}
void send_message(const CProxyElement_NodeGroup& proxy, int ep, unsigned send, void* payload) {
  Pe& pe = *Pe::current();
  check_group(proxy.ckGetGroupID(), ep);
  const int to = pe_of_node(pe, proxy.ckGetGroupPe(), ep);
  note_created(pe, to, ep, envelope_of(payload)->size);
  send_to(pe, to,
          addressed(payload, Target::node_group, ep, send, static_cast<std::uint32_t>(proxy.ckGetGroupID().idx), 0));
}
void send_message(const CProxy_NodeGroup& proxy, int ep, unsigned send, void* payload) {
  Message message = Message::from_payload(payload);
  pack(message);
  const int nodes = Process::current()->count();
  for (int node = 0; node < nodes; ++node) {
    Message one = node + 1 < nodes ? message.copy() : std::move(message);
    send_message(CProxyElement_NodeGroup(proxy.ckGetGroupID(), node), ep, send, payload_of(one.release()));
  }
}

// --- what waits -----------------------------------------------------------------------------------------------------

namespace {
template <class Visit>
void visit_waiting(int index, GroupRecord& group, const Visit& visit) {
  if (!group.waiting.empty()) visit("group or array " + std::to_string(index), group.waiting);
  if (!group.array) return;
  for (const auto& [id, messages] : group.array->routing().waiting())
    visit(group.array->ids().describe_receiver(messages.front()), messages);
}
}  // namespace

void PeObjects::for_each_waiting(const std::function<void(const std::string&, const std::vector<Message>&)>& visit) {
  for (std::size_t i = 0; i < groups_.size(); ++i) visit_waiting(static_cast<int>(i), groups_[i], visit);
  for (auto& [index, group] : far_groups_) visit_waiting(index, group, visit);
  for (const auto& [serial, messages] : waiting_for_chare_)
    visit("chare " + std::to_string(serial & ((std::uint64_t{1} << 40) - 1)) + " on PE " + std::to_string(pe.index),
          messages);
}

void PeObjects::for_each_reduction(const std::function<void(const Reduction&)>& visit) {
  const auto of = [&](const GroupRecord& group) {
    if (group.array) visit(group.array->reduction());
    if (group.reduction) visit(*group.reduction);
  };
  for (const GroupRecord& group : groups_) of(group);
  for (const auto& [_, group] : far_groups_) of(group);
}

// --- chares ----------------------------------------------------------------------------------------------------------

CkChareID new_chare(int type, int ep, int to, void* payload) {
  PeObjects& objects = PeObjects::current();
  Pe& pe = objects.pe;
  const int pes = pe.process.pes();
  if (to == CK_PE_ANY || to == CK_PE_ALL) {
    // Seeds go anywhere: to a PE by chance, which is what Charm++ does by default too.
    pe.random_state = pe.random_state * 6364136223846793005u + 1442695040888963407u;
    to = static_cast<int>((pe.random_state >> 33) % static_cast<unsigned>(pes));
  }
  if (to < 0 || to >= pes) bad_pe(to, "PE", ep);
  const CkChareID id{to, objects.new_chare_serial()};
  Message argument = Message::from_payload(payload);
  if (to != pe.index && pe.process.layer().route(to) == machine::Route::other_host) pack(argument);
  Message message = creation(std::move(argument), entry_new_chare, type, ep, 0, id.serial);
  note_created(pe, to, ep, message->size);
  send_to(pe, to, std::move(message));
  return id;
}

void PeObjects::create_chare(std::uint64_t serial, int type, int ep, Message message) {
  void* object = allocate_object(registry().chares[type].size);
  const Creation outer = creating;
  creating = {};
  creating.chare = {pe.index, serial};
  chares_[serial] = {object, type};
  construct(ep, object, std::move(message));
  creating = outer;
  if (!waiting_for_chare_.empty()) [[unlikely]] {
    auto waiting = waiting_for_chare_.extract(serial);
    if (waiting) pe.enqueue_front(std::move(waiting.mapped()));
  }
}

void* PeObjects::find_chare(std::uint64_t serial) {
  ChareRecord* record = chares_.find(serial);
  return record ? record->object : nullptr;
}
void PeObjects::forget_chare(std::uint64_t serial) {
  running_threads.owner_dies(ThreadOwner::of_chare(serial), [&] {
    return std::string("chare ") + registry().chares[static_cast<std::size_t>(chares_[serial].type)].name;
  });
  chares_.erase(serial);
}

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
CkChareID receiver(const CProxy_Chare& proxy, int ep) {
  const CkChareID& id = proxy.ckGetChareID();
  return id.onPE >= 0 ? id : receiver_unset(ep);
}
}  // namespace

void send_call(const CProxy_Chare& proxy, int ep, unsigned send, const void* arguments, unsigned length) {
  Pe& pe = *Pe::current();
  const CkChareID id = receiver(proxy, ep);
  if (!inline_fits(send))
    return send_message(proxy, ep, send,
                        payload_of(message_of_call(Target::chare, ep, 0, 0, arguments, length).release()));
  note_created(pe, id.onPE, ep, length);
  pe.send_call(id.onPE, call_meta(static_cast<std::uint16_t>(ep), 0, length), id.serial, arguments, Pe::Counting::yes);
}
void send_message(const CProxy_Chare& proxy, int ep, unsigned send, void* payload) {
  Pe& pe = *Pe::current();
  const CkChareID id = receiver(proxy, ep);
  note_created(pe, id.onPE, ep, envelope_of(payload)->size);
  send_to(pe, id.onPE, addressed(payload, Target::chare, ep, send, 0, id.serial));
}

// --- arrays ----------------------------------------------------------------------------------------------------------

void send_call(const CProxyElement_ArrayBase& proxy, int ep, unsigned send, const void* arguments, unsigned length) {
  ArrayManager* manager = PeObjects::current().array(proxy.ckGetArrayID());
  if (manager && inline_fits(send)) return manager->call(proxy.ckGetID(), proxy.ckGetIndex(), ep, arguments, length);
  send_message(proxy, ep, send, payload_of(message_of_call(Target::array, ep, 0, 0, arguments, length).release()));
}
int receiver_pe(const CProxyElement_ArrayBase& proxy) {
  ArrayManager* manager = PeObjects::current().array(proxy.ckGetArrayID());
  return manager ? manager->locate(proxy.ckGetID(), proxy.ckGetIndex()) : -1;
}
int receiver_pe(const CProxyElement_Group& proxy) {
  const int to = proxy.ckGetGroupPe();
  return static_cast<unsigned>(to) < static_cast<unsigned>(Process::current()->pes()) ? to : -1;
}
int receiver_pe(const CProxyElement_NodeGroup& proxy) {
  const int node = proxy.ckGetGroupPe();
  const Process& process = *Process::current();
  return node >= 0 && node < process.count() ? process.layout().processes[node].first_pe : -1;
}
int receiver_pe(const CProxy_Chare& proxy) { return proxy.ckGetChareID().onPE; }

void send_message(const CProxyElement_ArrayBase& proxy, int ep, unsigned send, void* payload) {
  PeObjects& objects = PeObjects::current();
  Message message = addressed(payload, Target::array, ep, send, 0, 0);
  ArrayManager* manager = objects.array(proxy.ckGetArrayID());
  if (manager) return manager->send(proxy.ckGetID(), proxy.ckGetIndex(), std::move(message));
  ArrayManager::send_early(objects, proxy.ckGetArrayID(), proxy.ckGetID(), proxy.ckGetIndex(), std::move(message));
}
void send_message(const CProxy_ArrayBase& proxy, int ep, unsigned send, void* payload) {
  ArrayBroadcasts::send(proxy.ckGetArrayID(), addressed(payload, Target::broadcast, ep, send, 0, 0));
}
void send_message(const CProxySection_ArrayBase& proxy, int ep, unsigned send, void* payload) {
  Message message = Message::from_payload(payload);
  pack(message);
  for (int i = 0; i < proxy.ckGetNumSubSections(); ++i) {
    const CkSectionID& section = proxy.ckGetSectionID(i);
    for (const CkArrayIndex& index : section._elems)
      send_message(CProxyElement_ArrayBase(section._cookie.get_aid(), index), ep, send,
                   payload_of(message.copy().release()));
  }
}

std::uint64_t PeObjects::keep_section(const CProxySection_ArrayBase& section) {
  sections_.push_back(section);
  return sections_.size() - 1;
}
void PeObjects::send_to_section(int to, std::uint64_t section, int ep, void* payload) {
  if (to == pe.index) return send_message(sections_[section], ep, 0, payload);
  // The section is known where it was made: the message goes there first.
  send_whole(pe, to, entry_to_section, section << 16 | static_cast<unsigned>(ep), Message::from_payload(payload));
}

void* local_object(const CProxyElement_ArrayBase& proxy) {
  ArrayManager* manager = PeObjects::current().array(proxy.ckGetArrayID());
  if (!manager) return nullptr;
  ArrayElement* element = manager->find(proxy.ckGetID(), proxy.ckGetIndex());
  return element ? manager->object_of(element) : nullptr;
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
void no_migration_constructor(const char* type) {
  fatal(std::string("class ") + type + " cannot be made for an element that arrives",
        "it has neither a constructor from CkMigrateMessage* nor one without arguments", "",
        "add `X(CkMigrateMessage*) {}`");
}

std::string describe_object(const EntryInfo& entry, const void* object) {
  const std::string name = registry().chares[entry.chare].name;
  std::string found = name;
  if (entry.target == Target::array)
    PeObjects::current().for_each_array([&](ArrayManager& m) {
      for (ArrayElement* e : m.elements())
        if (m.object_of(e) == object) found = m.describe(e->ckGetID());
    });
  return found;
}

std::string describe_running(const Pe& pe) {
  if (!pe.running) return "";
  const EntryInfo& entry = entry_info(pe.running->entry);
  if (entry.target == Target::runtime || entry.target == Target::converse) return entry.name;
  return describe_object(entry, pe.running->object) + "::" + entry.name;
}

}  // namespace periapt
