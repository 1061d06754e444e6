// See array_migration.h.
#include "runtime/array/array_migration.h"

#include <utility>

#include "base/fatal.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/process.h"
#include "runtime/zero_copy/zero_copy_entries.h"

namespace periapt {

namespace {
int entry_arrive;

// The message is a JourneyHeader, and for each member a MemberHeader and the bytes of its pup(), all of them parts as
// runtime_message.h says.
struct JourneyHeader {
  std::uint64_t id;
  CkArrayIndex index;
  Age age;
  std::int32_t from;
  std::uint32_t members;  // elements of bound arrays in it
  std::uint32_t follows;  // not 0: it goes after those it is bound to, for so many PEs
};
struct MemberHeader {
  std::int32_t array;
  ElementTravel travel;
  std::uint64_t bytes;
};

class Writer {
 public:
  explicit Writer(void* at) : at_(static_cast<char*>(at)) {}
  char* room(std::size_t bytes) { return std::exchange(at_, at_ + part_bytes(bytes)); }
  template <class Header>
  void put(const Header& header) {
    std::memcpy(room(sizeof header), static_cast<const void*>(&header), sizeof header);
  }

 private:
  char* at_;
};
class Reader {
 public:
  explicit Reader(const void* at) : at_(static_cast<const char*>(at)) {}
  const char* bytes(std::size_t count) { return std::exchange(at_, at_ + part_bytes(count)); }
  template <class Header>
  Header get() {
    Header header;
    std::memcpy(static_cast<void*>(&header), bytes(sizeof header), sizeof header);
    return header;
  }

 private:
  const char* at_;
};

// --- leaving ---------------------------------------------------------------------------------------------------------

struct Member {
  ArrayManager* array;
  ArrayElement* element;
  std::size_t bytes = 0;  // of its pup()
};
using Members = std::vector<Member>;

void check_destination(const ArrayManager& array, std::uint64_t id, int to) {
  const Pe& pe = *Pe::current();
  if (to >= 0 && to < pe.process.pes()) return;
  fatal(array.describe(id) + " is to migrate to PE " + std::to_string(to) + ", but PEs are numbered 0 to " +
            std::to_string(pe.process.pes() - 1),
        describe_running(pe));
}

// Buffers of its calls, or of those bound to it, are being filled: it goes when they are.
bool held_by_posts(const PeObjects& objects, const Location& location, std::uint64_t id, int to) {
  if (!objects.posts) [[likely]]
    return false;
  for (ArrayManager* array : location.bound)
    if (objects.posts->holds(array->id().index(), id, to)) return true;
  return false;
}

// Threads of its entries, or of those of elements bound to it, go on: it goes when they have ended.
bool held_by_threads(PeObjects& objects, const Location& location, std::uint64_t id, int to) {
  if (objects.running_threads.empty()) [[likely]]
    return false;
  for (ArrayManager* array : location.bound)
    if (objects.running_threads.keep(ThreadOwner::of(array->find(id)), array->id(), id, to)) return true;
  return false;
}

// Code of a body of it, or of one of those bound to it, runs: it goes when that has returned.
bool held_by_bodies(const Location& location, std::uint64_t id, int to) {
  for (ArrayManager* array : location.bound)
    if (ArrayElement* element = array->find(id); element && element->impl_runs(to)) return true;
  return false;
}

Members members_of(const ArrayManager& array, const Location& location, std::uint64_t id, int to) {
  Members members;
  for (ArrayManager* bound : location.bound)
    if (ArrayElement* element = bound->find(id)) members.push_back({bound, element});
  if (members.empty())
    fatal(array.describe(id) + " is to migrate to PE " + std::to_string(to) + ", but it has left this PE already",
          describe_running(*Pe::current()), "an element is gone when migrateMe() or ckDestroy() returns",
          "let that be the last thing that the entry method does");
  return members;
}

// Tells them, and measures them. Returns the bytes of the message.
std::size_t prepare(Members& members) {
  std::size_t total = part_bytes(sizeof(JourneyHeader));
  for (Member& member : members) {
    member.element->ckAboutToMigrate();
    PUP::sizer sizer;
    member.element->virtual_pup(sizer);
    member.bytes = sizer.size();
    total += part_bytes(sizeof(MemberHeader)) + part_bytes(member.bytes);
  }
  return total;
}

void pack_member(const Member& member, std::uint64_t id, int to, Writer& writer) {
  writer.put(MemberHeader{member.array->id().index(), member.array->prepare_travel(member.element), member.bytes});
  PUP::toMem p(writer.room(member.bytes));
  member.element->virtual_pup(p);
  if (p.size() != member.bytes)
    fatal("pup() of " + member.array->describe(id) + " packs " + std::to_string(p.size()) + " bytes after sizing " +
              std::to_string(member.bytes),
          "migration from PE " + std::to_string(Pe::current()->index) + " to " + std::to_string(to),
          "pup() does something else when packing than when sizing",
          "pup the same members in both, whatever p.isSizing() says");
}

Message pack_all(const JourneyHeader& header, Members& members, int to) {
  Message message = Message::make(prepare(members));
  if (BalanceHook* balance = Pe::current()->objects->balance) ++balance->elements_sent;
  Writer writer(message.payload());
  writer.put(header);
  for (const Member& member : members) pack_member(member, header.id, to, writer);
  return message;
}
}  // namespace

bool has_threads(ArrayManager& array, std::uint64_t id) {
  const PeObjects& objects = PeObjects::current();
  for (ArrayManager* bound : array.location().bound)
    if (objects.running_threads.any(ThreadOwner::of(bound->find(id)))) return true;
  return false;
}

void migrate(ArrayManager& array, ArrayElement* element, int to, std::uint32_t follows) {
  PeObjects& objects = PeObjects::current();
  Pe& pe = objects.pe;
  Location& location = array.location();
  const std::uint64_t id = element->ckGetID();
  const Age before = array.age_of(element);
  check_destination(array, id, to);
  if (!follows && before.unsettled()) {
    if (location.has_claim(id)) return location.wish(id, to);
    // It was to go after what it is bound to when something held it here.
    return location.rejoin(array, id, array.index_of(id), 0);
  }
  if (to == pe.index || held_by_posts(objects, location, id, to) || held_by_threads(objects, location, id, to) ||
      held_by_bodies(location, id, to))
    return;
  const Location::Hint* followed = follows ? location.find(id) : nullptr;
  const Age age = followed ? followed->age : Age{before.life, before.migrations + 1};

  Members members = members_of(array, location, id, to);
  const JourneyHeader header{id,     array.index_of(id), age, pe.index, static_cast<std::uint32_t>(members.size()),
                             follows};
  Message message = pack_all(header, members, to);
  for (const Member& member : members) member.element->impl_leaves();
  for (const Member& member : members) member.array->leave(member.element, age);
  if (!follows) location.learn(id, to, age, false, location.home(header.index));
  location.release_waiting(id);
  const int leader = location.bound.front()->id().index();
  send_to(pe, to, runtime_message(std::move(message), entry_arrive, static_cast<std::uint32_t>(leader)));
}

// --- arriving --------------------------------------------------------------------------------------------------------

namespace {
using Arrived = std::vector<ArrayManager*>;  // whose elements have come

// Arrays that are bound to the leader may not have been made here yet: then the call is kept for them.
bool all_known(Pe& pe, Delivery& call, const JourneyHeader& header, Reader reader) {
  for (std::uint32_t i = 0; i < header.members; ++i) {
    const auto member = reader.get<MemberHeader>();
    reader.bytes(member.bytes);
    if (!ArrayManager::of(pe, call, CkArrayID(CkGroupID{member.array}))) return false;
  }
  return true;
}

Arrived unpack_all(PeObjects& objects, const JourneyHeader& header, Reader reader) {
  Arrived arrived;
  for (std::uint32_t i = 0; i < header.members; ++i) {
    const auto member = reader.get<MemberHeader>();
    const CkArrayID id(CkGroupID{member.array});
    ArrayManager* array = find_array(objects, id);
    if (!array) no_such_array(id);
    array->ids().came(header.id, header.index);
    if (array->find(header.id)) array->location().refuse_second(*array, header.index, header.from);
    array->arrive(header.id, header.from, header.age, member.travel, reader.bytes(member.bytes), member.bytes);
    arrived.push_back(array);
  }
  return arrived;
}

// They have come by themselves.
void join(ArrayManager& leader, const JourneyHeader& header, const Arrived& arrived) {
  Location& location = leader.location();
  const int here = Pe::current()->index;
  const int wish = location.joined(header.id, header.age);
  const int home = location.home(header.index);
  if (home != here && home != header.from) leader.routing().tell_home(home, header.id, header.age);
  for (ArrayManager* array : arrived) {
    array->routing().release_waiting(header.id);
    if (ArrayElement* element = array->find(header.id)) element->ckJustMigrated();
    array->broadcasts().catch_up(header.id);
  }
  if (wish >= 0) ArrayRouting::order_migration(leader.id(), header.id, header.index, wish);
}

// They went after what they are bound to. `host`: an array that has it here, or null.
void join_host(Location& location, const JourneyHeader& header, ArrayManager* host, const Arrived& arrived) {
  if (!host) location.rejoin(*arrived.front(), header.id, header.index, header.follows);
  for (ArrayManager* array : arrived) {
    ArrayElement* element = array->find(header.id);
    if (host && element) array->set_age(element, host->age_of(host->find(header.id)));
  }
  for (ArrayManager* array : arrived) {
    if (ArrayElement* element = array->find(header.id)) element->ckJustMigrated();
    array->broadcasts().catch_up(header.id);
    array->routing().release_waiting(header.id);
  }
}

void on_arrive(Pe& pe, Delivery& call) {
  ArrayManager* leader = ArrayManager::of(pe, call);
  if (!leader) return;
  PeObjects& objects = *pe.objects;
  Location& location = leader->location();
  Reader reader(call.arguments);
  const auto header = reader.get<JourneyHeader>();
  if (!all_known(pe, call, header, reader)) {
    // What is sent to it meanwhile waits here.
    if (!header.follows) location.learn(header.id, pe.index, header.age, false, location.home(header.index));
    return;
  }
  if (objects.balance) ++objects.balance->elements_received;

  if (!header.follows) location.forget(header.id);
  ArrayManager* host = location.here(header.id);  // before they are here themselves
  const Arrived arrived = unpack_all(objects, header, reader);
  if (header.follows)
    join_host(location, header, host, arrived);
  else
    join(*leader, header, arrived);
}
}  // namespace

void register_migration_entries() { entry_arrive = register_runtime_entry("element arrives", on_arrive); }

}  // namespace periapt
