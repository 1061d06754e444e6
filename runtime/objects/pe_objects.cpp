// See pe_objects.h.
#include "runtime/objects/pe_objects.h"

#include <new>
#include <utility>

#include "base/fatal.h"
#include "machine/bootstrap/layout.h"
#include "runtime/collective/quiescence.h"
#include "runtime/collective/reduction.h"
#include "runtime/objects/futures.h"
#include "runtime/objects/member_handle.h"
#include "runtime/objects/protocols.h"
#include "runtime/objects/serial_block.h"
#include "runtime/objects/shown_branches.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
int entry_to_section, entry_chare_made, entry_chare_gone;
static_assert(std::uint64_t{bootstrap::kMaxPes} << 40 <= member_bit, "a chare's number would be that of a member");
}  // namespace

GroupRecord::GroupRecord() = default;
GroupRecord::~GroupRecord() = default;
GroupRecord::GroupRecord(GroupRecord&&) noexcept = default;
GroupRecord& GroupRecord::operator=(GroupRecord&&) noexcept = default;

void PeObjects::register_entries() {
  entry_to_section = register_runtime_entry("to a section", [](Pe& pe, Delivery& call) {
    pe.objects->send_to_section(pe.index, call.element >> 16, static_cast<int>(call.element & 65535),
                                payload_of(received_whole(call).release()));
  });
  entry_chare_made = register_runtime_entry("a seed has become a chare", [](Pe& pe, Delivery& call) {
    pe.objects->moved_chares_[call.element] = call.read<int>();
    pe.objects->release_calls(call.element);
  });
  entry_chare_gone = register_runtime_entry(
      "the chare of a seed is gone", [](Pe& pe, Delivery& call) { pe.objects->moved_chares_.erase(call.element); });
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
      quiescence(std::make_unique<Quiescence>(*protocols, *protocols)) {
  groups_.reserve(64);
}
PeObjects::~PeObjects() = default;

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

void PeObjects::group_ready(CkGroupID id) {
  if (void* const member = group(id.idx).object) show_branch(pe, id.idx, member);
  pe.enqueue_front(std::exchange(group(id.idx).waiting, {}));
}

// --- what waits -----------------------------------------------------------------------------------------------------

namespace {
void visit_waiting(int index, const GroupRecord& group, const WaitingVisitor& visit) {
  if (!group.waiting.empty()) visit("group or array " + std::to_string(index), group.waiting);
  if (group.array) group.array->for_each_waiting(visit);
}
}  // namespace

void PeObjects::for_each_waiting(const WaitingVisitor& visit) {
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

// --- chares
// -----------------------------------------------------------------------------------------------------------

void PeObjects::create_chare(std::uint64_t serial, int type, int ep, Message message, bool came) {
  void* object = allocate_object(registry().chares[type].size);
  const Creation outer = creating;
  creating = {};
  creating.chare = {pe.index, serial};
  chares_[serial] = {object, type};
  if (came) tell_maker(serial);
  construct(ep, object, std::move(message));
  creating = outer;
  release_calls(serial);
}
void PeObjects::release_calls(std::uint64_t chare) {
  if (waiting_for_chare_.empty()) [[likely]]
    return;
  auto waiting = waiting_for_chare_.extract(chare);
  if (waiting) pe.enqueue_front(std::move(waiting.mapped()));
}
void PeObjects::tell_maker(std::uint64_t serial) {
  if (maker_of(serial) == pe.index) return;
  chares_[serial].far_from_handle = true;
  send_runtime(pe, maker_of(serial), entry_chare_made, 0, serial, pe.index);
}

void* PeObjects::find_chare(std::uint64_t serial) {
  ChareRecord* record = chares_.find(serial);
  return record ? record->object : nullptr;
}
void PeObjects::forget_chare(std::uint64_t serial) {
  running_threads.owner_dies(ThreadOwner::of_chare(serial), [&] {
    return std::string("chare ") + registry().chares[static_cast<std::size_t>(chares_[serial].type)].name;
  });
  if (chares_[serial].far_from_handle) [[unlikely]]
    send_runtime(pe, maker_of(serial), entry_chare_gone, 0, serial, 0);
  chares_.erase(serial);
}

// --- objects that come back ------------------------------------------------------------------------------------------

void construct_migrated(int type, void* object) {
  const ChareInfo& info = registry().chares[static_cast<std::size_t>(type)];
  if (info.migration_constructor < 0)
    fatal(std::string(info.name) + " cannot be made again: no migration constructor is registered", "", "",
          std::string("declare it [migratable] in the .ci file, and give it a constructor ") + info.name +
              "(CkMigrateMessage*) and a pup()");
  Delivery call;
  call.entry = static_cast<std::uint16_t>(info.migration_constructor);
  entry_info(call.entry).call(call, object);
}

bool can_be_made_again(int type) {
  if (!is_migratable(type)) return false;
  static thread_local std::vector<std::int8_t> known;  // by type; -1: not asked yet
  if (static_cast<std::size_t>(type) >= known.size()) known.resize(static_cast<std::size_t>(type) + 1, -1);
  std::int8_t& answer = known[static_cast<std::size_t>(type)];
  if (answer < 0) try {
      Delivery call;
      call.entry = static_cast<std::uint16_t>(registry().chares[static_cast<std::size_t>(type)].migration_constructor);
      entry_info(call.entry).call(call, nullptr);
      answer = 1;
    } catch (const NoMigrationConstructor&) {
      answer = 0;
    }
  return answer != 0;
}

Chare& PeObjects::remake_chare(std::uint64_t serial, int type) {
  void* object = allocate_object(registry().chares[static_cast<std::size_t>(type)].size);
  const Creation outer = std::exchange(creating, {});
  creating.chare = {pe.index, serial};
  chares_[serial] = {object, type};
  construct_migrated(type, object);
  creating = outer;
  return *chares_[serial].base;
}

GroupRecord& PeObjects::remake_group(CkGroupID id, int type, const Reduction::State& reduction,
                                     std::uint32_t contributions, bool counted) {
  void* object = allocate_object(registry().chares[static_cast<std::size_t>(type)].size);
  {
    GroupRecord& record = group(id.idx);
    record.type = type;
    record.object_in_construction = object;
    record.reduction = std::make_unique<Reduction>(*protocols, id.idx, Reduction::Tree::pes,
                                                   TreePlace(pe.index, pe.process.pes()), true);
    record.reduction->resume_with_member(reduction, contributions, counted);
  }
  const Creation outer = std::exchange(creating, {});
  creating.group = id;
  construct_migrated(type, object);
  creating = outer;
  GroupRecord& record = group(id.idx);
  record.object = object;
  if (record.base) contributions_of(*static_cast<Group*>(record.base)) = contributions;
  return record;
}

// --- sections
// ---------------------------------------------------------------------------------------------------------

std::uint64_t PeObjects::keep_section(const CProxySection_ArrayBase& section) {
  sections_.push_back(section);
  return sections_.size() - 1;
}
std::uint32_t PeObjects::members_of_section(std::uint64_t section) {
  return sections_[section].ckGetSectionInfo().members;
}
void PeObjects::send_to_section(int to, std::uint64_t section, int ep, void* payload) {
  if (to == pe.index) return send_message(sections_[section], ep, 0, payload);
  // The section is known where it was made: the message goes there first.
  send_whole(pe, to, entry_to_section, section << 16 | static_cast<unsigned>(ep), given_away(payload));
}

// --- receivers
// ---------------------------------------------------------------------------------------------------------

void bad_pe(int pe, const char* what, int ep) {
  fatal(std::string("a message for ") + what + " " + std::to_string(pe) + ", which does not exist", entry_name(ep),
        "they are numbered 0 to " +
            std::to_string((what[0] == 'P' ? Process::current()->pes() : Process::current()->count()) - 1));
}

// --- in words
// ---------------------------------------------------------------------------------------------------------

std::string describe_object(const EntryInfo& entry, const void* object) {
  std::string found;
  if (entry.target == Target::array)
    PeObjects::current().for_each_array([&](const ArrayPart& array) {
      if (found.empty()) found = array.describe_holder(object);
    });
  return found.empty() ? registry().chares[entry.chare].name : found;
}

std::string describe_running(const Pe& pe) {
  if (!pe.running) return "";
  const EntryInfo& entry = entry_info(pe.running->entry);
  if (entry.target == Target::runtime || entry.target == Target::converse) return entry.name;
  std::string text = describe_object(entry, pe.running->object) + "::" + entry.name;
  if (const SerialBlock* block = SerialBlocks::running ? SerialBlocks::running(pe) : nullptr)
    text += std::string(", in serial ") + (*block->label ? "\"" + std::string(block->label) + "\" " : "") + "(" +
            block->place + ")";
  return text;
}

}  // namespace periapt
