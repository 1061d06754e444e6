// What lives on one PE: chares, members of groups, managers of arrays, futures; and how a piece of work finds them.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/flat_map.h"
#include "runtime/chare/dependencies.h"
#include "runtime/chare/invoke.h"
#include "runtime/chare/registry.h"
#include "runtime/chare/running_threads.h"
#include "runtime/scheduler/pe.h"

namespace periapt {

class ArrayManager;
class BalanceHook;
class Reduction;
class Futures;
class PeProtocols;
class Quiescence;
class StartGate;
class Watchdog;
namespace zero_copy {
class Posts;
}

struct GroupRecord {
  void* object = nullptr;  // as the entry functions get it
  void* object_in_construction = nullptr;
  IrrGroup* base = nullptr;  // the same object
  ArrayManager* array = nullptr;
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
  static PeObjects& current() { return *Pe::current()->objects; }

  Pe& pe;
  Creation creating;
  bool started = false;                    // the readonlys are here, and what the mainchares' constructors made
  std::unique_ptr<PeProtocols> protocols;  // what reductions, quiescence and the like send with
  std::unique_ptr<Futures> futures;
  std::unique_ptr<Quiescence> quiescence;
  std::unique_ptr<Watchdog> watchdog;
  std::unique_ptr<StartGate> start_gate;
  BalanceHook* balance = nullptr;  // set by runtime/loadbalance

  // --- groups ---
  GroupRecord& group(int index);        // made empty when unknown
  GroupRecord* find_group(int index) {  // null when unknown
    if (index > 0 && static_cast<std::size_t>(index) < groups_.size()) return &groups_[index];
    return find_group_slow(index);
  }
  ArrayManager* array(CkArrayID id) {
    GroupRecord* record = find_group(id.index());
    return record ? record->array : nullptr;
  }
  CkGroupID new_group_id();
  int groups_made() const { return group_serial_; }  // groups, node groups and arrays that this PE has made
  // Runs the constructor `ep` here. `message` holds its arguments.
  template <class Visit>
  void for_each_array(Visit&& visit) {
    for (GroupRecord& record : groups_)
      if (record.array) visit(*record.array);
    for (auto& [_, record] : far_groups_)
      if (record.array) visit(*record.array);
  }
  void create_group(CkGroupID id, int type, int ep, Message message);
  // What waited for it goes on, before all that came here later.
  void group_ready(CkGroupID id);

  // --- chares ---
  std::uint64_t new_chare_serial() { return (static_cast<std::uint64_t>(pe.index) << 40) | ++chare_serial_; }
  void create_chare(std::uint64_t serial, int type, int ep, Message message);
  void* find_chare(std::uint64_t serial);
  void forget_chare(std::uint64_t serial);

  // Sections that callbacks refer to, on the PE that made them.
  std::uint64_t keep_section(const CProxySection_ArrayBase& section);
  void send_to_section(int pe, std::uint64_t section, int ep, void* payload);

  // --- what waits, for the watchdog ---
  // visit(receiver in words, messages for it that cannot be delivered)
  void for_each_waiting(const std::function<void(const std::string&, const std::vector<Message>&)>& visit);
  void for_each_reduction(const std::function<void(const Reduction&)>& visit);

  // --- running ---
  void deliver(Work& work);
  void deliver(Delivery& call);
  void deliver(Delivery&& call) { deliver(call); }
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

  // Buffers that objects of this PE have posted (zero_copy_entries.h).
  zero_copy::Posts& zero_copy_posts();
  std::unique_ptr<zero_copy::Posts> posts;  // null as long as nobody has

 private:
  GroupRecord* find_group_slow(int index);
  GroupRecord* missing_group(Envelope* envelope);
  void deliver_broadcast(Delivery& call);
  void deliver_chare(Delivery& call);
  void deliver_group(Delivery& call);
  void wait_for_collection(Delivery& call);
  void start_thread(Delivery& call);
  std::vector<GroupRecord> groups_;                  // made on PE 0: 1, 2, 3 ...
  std::unordered_map<int, GroupRecord> far_groups_;  // made elsewhere: negative
  FlatMap<ChareRecord> chares_;
  std::unordered_map<std::uint64_t, std::vector<Message>> waiting_for_chare_;  // came before the chare
  std::vector<CProxySection_ArrayBase> sections_;
  std::uint64_t chare_serial_ = 0;
  int group_serial_ = 0;
};

// A message with the arguments of an inline call.
Message message_of_call(Target target, int ep, std::uint32_t collection, std::uint64_t element, const void* arguments,
                        std::size_t length);
// The message of a call, its own or one with its arguments.
Message to_message(Delivery& call);
// The same of a call that has been delivered and has to wait: it will be once more.
Message keep(Pe& pe, Delivery& call);

// Storage of an object of a chare class; its entry functions construct in it.
void* allocate_object(std::size_t bytes);
void free_object(void* object);

// The address of the base whose entry `ep` is, of an object of chare type `type`. Only where some base lies at an
// offset (multiple inheritance).
extern bool bases_have_offsets;
void* base_object(int type, int ep, void* object);
inline void* object_for_entry(int type, int ep, void* object) {
  return bases_have_offsets ? base_object(type, ep, object) : object;
}

// Whether copies of the message may be made with memcpy and used as they are: its class packs nothing, or nobody
// changes what is shared because its entry's function doesn't keep it.
bool shareable(const Message& message);

// Message classes with a pack() of their own are packed on the way to another process, all classes on the way to
// another host.
void pack(Message& message);
Message packed_for_other_host(Message message);
// A program's message on its way to a runtime entry, also of another host, where its address would mean nothing:
// `element` says what it is for. The entry gets it back as the program knew it.
void send_whole(Pe& pe, int to, int entry, std::uint64_t element, Message message);
Message received_whole(Delivery& call);
void unpack(Message& message);

// Sends to `to`, packing messages that need it when they leave the process.
void send_to(Pe& pe, int to, Message&& message);
// Whether quiescence waits for calls of an entry of the runtime.
inline Pe::Counting counting(int entry) {
  return entry_info(entry).flags & ep_uncounted ? Pe::Counting::no : Pe::Counting::yes;
}
// Sends a call to an entry of the runtime.
template <class T>
void send_runtime(Pe& pe, int to, int entry, std::uint32_t collection, std::uint64_t element, const T& arguments) {
  static_assert(sizeof(T) <= inline_arguments_max && std::is_trivially_copyable_v<T>);
  alignas(16) char bytes[inline_arguments_max];
  std::memcpy(bytes, &arguments, sizeof(T));
  pe.send_call(to, call_meta(entry, collection, sizeof(T)), element, bytes, counting(entry));
}

// Opens an inline call to an object on `to`; counted as created.
inline OpenCall open_call_to(Pe& pe, int to, std::uint64_t meta, std::uint64_t element) {
  host::Slot* slot;
  void* arguments = pe.reserve(to, meta, element, slot, Pe::Counting::yes);
  return {arguments, slot, meta, to};
}

// "Hello[3]::work(int n)" of what a PE runs now; empty when nothing does.
std::string describe_running(const Pe& pe);

}  // namespace periapt
