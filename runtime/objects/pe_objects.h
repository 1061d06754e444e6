// What lives on one PE: chares, members of groups, managers of arrays, futures; and how a piece of work finds them.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/flat_map.h"
#include "runtime/api/invoke.h"
#include "runtime/collective/reduction.h"
#include "runtime/objects/array_part.h"
#include "runtime/objects/running_threads.h"
#include "runtime/registry/packing.h"
#include "runtime/registry/registry.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/pe.h"

namespace periapt {

class ArrayManager;
class BalanceHook;
class Futures;
class PeProtocols;
class Quiescence;
class Sections;
class StartGate;
namespace seeds {
class Pool;
}
class Watchdog;
namespace zero_copy {
class Posts;
struct DeviceSums;
struct Packers;
}  // namespace zero_copy
namespace checkpoint {
class Checkpoints;
}
namespace trace {
class Recorder;
}

// The whens that wait on a PE (runtime/sdag), for the watchdog.
class WaitingBodies {
 public:
  virtual ~WaitingBodies() = default;
  virtual std::string describe() const = 0;
};

struct GroupRecord {
  void* object = nullptr;  // as the entry functions get it
  void* object_in_construction = nullptr;
  IrrGroup* base = nullptr;  // the same object
  ArrayPart* array = nullptr;
  int type = -1;
  std::unique_ptr<Reduction> reduction;
  std::vector<Message> waiting;  // came before the group

  GroupRecord();
  ~GroupRecord();
  GroupRecord(GroupRecord&&) noexcept;
  GroupRecord& operator=(GroupRecord&&) noexcept;
};

struct ChareRecord {
  void* object = nullptr;
  int type = -1;
  bool far_from_handle = false;  // it came as a seed: the PE that its maker's handle names is told of its end
  Chare* base = nullptr;         // the same object
};

// What the constructor being run is for: the bases of objects read it.
struct Creation {
  CkChareID chare;
  CkGroupID group;
  ArrayManager* manager = nullptr;
  std::uint64_t element = 0;
};

class PeObjects {
 public:
  explicit PeObjects(Pe& pe);
  ~PeObjects();
  static void register_entries();
  static PeObjects& current() { return *Pe::current()->objects; }

  Pe& pe;
  Creation creating;
  bool started = false;                    // the readonlys are here, and what the mainchares' constructors made
  std::unique_ptr<PeProtocols> protocols;  // what reductions, quiescence and the like send with
  std::unique_ptr<Futures> futures;
  std::unique_ptr<Quiescence> quiescence;
  // Made by floors above this one, which know what they are.
  std::shared_ptr<Sections> sections;
  std::shared_ptr<StartGate> start_gate;
  std::shared_ptr<seeds::Pool> seeds;  // null: chares that are made without a PE wait nowhere (runtime/seeds)
  std::shared_ptr<Watchdog> watchdog;
  std::shared_ptr<checkpoint::Checkpoints> checkpoints;
  std::shared_ptr<trace::Recorder> trace;         // null: nothing of this PE is recorded
  BalanceHook* balance = nullptr;                 // set by runtime/loadbalance
  void (*all_wait_in_sync)(Pe&) = nullptr;        // set by runtime/resize: called where BalanceHook holds a step
  std::unique_ptr<WaitingBodies> waiting_bodies;  // set by runtime/sdag; null: there have been none

  // --- groups ---
  GroupRecord& group(int index);        // made empty when unknown
  GroupRecord* find_group(int index) {  // null when unknown
    if (index > 0 && static_cast<std::size_t>(index) < groups_.size()) return &groups_[index];
    return find_group_slow(index);
  }
  ArrayPart* array(CkArrayID id) {  // null when it is not here (yet)
    GroupRecord* record = find_group(id.index());
    return record ? record->array : nullptr;
  }
  template <class Visit>
  void for_each_array(Visit&& visit) {
    for (GroupRecord& record : groups_)
      if (record.array) visit(*record.array);
    for (auto& [_, record] : far_groups_)
      if (record.array) visit(*record.array);
  }
  template <class Visit>
  void for_each_group(Visit&& visit) {  // visit(number, record), those of PE 0 in the order in which it made them
    for (std::size_t i = 0; i < groups_.size(); ++i)
      if (groups_[i].object) visit(static_cast<int>(i), groups_[i]);
    for (auto& [number, record] : far_groups_)
      if (record.object && number > own_groups) visit(number, record);
  }
  // Groups of the runtime's own, made on every PE at each start without a message, have numbers from this one down. No
  // visit sees them, so they are in no checkpoint.
  static constexpr int own_groups = -(1 << 30);
  CkGroupID new_group_id();
  int groups_made() const { return group_serial_; }  // groups, node groups and arrays that this PE has made
  // Runs the constructor `ep` here. `message` holds its arguments.
  void create_group(CkGroupID id, int type, int ep, Message message);
  // What waited for it goes on, before all that came here later.
  void group_ready(CkGroupID id);
  // The number of the next contribution of a group's member here.
  static std::uint32_t& contributions_of(Group& member) { return member.next_reduction_; }
  // A call for a collection that is not here: it waits for that.
  void wait_for_collection(Delivery& call) {
    group(static_cast<int>(call.collection)).waiting.push_back(keep(pe, call));
  }

  // --- chares ---
  std::uint64_t new_chare_serial() { return (static_cast<std::uint64_t>(pe.index) << 40) | ++chare_serial_; }
  // `came`: as a seed, which tells its maker.
  void create_chare(std::uint64_t serial, int type, int ep, Message message, bool came = false);
  void* find_chare(std::uint64_t serial);
  ChareRecord* find_chare_record(std::uint64_t serial) { return chares_.find(serial); }
  void wait_for_chare(Delivery& call) { waiting_for_chare_[call.element].push_back(keep(pe, call)); }
  void forget_chare(std::uint64_t serial);
  // A chare that is made without a PE may be constructed elsewhere than its maker's handle says, which names the
  // maker's PE. That one hears when it is constructed, and when it is deleted: in between it sends on the calls that it
  // gets for it. Earlier ones wait there, as for any chare that is not made yet.
  static int maker_of(std::uint64_t serial) { return static_cast<int>(serial >> 40); }
  // Of a chare here, which may have come as a seed.
  void tell_maker(std::uint64_t serial);
  // Where a chare of this PE's handle was constructed; null: here, or nowhere yet.
  const int* place_of_moved(std::uint64_t serial) const { return moved_chares_.find(serial); }
  std::size_t moved_chares() const { return moved_chares_.size(); }

  template <class Visit>
  void for_each_chare(Visit&& visit) {  // visit(serial number, record)
    chares_.for_each(visit);
  }

  // --- objects that come back from a checkpoint, for runtime/checkpoint: their migration constructor runs ---
  // The chare of this number; its pup() is to be called.
  Chare& remake_chare(std::uint64_t serial, int type);
  // The member of a group; its pup() is to be called, and then group_ready(). For the rest: Reduction.
  GroupRecord& remake_group(CkGroupID id, int type, const Reduction::State& reduction, std::uint32_t contributions,
                            bool counted);
  std::uint64_t chares_made() const { return chare_serial_; }
  // New chares and collections get higher numbers.
  void continue_numbers(std::uint64_t chares, int groups) {
    chare_serial_ = chares;
    group_serial_ = groups;
  }

  // Sections that callbacks refer to, on the PE that made them.
  std::uint64_t keep_section(const CProxySection_ArrayBase& section);
  void send_to_section(int pe, std::uint64_t section, int ep, void* payload);
  std::uint32_t members_of_section(std::uint64_t section);  // one that was kept here

  // --- what waits, for the watchdog ---
  void for_each_waiting(const WaitingVisitor& visit);
  void for_each_reduction(const std::function<void(const Reduction&)>& visit);

  // --- running ---
  // Entries with arrays that are sent without a copy: what runs them. Set by runtime/zero_copy.
  static inline void (*run_without_copy)(PeObjects& objects, Delivery& call) = nullptr;
  // The result of a reduction, for the callback: is it one of memory of GPUs? Then it is taken, and sent on when its
  // bytes are there. Set by runtime/zero_copy.
  static inline bool (*take_device_result)(const CkCallback& callback, void* message) = nullptr;
  // Runs the entry on `call.object`, of which it takes the message.
  void run_entry(Delivery& call);
  // The same, when all its arguments are here.
  void run_ready(Delivery& call);
  // Calls user code beside the entry that the message is for: function(call).
  void call_aside(const Message& message, void* object, const std::function<void(Delivery&)>& function);
  // Calls an entry directly. Owns the payload.
  void run_now(int ep, void* object, void* payload, ThreadOwner owner) {
    Delivery call(Message::from_payload(payload));
    call.entry = static_cast<std::uint16_t>(ep);
    call.object = object;
    call.owner = owner.key;
    run_entry(call);
  }
  void enter(Delivery& call);
  // Runs a constructor on storage. Takes the message.
  void construct(int ep, void* object, Message message);

  std::uint32_t round_robin = 0;
  RunningThreads running_threads{pe};

  // Buffers that objects of this PE have posted (runtime/zero_copy); null as long as there are none.
  std::shared_ptr<zero_copy::Posts> posts;
  // Contributions in memory of GPUs, and their sums (runtime/zero_copy); null as long as there are none.
  std::shared_ptr<zero_copy::DeviceSums> device_sums;
  // What packs arrays in strided memory (runtime/zero_copy); null as long as there are none.
  std::shared_ptr<zero_copy::Packers> packers;

 private:
  GroupRecord* find_group_slow(int index);
  void start_thread(Delivery& call);
  void release_calls(std::uint64_t chare);
  std::vector<GroupRecord> groups_;                  // made on PE 0: 1, 2, 3 ...
  std::unordered_map<int, GroupRecord> far_groups_;  // made elsewhere: negative
  FlatMap<ChareRecord> chares_;
  FlatMap<int> moved_chares_;                                                  // PE by serial number
  std::unordered_map<std::uint64_t, std::vector<Message>> waiting_for_chare_;  // came before the chare
  std::vector<CProxySection_ArrayBase> sections_;
  std::uint64_t chare_serial_ = 0;
  int group_serial_ = 0;
};

// Has a migration constructor: array elements, and what is [migratable].
inline bool is_migratable(int type) {
  return registry().chares[static_cast<std::size_t>(type)].migration_constructor >= 0;
}
// Runs it.
void construct_migrated(int type, void* object);
// Whether that can make one: the class may have no constructor that it could call.
bool can_be_made_again(int type);

// Storage of an object of a chare class; its entry functions construct in it.
void* allocate_object(std::size_t bytes);
void free_object(void* object);

// The address of the base whose entry `ep` is, of an object of chare type `type`. Only where some base lies at an
// offset (multiple inheritance).
void* base_object(int type, int ep, void* object);
void* base_object_of(int type, int base, void* object);
inline void* object_for_entry(int type, int ep, void* object) {
  return bases_have_offsets ? base_object(type, ep, object) : object;
}

// Tells observers of a call or message to a chare, or to the member of `group` that PE `to` has or its process.
inline void note_created(Pe& pe, int to, int ep, std::size_t bytes, int group = 0) {
  if (pe.watched(Observer::created)) [[unlikely]]
    pe.notify_created({to, static_cast<std::uint16_t>(ep), bytes, static_cast<std::uint32_t>(group)});
}
// `what`: "PE" or "process".
[[noreturn]] void bad_pe(int number, const char* what, int ep);

// "Hello[3]::work(int n)" of what a PE runs now; empty when nothing does.
std::string describe_running(const Pe& pe);

}  // namespace periapt
