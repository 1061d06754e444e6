// See array_migration.h.
#include "runtime/array/array_migration.h"

#include <algorithm>
#include <utility>

#include "base/fatal.h"
#include "runtime/array/packing_attempt.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/nested_scheduling.h"
#include "runtime/scheduler/process.h"
#include "runtime/zero_copy/zero_copy_entries.h"

namespace periapt {

namespace {
int entry_arrive;

// The message is a row of journeys. Each is a JourneyHeader, and for each member a MemberHeader and the bytes of its
// pup(), all of them parts as runtime_message.h says.
struct JourneyHeader {
  std::uint64_t id;
  std::uint64_t bytes;  // of the whole journey
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

class JourneyWriter {
 public:
  explicit JourneyWriter(void* at) : at_(static_cast<char*>(at)) {}
  char* room(std::size_t bytes) { return std::exchange(at_, at_ + part_bytes(bytes)); }
  template <class Header>
  void put(const Header& header) {
    std::memcpy(room(sizeof header), static_cast<const void*>(&header), sizeof header);
  }

 private:
  char* at_;
};
class JourneyReader {
 public:
  explicit JourneyReader(const void* at) : at_(static_cast<const char*>(at)) {}
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
  bool told = false;      // that it leaves
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
bool held_by_posts(const PeObjects& objects, const ArrayManager& of, std::uint64_t id, int to) {
  if (!objects.posts) [[likely]]
    return false;
  for (ArrayManager* array : of.bound())
    if (objects.posts->holds(array->id().index(), id, to)) return true;
  return false;
}

// Threads of its entries, or of those of elements bound to it, go on: it goes when they have ended.
bool held_by_threads(PeObjects& objects, const ArrayManager& of, std::uint64_t id, int to) {
  if (objects.running_threads.empty()) [[likely]]
    return false;
  for (ArrayManager* array : of.bound())
    if (objects.running_threads.keep(ThreadOwner::of(array->find(id)), array->id(), id, to)) return true;
  return false;
}

// Code of a body of it, or of one of those bound to it, runs: it goes when that has returned.
bool held_by_bodies(const ArrayManager& of, std::uint64_t id, int to) {
  for (ArrayManager* array : of.bound())
    if (ArrayElement* element = array->find(id); element && array->runs(element, to)) return true;
  return false;
}

Members members_of(const ArrayManager& array, std::uint64_t id, int to) {
  Members members;
  for (ArrayManager* bound : array.bound())
    if (ArrayElement* element = bound->find(id)) members.push_back({bound, element});
  if (members.empty())
    fatal(array.describe(id) + " is to migrate to PE " + std::to_string(to) + ", but it has left this PE already",
          describe_running(*Pe::current()), "an element is gone when migrateMe() or ckDestroy() returns",
          "let that be the last thing that the entry method does");
  return members;
}

// Tells them, and measures them. Returns the bytes of the journey.
std::size_t prepare(Members& members) {
  std::size_t total = part_bytes(sizeof(JourneyHeader));
  for (Member& member : members) {
    member.told = true;
    member.array->tell_leaving(member.element);
    member.element->ckAboutToMigrate();
    PUP::sizer sizer;
    member.element->virtual_pup(sizer);
    member.bytes = sizer.size();
    total += part_bytes(sizeof(MemberHeader)) + part_bytes(member.bytes);
  }
  return total;
}

// Returns what is wrong with it.
std::string pack_state(const Member& member, char* at) {
  PUP::toMem p(at, member.bytes);
  member.element->virtual_pup(p);
  if (p.size() == member.bytes) return "";
  return "packs " + std::to_string(p.size()) + " bytes after sizing " + std::to_string(member.bytes);
}

// Their states alone, each where it lies in the journey; `attempt` calls a function that packs one. Returns what is
// wrong.
template <class Attempt>
std::string pack_states(const Members& members, std::uint64_t id, char* at, Attempt&& attempt) {
  JourneyWriter writer(at);
  writer.room(sizeof(JourneyHeader));
  for (const Member& member : members) {
    writer.room(sizeof(MemberHeader));
    char* const place = writer.room(member.bytes);
    const std::string wrong = attempt([&] { return pack_state(member, place); });
    if (!wrong.empty()) return "pup() of " + member.array->describe(id) + " " + wrong;
  }
  return "";
}
// What stands before them. From here on they have gone.
void write_headers(const JourneyHeader& header, const Members& members, char* at) {
  if (BalanceHook* balance = Pe::current()->objects->balance) ++balance->elements_sent;
  JourneyWriter writer(at);
  writer.put(header);
  for (const Member& member : members) {
    writer.put(MemberHeader{member.array->id().index(), member.array->prepare_travel(member.element), member.bytes});
    writer.room(member.bytes);
  }
}
// They were told that they leave, and stay.
void call_back(const Members& members, std::uint64_t id) {
  for (const Member& member : members) {
    if (!member.told) continue;
    member.array->tell_arriving(id);
    if (ArrayElement* element = member.array->find(id)) element->ckJustMigrated();
  }
}

// It stays, at least for now: it is there already, or goes when what holds it here has ended.
bool stays(ArrayManager& array, ArrayElement* element, int to, std::uint32_t follows) {
  PeObjects& objects = PeObjects::current();
  Location& location = array.location();
  const std::uint64_t id = element->ckGetID();
  check_destination(array, id, to);
  if (!follows && array.age_of(element).unconfirmed()) {
    // Without a claim it was to go after what it is bound to when something held it here.
    location.has_claim(id) ? location.set_pending_migration(id, to) : location.rejoin(array, id, array.index_of(id), 0);
    return true;
  }
  return to == objects.pe.index || array.keep_while_made(ArrayRouting::Order::migrate, id, to) ||
         held_by_posts(objects, array, id, to) || held_by_threads(objects, array, id, to) ||
         held_by_bodies(array, id, to);
}

JourneyHeader journey_of(ArrayManager& array, ArrayElement* element, const Members& members, std::uint32_t follows) {
  const std::uint64_t id = element->ckGetID();
  const Age before = array.age_of(element);
  const Location::Hint* followed = follows ? array.location().find(id) : nullptr;
  const Age age = followed ? followed->age : Age{before.life, before.migrations + 1};
  return {id, 0, array.index_of(id), age, Pe::current()->index, static_cast<std::uint32_t>(members.size()), follows};
}

void send_journeys(Pe& pe, int to, const ArrayManager& array, Message message) {
  const int leader = array.bound().front()->id().index();
  send_to(pe, to, runtime_message(std::move(message), entry_arrive, static_cast<std::uint32_t>(leader)));
}
}  // namespace

bool has_threads(ArrayManager& array, std::uint64_t id) {
  const PeObjects& objects = PeObjects::current();
  if (objects.running_threads.empty()) [[likely]]
    return false;
  for (ArrayManager* bound : array.bound())
    if (objects.running_threads.any(ThreadOwner::of(bound->find(id)))) return true;
  return false;
}

ThreadOwner owner_around(const ArrayManager& array, std::uint64_t id) {
  const Pe& pe = *Pe::current();
  for (ArrayManager* bound : array.bound()) {
    const ThreadOwner owner = ThreadOwner::of(bound->find(id));
    if (!(owner == ThreadOwner{}) && scheduler::NestedScheduling::is_around(pe, owner.key)) return owner;
  }
  return {};
}

void migrate(ArrayManager& array, ArrayElement* element, int to, std::uint32_t follows) {
  if (stays(array, element, to, follows)) return;
  Pe& pe = *Pe::current();
  Location& location = array.location();
  Members members = members_of(array, element->ckGetID(), to);
  JourneyHeader header = journey_of(array, element, members, follows);
  header.bytes = prepare(members);
  Message message = Message::make(header.bytes);
  char* const at = static_cast<char*>(message.payload());
  const std::string wrong = pack_states(members, header.id, at, [](const auto& pack) { return pack(); });
  if (!wrong.empty())
    fatal(wrong, "migration from PE " + std::to_string(pe.index) + " to " + std::to_string(to),
          "pup() does something else when packing than when sizing",
          "pup the same members in both, whatever p.isSizing() says");
  write_headers(header, members, at);
  for (const Member& member : members) member.array->leaves(member.element);
  for (const Member& member : members) member.array->leave(member.element, header.age);
  if (!follows) location.learn(header.id, to, header.age, false, location.home(header.index));
  location.release_waiting(header.id);
  send_journeys(pe, to, array, std::move(message));
}

std::string MigrationBatch::add(ArrayManager& array, ArrayElement* element) {
  if (stays(array, element, to_, 0)) return "";
  Location& location = array.location();
  Members members = members_of(array, element->ckGetID(), to_);
  JourneyHeader header = journey_of(array, element, members, 0);
  std::string wrong = attempt_pup([&]() -> std::string {
    header.bytes = prepare(members);
    return "";
  });
  if (!wrong.empty()) {
    wrong = "pup() of " + array.describe(header.id) + " " + wrong;
  } else {
    char* const at = room(*array.bound().front(), header.bytes);
    wrong = pack_states(members, header.id, at, [](const auto& pack) { return attempt_pup(pack); });
    if (wrong.empty())
      write_headers(header, members, at);
    else
      used_ -= header.bytes;
  }
  if (!wrong.empty()) {
    call_back(members, header.id);
    return wrong;
  }
  for (const Member& member : members) member.array->leaves(member.element);
  for (const Member& member : members) member.array->leave(member.element, header.age);
  location.prepare_departure(header.id, header.age, location.home(header.index));
  left_.push_back(header.id);
  return "";
}

// The message grows, as it may be for one element only. One that is large has a message of its own.
char* MigrationBatch::room(ArrayManager& leader, std::size_t bytes) {
  constexpr std::size_t first_bytes = 2 << 10;
  constexpr std::size_t large_bytes = batch_bytes / 4;
  if (message_ && (leader_ != &leader || used_ + bytes > batch_bytes || bytes > large_bytes)) send();
  leader_ = &leader;
  const std::size_t needed = used_ + bytes;
  if (!message_ || needed > message_->size) {
    const std::size_t grown = message_ ? std::min<std::size_t>(batch_bytes, 2 * message_->size) : first_bytes;
    Message larger = Message::make(bytes > large_bytes ? bytes : std::max(needed, grown));
    if (used_ > 0) std::memcpy(larger.payload(), message_.payload(), used_);
    message_ = std::move(larger);
  }
  return static_cast<char*>(message_.payload()) + std::exchange(used_, needed);
}

void MigrationBatch::send() {
  if (left_.empty()) return;
  message_->size = used_;
  Location& location = leader_->location();
  for (std::uint64_t id : left_) {
    location.set_out(id, to_);
    location.release_waiting(id);
  }
  send_journeys(pe_, to_, *leader_, std::exchange(message_, Message()));
  left_.clear();
  used_ = 0;
}

// --- arriving --------------------------------------------------------------------------------------------------------

namespace {
using Arrived = std::vector<ArrayManager*>;  // whose elements have come

using HomeNews = News<ArrayRouting::Place>;

// An array that is bound to the leader and has not been made here yet; none if all are here.
CkArrayID missing_array(PeObjects& objects, const JourneyHeader& header, JourneyReader reader) {
  for (std::uint32_t i = 0; i < header.members; ++i) {
    const auto member = reader.get<MemberHeader>();
    reader.bytes(member.bytes);
    const CkArrayID id(CkGroupID{member.array});
    if (!find_array(objects, id)) return id;
  }
  return CkArrayID();
}

Arrived unpack_all(PeObjects& objects, const JourneyHeader& header, JourneyReader reader) {
  Arrived arrived;
  for (std::uint32_t i = 0; i < header.members; ++i) {
    const auto member = reader.get<MemberHeader>();
    const CkArrayID id(CkGroupID{member.array});
    ArrayManager* array = find_array(objects, id);
    if (!array) no_such_array(id);
    array->ids().came(header.id, header.index);
    if (array->find(header.id)) array->refuse_second(header.index, header.from);
    array->arrive(header.id, header.from, header.age, member.travel, reader.bytes(member.bytes), member.bytes);
    arrived.push_back(array);
  }
  return arrived;
}

void welcome(ArrayManager& array, std::uint64_t id) {
  array.tell_arriving(id);
  if (ArrayElement* element = array.find(id)) element->ckJustMigrated();
}

// They have come by themselves.
void join(ArrayManager& leader, const JourneyHeader& header, const Arrived& arrived, HomeNews& news) {
  Location& location = leader.location();
  const int here = Pe::current()->index;
  const int pending = location.joined(header.id, header.age);
  const int home = location.home(header.index);
  if (home != here && home != header.from) news.add(home, {header.id, header.age, here, home});
  for (ArrayManager* array : arrived) {
    array->routing().release_waiting(header.id);
    welcome(*array, header.id);
    array->broadcasts().catch_up(header.id);
  }
  if (pending >= 0) leader.order_migration(header.id, header.index, pending);
}

// They went after what they are bound to. `host`: an array that has it here, or null.
void join_host(Location& location, const JourneyHeader& header, ArrayHost* host, const Arrived& arrived) {
  if (!host) location.rejoin(*arrived.front(), header.id, header.index, header.follows);
  for (ArrayManager* array : arrived) {
    ArrayElement* element = array->find(header.id);
    if (host && element) array->set_age(element, host->age_of(header.id));
  }
  for (ArrayManager* array : arrived) {
    welcome(*array, header.id);
    array->broadcasts().catch_up(header.id);
    array->routing().release_waiting(header.id);
  }
}

// The journey that begins at `bytes`.
void arrive(PeObjects& objects, ArrayManager& leader, const JourneyHeader& header, const char* bytes, HomeNews& news) {
  Location& location = leader.location();
  const JourneyReader members(bytes + part_bytes(sizeof header));
  if (const CkArrayID missing = missing_array(objects, header, members); !missing.isZero()) {
    // It waits for that array, and what is sent to it meanwhile waits here.
    ArrayManager::keep(
        objects, missing,
        runtime_message({{bytes, header.bytes}}, entry_arrive, static_cast<std::uint32_t>(leader.id().index())));
    if (!header.follows) location.learn(header.id, objects.pe.index, header.age, false, location.home(header.index));
    return;
  }
  if (objects.balance) ++objects.balance->elements_received;
  if (!header.follows) location.forget(header.id);
  ArrayHost* host = location.here(header.id);  // before they are here themselves
  const Arrived arrived = unpack_all(objects, header, members);
  if (header.follows)
    join_host(location, header, host, arrived);
  else
    join(leader, header, arrived, news);
}

void on_arrive(Pe& pe, Delivery& call) {
  ArrayManager* leader = ArrayManager::of(pe, call);
  if (!leader) return;
  const std::vector<ArrayManager*>& bound = leader->bound();
  const std::size_t arrays = bound.size();  // more may be bound meanwhile
  for (std::size_t i = 0; i < arrays; ++i) bound[i]->broadcasts().hold_acknowledgements();
  HomeNews news;
  JourneyHeader header;
  for (const char* at = static_cast<const char*>(call.arguments); at < call.end(); at += header.bytes) {
    header = JourneyReader(at).get<JourneyHeader>();
    arrive(*pe.objects, *leader, header, at, news);
  }
  for (std::size_t i = 0; i < arrays; ++i) bound[i]->broadcasts().release_acknowledgements();
  leader->routing().tell_homes(news);
}
}  // namespace

void register_migration_entries() { entry_arrive = register_runtime_entry("element arrives", on_arrive); }

}  // namespace periapt
