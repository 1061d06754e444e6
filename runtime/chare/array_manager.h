// The part of an array on one PE: its local elements, where the others are, broadcasts and migration.
//
// Where elements are: see location.h.
//
// A *broadcast* is numbered by PE 0 (its epoch) and goes down one tree. Each element holds the epoch it has seen, so
// one that migrates meanwhile gets what it missed from the kept messages of the PE it comes to, and nothing twice. A
// kept broadcast is dropped when every PE and every element on its way has passed it (`floor` below).
#pragma once
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/flat_map.h"
#include "runtime/chare/balance_hook.h"
#include "runtime/chare/location.h"
#include "runtime/chare/pe_objects.h"
#include "runtime/chare/reduction.h"

namespace periapt {

class ArrayManager {
 public:
  ArrayManager(PeObjects& objects, CkArrayID id, int type, const CkArrayOptions& options);
  ~ArrayManager();

  static void register_entries();
  static void announce(PeObjects& objects, CkArrayID id, int type, int ep, const CkArrayOptions& options,
                       void* message);

  CkArrayID id() const { return id_; }
  int type() const { return type_; }
  const CkArrayOptions& options() const { return options_; }
  CkArray& face() { return face_; }
  Location& location() { return *location_; }
  Reduction& reduction() { return reduction_; }
  std::size_t size() const { return elements_.size(); }
  const std::vector<ArrayElement*>& elements() const { return elements_; }

  ArrayElement* find(std::uint64_t id) {
    const std::uint64_t place = id - run_first_;
    if (place < run_.size()) return run_[place];
    ArrayElement** found = local_.find(id);
    return found ? *found : nullptr;
  }
  void* object_of(ArrayElement* element) const { return reinterpret_cast<char*>(element) - element_offset_; }
  void* object_for(ArrayElement* element, int ep) const { return object_for_entry(type_, ep, object_of(element)); }
  std::uint64_t id_of(const CkArrayIndex& index) { return number(index); }
  CkArrayIndex index_of(std::uint64_t id) const;
  std::string describe(std::uint64_t id) const;  // "Hello[3]"

  // --- sending and receiving ---
  // Where a message to it goes first.
  int whereabouts(std::uint64_t id, const CkArrayIndex& index) {
    if (id == 0) id = number(index);
    return find(id) ? pe_.index : destination(id, index);
  }
  // Where an inline call may be written (see OpenCall); nothing for an element without a compact id.
  OpenCall open_call(std::uint64_t id, const CkArrayIndex& index, int ep, unsigned length) {
    if (id == 0) return {};
    const int to = find(id) ? pe_.index : destination(id, index);
    return open_call_to(pe_, to,
                        call_meta(static_cast<std::uint16_t>(ep), static_cast<std::uint32_t>(id_.index()), length), id);
  }
  void call(std::uint64_t id, const CkArrayIndex& index, int ep, const void* arguments, unsigned length);
  void send(std::uint64_t id, const CkArrayIndex& index, Message&& message);
  void deliver(Message&& message);
  // The functions that get an id of an array are for PEs too that have not heard of it yet.
  static void send_early(PeObjects& objects, CkArrayID array, std::uint64_t id, const CkArrayIndex& index,
                         Message message);
  static void broadcast(CkArrayID array, Message message);
  void deliver_broadcast(Message message);

  // --- elements ---
  void populate(int ep, Message& constructor);
  // Runs constructor `ep` for a new element here. `message`: its arguments, shared with other elements.
  // `at_home`: it is known that this PE is its home.
  void create(const CkArrayIndex& index, int ep, const Message& message, bool at_home = false);
  static void insert(CkArrayID array, const CkArrayIndex& index, int ep, int pe, Message message);
  void destroy(ArrayElement* element);
  // `follows`: it goes after what it is bound to, to the PE of so many in a row.
  void migrate(ArrayElement* element, int to, std::uint32_t follows = 0);
  // Sends the element there from wherever it is.
  static void order_migration(CkArrayID array, std::uint64_t id, const CkArrayIndex& index, int to);
  static void order_destruction(CkArrayID array, std::uint64_t id, const CkArrayIndex& index);
  static void tell_inserting(CkArrayID array, bool begins);
  int populate_entry() const { return populate_entry_; }
  const std::unordered_map<std::uint64_t, std::vector<Message>>& waiting() const { return waiting_; }

  // From ArrayElement's constructor and destructor.
  void adopt(ArrayElement* element);
  void drop(ArrayElement* element);
  std::uint32_t next_round(ArrayElement* element) { return element->next_reduction_++; }

  // For Location.
  Age age_of(const ArrayElement* element) const { return {element->life_, element->migrations_}; }
  void set_age(ArrayElement* element, Age age) {
    element->life_ = age.life;
    element->migrations_ = age.migrations;
  }
  void release_waiting(std::uint64_t id);
  // The array of a call; or null, and the call is kept until the array is there.
  static ArrayManager* of(Pe& pe, const RuntimeCall& call);

 private:
  friend class ::CkArray;
  // How an element left a PE: its age then, and the broadcasts it had seen.
  struct Leave {
    Age age;
    std::uint32_t epoch;
  };
  // To tell the PE it came from that it is there, no longer behind.
  struct Duty {
    std::int32_t from = -1;
    Leave leave;
  };
  struct Departure {
    std::uint64_t id;
    Leave leave;
    Duty duty;  // left before it had caught up
  };
  // Where one that is elsewhere was sent to, as long as Location knows nothing else.
  struct Sent {
    std::uint64_t id = 0;
    std::uint32_t changes = ~std::uint32_t{0};  // none yet
    std::int32_t pe = 0;
  };
  // What an element brings along when it comes from another PE.
  struct Arrival {
    std::uint32_t next_reduction, broadcast_epoch;
    Age age;
  };

  static void make(PeObjects& objects, CkArrayID id, int type, int ep, const CkArrayOptions& options,
                   Message constructor);

  static void on_create(Pe&, const RuntimeCall&);
  static void on_insert(Pe&, const RuntimeCall&);
  static void on_arrive(Pe&, const RuntimeCall&);
  static void on_arrived(Pe&, const RuntimeCall&);
  static void on_hint(Pe&, const RuntimeCall&);
  static void on_moved(Pe&, const RuntimeCall&);
  static void on_chase(Pe&, const RuntimeCall&);
  static void on_broadcast(Pe&, const RuntimeCall&);
  static void on_floor(Pe&, const RuntimeCall&);
  static void on_inserting(Pe&, const RuntimeCall&);
  static void on_order(Pe&, const RuntimeCall&);
  static void order(int entry, CkArrayID array, std::uint64_t id, const CkArrayIndex& index, int to);
  static void keep(PeObjects& objects, CkArrayID array, Message message);
  void insert(const CkArrayIndex& index, int ep, int pe, Message message);

  void wait_for(std::uint64_t id, Message message);
  // `youngest`: the age of the places it has been sent on to, if it knows.
  void forward(Message message, std::uint64_t id, Age youngest = {});
  [[noreturn]] void refuse_circle(std::uint64_t id, const std::string& entry) const;
  void number_broadcast(Message message);
  void give_broadcast(ArrayElement* element, const Message& message);
  void run_broadcast(Message message);
  void give_to_all(const Message& message);
  void run_delayed();
  void keeps_up(std::uint64_t id);
  void depart(ArrayElement* element, Age age);
  void catch_up(std::uint64_t id);
  std::uint32_t floor() const;
  void drop_history(std::uint32_t floor);
  void remove_local(ArrayElement* element);
  void populate_run(const chare::Placement& placement, const chare::IndexRange& range, int ep,
                    const Message& constructor);
  void arrive(const char* bytes);
  void followed(std::uint64_t id, const CkArrayIndex& index, std::uint32_t follows, ArrayManager* host,
                const std::vector<ArrayManager*>& arrived);
  void rebuild(std::uint64_t id, const Arrival& arrival, const char* bytes, std::size_t size);
  static void announce_birth(BalanceHook* balance, ArrayElement* element) {
    if (element && element->usesAtSync && element->load_slot_ < 0 && balance) balance->born(*element);
  }
  std::uint64_t number(const CkArrayIndex& index);
  int destination(std::uint64_t id, const CkArrayIndex& index) {
    const Sent& sent = sent_[id % sent_.size()];
    if (sent.id == id && sent.changes == location_->changes() && location_->bound.size() == 1) [[likely]]
      return sent.pe;
    return find_destination(id, index);
  }
  int find_destination(std::uint64_t id, const CkArrayIndex& index);
  static void put_index(Message& message, const CkArrayIndex& index);
  std::uint64_t take_index(Message& message);

  PeObjects& objects_;
  Pe& pe_;
  const CkArrayID id_;
  const int type_;
  const CkArrayOptions options_;
  CkArray face_;
  std::shared_ptr<Location> location_;
  Reduction reduction_;
  // Local elements by id: those of the run of ids run_first_ ... that a dense 1D array begins with on this PE lie in a
  // plain table, null where one has gone; others in the map.
  std::vector<ArrayElement*> run_;
  std::uint64_t run_first_ = 0;
  FlatMap<ArrayElement*> local_;
  std::array<Sent, 8> sent_;  // the latest ones, by id
  std::vector<ArrayElement*> elements_;
  std::ptrdiff_t element_offset_ = 0;  // of the ArrayElement within the object
  std::unordered_map<std::uint64_t, std::vector<Message>> waiting_;
  void* creating_object_ = nullptr;   // whose constructor runs
  const Arrival* arrival_ = nullptr;  // not null: it comes from another PE
  Age birth_age_;                     // null: its age
  int populate_entry_ = -1;           // constructor of the first elements
  std::uint32_t inserting_ = 0;

  // indices too large to be ids
  std::unordered_map<CkArrayIndex, std::uint64_t> assigned_;
  std::unordered_map<std::uint64_t, CkArrayIndex> index_of_assigned_;

  // broadcasts
  std::uint32_t epoch_ = 0;       // last one delivered here
  std::uint32_t next_epoch_ = 0;  // PE 0: last one numbered
  std::deque<Message> history_;   // epoch_ - size + 1 .. epoch_
  std::deque<Message> delayed_;   // came while another one was being given out
  bool giving_ = false;
  bool disordered_ = false;  // an element of those given to already has gone
  std::size_t giving_at_ = 0;
  std::vector<Departure> departures_;               // elements that left and have not caught up elsewhere yet
  std::unordered_map<std::uint64_t, Duty> behind_;  // elements here that have not caught up yet
  std::uint32_t floors_wanted_ = 0, floors_heard_ = 0, floor_least_ = 0, floor_known_ = 0;
  bool floor_round_ = false;
};

ArrayManager& array_manager(CkArrayID id);
[[noreturn]] void no_such_array(CkArrayID id);

}  // namespace periapt
