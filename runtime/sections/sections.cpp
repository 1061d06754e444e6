// See sections.h.
#include "runtime/sections/sections.h"

#include <algorithm>

#include "base/fatal.h"
#include "runtime/array/array_manager.h"
#include "runtime/objects/protocols.h"
#include "runtime/registry/packing.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
int entry_define, entry_stale, entry_client;

// A member, by its number, and where it is believed to be.
struct Misplaced {
  std::uint32_t number;
  std::int32_t pe;
};

// A cookie in the message, where there is room for one, is set.
void put_cookie(Message& message, const CkSectionInfo& cookie) {
  if (message->size < sizeof(CkMcastBaseMsg)) return;
  auto* base = static_cast<CkMcastBaseMsg*>(message.payload());
  if (!CkMcastBaseMsg::checkMagic(base)) return;
  base->_cookie = cookie;
  base->_cookie.redNo = 0;
}

[[noreturn]] void never_set(const std::string& what) {
  fatal("a section proxy is used that was never set", describe_running(*Pe::current()), what,
        "give it a section with CProxySection_X::ckNew(array, elements) or an assignment first");
}
}  // namespace

void Sections::register_entries() {
  entry_define = register_runtime_entry("section: its members", on_define);
  register_trees();
  entry_stale = register_runtime_entry("section: members have moved", on_stale);
  entry_client = register_runtime_entry("section: reduction client", on_client);
  SectionReduction::register_entries(for_reduction);
  register_forgetting();
}

Sections::Section& Sections::section(int root, std::uint32_t number) {
  std::unique_ptr<Section>& found = sections_[static_cast<std::uint64_t>(root) << 32 | number];
  if (found) return *found;
  found = std::make_unique<Section>(*objects_.protocols, root, number);
  if (root == pe_.index) bring_back(number, *found);
  return *found;
}

Sections::Section* Sections::find(const Delivery& call) {
  const auto found =
      sections_.find(static_cast<std::uint64_t>(call.collection) << 32 | section_number_of(call.element));
  return found == sections_.end() ? nullptr : found->second.get();
}

// --- names and members -----------------------------------------------------------------------------------------------

void Sections::name(std::vector<CkSectionID>& parts) {
  if (parts.empty() || parts[0]._cookie.names_section()) return;
  std::uint32_t members = 0;
  for (const CkSectionID& part : parts) members += static_cast<std::uint32_t>(part._elems.size() + part.pelist.size());
  ++made_;
  for (CkSectionID& part : parts) {
    part._cookie.pe = pe_.index;
    part._cookie.number = made_;
    part._cookie.members = members;
  }
}

// Not among those that may be put away.
void Sections::name_and_keep(std::vector<CkSectionID>& parts) {
  name(parts);
  read_members(section(pe_.index, parts[0]._cookie.number), parts);
}

void Sections::tell_members(int root, std::uint32_t number, const std::vector<CkSectionID>& parts) {
  auto& list = const_cast<std::vector<CkSectionID>&>(parts);
  const auto pup_all = [&](PUP::er& p) {
    int teller = pe_.index;
    std::uint32_t count = static_cast<std::uint32_t>(list.size());
    p | teller;
    p | count;
    for (CkSectionID& part : list) part.pup(p);
  };
  PUP::sizer sizer;
  pup_all(sizer);
  Message message = Message::make(sizer.size());
  PUP::toMem p(message.payload());
  pup_all(p);
  pe_.send(root,
           runtime_message(std::move(message), entry_define, static_cast<std::uint32_t>(root), section_key(number, 0)));
}

void Sections::on_define(Pe& pe, Delivery& call) {
  Sections& self = *pe.objects->sections;
  PUP::fromMem p(call.arguments, call.length);
  int teller = 0;
  std::uint32_t count = 0;
  p | teller;
  p | count;
  std::vector<CkSectionID> parts(count);
  for (CkSectionID& part : parts) part.pup(p);
  Section& section = self.section(call);
  if (!section.root) self.define(section, section_number_of(call.element), parts);
  section.root->tellers.push_back(teller);
  self.release_waiting(section);
}

void Sections::define(Section& section, std::uint32_t number, const std::vector<CkSectionID>& parts) {
  read_members(section, parts);
  section.root->used = true;
  defined_.push_back(number);
  make_room();
}

void Sections::read_members(Section& section, const std::vector<CkSectionID>& parts) {
  section.root = std::make_unique<Root>();
  Root& root = *section.root;
  if (parts[0].bfactor != USE_DEFAULT_BRANCH_FACTOR) root.branching = std::abs(parts[0].bfactor);
  root.members.reserve(parts[0]._cookie.members);
  for (const CkSectionID& part : parts) {
    const auto add = [&](const CkArrayIndex& index, std::uint64_t id, int place) {
      root.members.push_back({index, id, part._cookie.aid.index(), static_cast<std::uint32_t>(root.members.size())});
      root.places.push_back(place);
    };
    for (const CkArrayIndex& index : part._elems) add(index, chare::compact_id(index), -1);
    for (int pe : part.pelist) add(CkArrayIndex(), 0, pe);
  }
}

// --- multicasts ------------------------------------------------------------------------------------------------------

void Sections::multicast(const std::vector<CkSectionID>& parts, Message message) {
  if (parts.empty()) never_set(entry_name(message->entry));
  for (const CkSectionID& part : parts)
    for (int pe : part.pelist)
      if (pe < 0 || pe >= pe_.process.pes()) bad_pe(pe, "PE", message->entry);
  const CkSectionInfo& cookie = parts[0]._cookie;
  put_cookie(message, cookie);
  Section& to = section(cookie.pe, cookie.number);
  if (cookie.pe == pe_.index) {
    if (!to.root) define(to, cookie.number, parts);
    note_created(parts, to.root.get(), message);
    return send_down(to, cookie.number, std::move(message));
  }
  if (!std::exchange(to.told, true)) tell_members(cookie.pe, cookie.number, parts);
  ++to.sent_up;
  note_created(parts, nullptr, message);
  address(message, Target::section, message->entry, static_cast<std::uint32_t>(cookie.pe),
          section_key(cookie.number, 0));
  send_to(pe_, cookie.pe, std::move(message));
}

void Sections::send_down(Section& section, std::uint32_t number, Message message) {
  Root& root = *section.root;
  root.used = true;
  if (root.members.empty()) return;
  if (root.stale) make_tree(section, number);
  ++root.sent;
  message = unshared(std::move(message));
  if (!shareable(message)) pack(message);
  address(message, Target::section, message->entry, static_cast<std::uint32_t>(pe_.index),
          section_key(number, section.tree->version));
  for (int child : section.tree->children) pe_.send(child, message.share());
  pe_.send(pe_.index, std::move(message));
}

void Sections::note_created(const std::vector<CkSectionID>& parts, const Root* root, const Message& message) {
  if (!pe_.watched(Observer::created)) [[likely]]
    return;
  std::size_t number = 0;
  for (const CkSectionID& part : parts) {
    const auto collection = static_cast<std::uint32_t>(part._cookie.aid.index());
    const auto place = [&](int unknown) {
      const int known = root && number < root->places.size() ? root->places[number] : -1;
      ++number;
      return known >= 0 ? known : unknown;
    };
    for (const CkArrayIndex& index : part._elems)
      pe_.notify_created(
          {place(part._cookie.pe), message->entry, message->size, collection, ArrayManager::id_of(index)});
    for (const int pe : part.pelist) pe_.notify_created({place(pe), message->entry, message->size, collection});
  }
}

void Sections::deliver(Delivery& call) {
  Section& to = section(call);
  const std::uint32_t version = section_version_of(call.element);
  if (version == 0) {
    if (!to.root) return to.waiting.push_back(keep(pe_, call));
    ++to.root->received;
    return send_down(to, section_number_of(call.element), std::move(call.message));
  }
  const std::shared_ptr<Tree> tree = tree_of(to, version);
  if (!tree) return to.waiting.push_back(keep(pe_, call));
  const Message message = std::move(call.message);
  if (static_cast<int>(call.collection) != pe_.index)  // the root has done it
    for (int child : tree->children) pe_.send(child, message.share());
  const bool forgotten = !to.tree;
  give_to_members(call, *tree, message);
  if (forgotten) drop_if_empty(call);
}

void Sections::give_to_members(const Delivery& call, const Tree& tree, const Message& message) {
  std::vector<Misplaced> misplaced;
  for (const SectionMember& member : tree.members) {
    if (give(member, message)) continue;
    const int place = believed_place(member);
    if (place >= 0 && place != pe_.index) misplaced.push_back({member.number, place});
    send_on(member, message);
  }
  if (misplaced.empty()) return;
  const std::string_view news(reinterpret_cast<const char*>(misplaced.data()), misplaced.size() * sizeof(Misplaced));
  pe_.send(static_cast<int>(call.collection), runtime_message({news}, entry_stale, call.collection, call.element));
}

// False: it is not here.
bool Sections::give(const SectionMember& member, const Message& message) {
  const int ep = message->entry;
  ArrayElement* element = nullptr;
  Delivery call = Delivery::view(message);
  call.collection = static_cast<std::uint32_t>(member.collection);
  if (member.of_group()) {
    GroupRecord* record = objects_.find_group(member.collection);
    if (!record || !record->object) return false;
    call.target = Target::group;
    call.element = 0;
    call.object = object_for_entry(record->type, ep, record->object);
  } else {
    ArrayManager* array = find_array(objects_, CkArrayID(CkGroupID{member.collection}));
    element = array ? array->find(member.id, member.index) : nullptr;
    if (!element) return false;
    call.target = Target::array;
    call.element = element->ckGetID();
    call.object = array->object_for(element, ep);
    call.owner = ThreadOwner::of(element).key;
  }
  const EntryInfo& entry = entry_info(ep);
  if (entry.runtime_frees() && !(entry.flags & (ep_threaded | ep_nocopy)) && !(message->flags & envelope_packed))
      [[likely]] {
    objects_.enter(call);
    return true;
  }
  call.message = message.copy();
  address(call.message, call.target, ep, call.collection, call.element);
  call.arguments = call.message.payload();
  objects_.run_entry(call);
  return true;
}

void Sections::send_on(const SectionMember& member, const Message& message) {
  Message copy = message.copy();
  if (member.of_group()) {  // it is still to be made here
    address(copy, Target::group, copy->entry, static_cast<std::uint32_t>(member.collection), 0);
    Delivery call(std::move(copy));
    return objects_.wait_for_collection(call);
  }
  const CkArrayID array(CkGroupID{member.collection});
  ArrayManager* manager = find_array(objects_, array);
  copy->hops = 0;
  if (manager) return manager->send(member.id, member.index, std::move(copy));
  ArrayManager::send_early(objects_, array, member.id, member.index, std::move(copy));
}

// Root.
void Sections::on_stale(Pe& pe, Delivery& call) {
  Section* const section = pe.objects->sections->find(call);
  // It knows better, or has been put away.
  if (!section || section_version_of(call.element) != section->version()) return;
  section->root->stale = true;
  for (std::size_t at = 0; at < call.length; at += sizeof(Misplaced)) {
    Misplaced member;
    std::memcpy(&member, static_cast<const char*>(call.arguments) + at, sizeof member);
    section->root->places[member.number] = member.pe;
  }
}

// --- reductions ------------------------------------------------------------------------------------------------------

void Sections::for_reduction(Pe& pe, Delivery& call) {
  Sections& self = *pe.objects->sections;
  Section& section = self.section(call);
  // A report comes from below, where no tree is known before it is known here: one of a newer tree is of one that has
  // been forgotten here since, and nothing would be waited for.
  if (!SectionReduction::is_report(call) && section_version_of(call.element) > section.version())
    return section.waiting.push_back(keep(pe, call));
  ++section.reducing;
  section.reduction.receive(call);
  --section.reducing;
  self.drop_if_empty(call);
}

void Sections::contribute(CkSectionInfo& cookie, ReducerType type, const chare::Contribution& contribution,
                          const CkCallback* callback) {
  if (!cookie.names_section())
    fatal("a contribution to a section whose CkSectionInfo names none", describe_running(pe_),
          "the member has not had a multicast of the section yet, or its message does not derive from CkMcastBaseMsg",
          "take the cookie out of a multicast's message with CkGetSectionInfo() first, and pup it with the member");
  const auto round = static_cast<std::uint32_t>(cookie.redNo++);
  Section& to = section(cookie.pe, cookie.number);
  ++to.reducing;
  to.reduction.contribute(round, cookie.members, type, contribution, callback);
  --to.reducing;
  drop_if_empty(cookie.pe, cookie.number);
}

void Sections::set_client(const std::vector<CkSectionID>& parts, const CkCallback& client) {
  if (parts.empty()) never_set("setReductionClient()");
  const CkSectionInfo& cookie = parts[0]._cookie;
  if (cookie.pe == pe_.index) {
    section(cookie.pe, cookie.number).reduction.set_client(client);
    return drop_if_empty(cookie.pe, cookie.number);
  }
  send_runtime(pe_, cookie.pe, entry_client, static_cast<std::uint32_t>(cookie.pe), section_key(cookie.number, 0),
               client);
}
void Sections::on_client(Pe& pe, Delivery& call) {
  pe.objects->sections->section(call).reduction.set_client(call.read<CkCallback>());
  pe.objects->sections->drop_if_empty(call);
}

// --- in words --------------------------------------------------------------------------------------------------------

std::size_t Sections::waiting() const {
  return static_cast<std::size_t>(std::count_if(sections_.begin(), sections_.end(),
                                                [](const auto& entry) { return entry.second->reduction.open(); }));
}
std::string Sections::describe() const {
  std::string text;
  for (const auto& [key, section] : sections_) text += section->reduction.describe();
  return text;
}

}  // namespace periapt
