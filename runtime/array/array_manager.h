// The part of an array on one PE: it makes and destroys elements here, and sends and delivers their messages.
//
// Each thing that has a subject of its own is a part of it:
//   ElementIds       the number of an index, which messages carry
//   LocalElements    the elements that are here
//   Location         where others are, as far as this PE knows; shared by arrays that are bound to each other
//   ArrayRouting     the way of a message to an element that is not here
//   ArrayBroadcasts  messages to all elements, also those that move meanwhile
//   Reduction        contributions of all elements
//   ArrayListeners   objects of the program that hear of the elements; only where there are any
// and array_migration.h takes elements to other PEs.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/array/array_broadcasts.h"
#include "runtime/array/array_host.h"
#include "runtime/array/array_listeners.h"
#include "runtime/array/array_routing.h"
#include "runtime/array/element_ids.h"
#include "runtime/array/element_map.h"
#include "runtime/array/local_elements.h"
#include "runtime/array/location.h"
#include "runtime/collective/reduction.h"
#include "runtime/objects/balance_hook.h"
#include "runtime/objects/pe_objects.h"

namespace periapt {

// What an element brings along when it comes from another PE, beside what its pup() packs.
struct ElementTravel {
  std::uint32_t next_reduction, broadcast_epoch;
  BalanceTravel balance;
};

// What arrays share that are bound to each other: their elements move together.
struct BoundArrays {
  BoundArrays(PeObjects& objects, const CkArrayOptions& options, CkArrayID leader);

  ElementMap map;
  Location location;
  std::vector<ArrayManager*> arrays;  // the first one leads
};

class ArrayManager final : public ArrayPart, public ArrayHost {
 public:
  ArrayManager(PeObjects& objects, CkArrayID id, int type, const CkArrayOptions& options);

  static void register_entries();
  // Makes the array on all PEs; here it is there at once. `ep`: the constructor of its first elements, whose arguments
  // `message` holds.
  static void announce(PeObjects& objects, CkArrayID id, int type, int ep, const CkArrayOptions& options,
                       void* message);

  CkArrayID id() const override { return id_; }
  int type() const { return type_; }
  const CkArrayOptions& options() const { return options_; }
  CkArray& face() { return face_; }
  // It is made: what waited for it goes on, and other PEs of the process may see it.
  void ready();
  ElementIds& ids() { return ids_; }
  const ElementMap& map() const { return shared_->map; }
  Location& location() { return shared_->location; }
  const std::vector<ArrayManager*>& bound() const { return shared_->arrays; }
  // Null when it has none.
  ArrayListeners* listeners() { return listeners_.get(); }
  void add_listener(CkArrayListener* listener);
  ArrayRouting& routing() { return routing_; }
  ArrayBroadcasts& broadcasts() { return broadcasts_; }

  // ArrayPart
  Reduction& reduction() override { return reduction_; }
  void order_migration(std::uint64_t element, int to) override { order_migration(element, index_of(element), to); }
  void order_migration_later(std::uint64_t element, int to) override {
    routing_.order_migration_later(element, index_of(element), to);
  }
  bool has(std::uint64_t element) override { return find(element) != nullptr; }
  void put_index(Message& message) const override { ids_.put_index(message); }
  void for_each_waiting(const WaitingVisitor& visit) const override;
  std::string describe_holder(const void* object) const override;
  std::string describe_late() const override;
  CkArrayIndex index_of_holder(const void* object) const override;

  // ArrayHost
  CkArrayIndex index_of(std::uint64_t id) const override { return ids_.index_of(id); }
  Age age_of(std::uint64_t id) override { return age_of(find(id)); }
  void set_age(std::uint64_t id, Age age) override;
  void migrate_element(std::uint64_t id, int to, std::uint32_t follows) override;
  void destroy_element(std::uint64_t id) override;
  void give(ArrayElement* element, const Message& message) override;
  void order_migration(std::uint64_t id, const CkArrayIndex& index, int to) override {
    routing_.order(ArrayRouting::Order::migrate, id, index, to);
  }
  void release_waiting(std::uint64_t id) override { routing_.release_waiting(id); }
  bool makes_element(const Message& message) const override;
  void make_element(int entry, int source, const CkArrayIndex& index) override;
  void claim_begins() override;
  void claim_ends() override;
  void count_kept(const Message& message) override { pe_.count(message); }
  void requeue(std::vector<Message>&& messages) override { pe_.enqueue_front(std::move(messages)); }
  void send_to_all(Message message) override;
  [[noreturn]] void refuse_second(const CkArrayIndex& index, int first) const override;
  [[noreturn]] void refuse_circle(const Message& message) const override;

  std::size_t size() const { return elements_.size(); }
  const std::vector<ArrayElement*>& elements() const { return elements_.all(); }
  ArrayElement* find(std::uint64_t id) { return elements_.find(id); }
  // `id`: 0 when only the index is known.
  ArrayElement* find(std::uint64_t id, const CkArrayIndex& index) {
    if (id != 0) [[likely]]
      return find(id);
    ids_.check(id_of(index), index);
    return find(id_of(index));
  }
  void* object_of(ArrayElement* element) const { return elements_.object_of(element); }
  void* object_for(ArrayElement* element, int ep) const { return elements_.object_for(element, ep); }
  static std::uint64_t id_of(const CkArrayIndex& index) { return ElementIds::id_of(index); }
  std::string describe(std::uint64_t id) const { return ids_.describe(id); }

  // --- sending and receiving ---
  // Where a message to it goes first.
  int locate(std::uint64_t id, const CkArrayIndex& index) {
    if (id == 0) id = id_of(index);
    return find(id) ? pe_.index : routing_.destination(id, index);
  }
  // Tells observers of a call or message to an element; call() and send() do it themselves.
  void note_created(std::uint64_t id, int to, int ep, std::uint64_t bytes) {
    if (pe_.watched(Observer::created)) [[unlikely]]
      pe_.notify_created({to, static_cast<std::uint16_t>(ep), bytes, static_cast<std::uint32_t>(id_.index()), id});
  }
  void call(std::uint64_t id, const CkArrayIndex& index, int ep, const void* arguments, unsigned length, bool together);
  void send(std::uint64_t id, const CkArrayIndex& index, Message&& message);
  void deliver(Delivery& call) {
    if (call.message && (call.message->flags & envelope_index)) [[unlikely]]
      return deliver_named(call);
    ArrayElement* element = find(call.element);
    if (!element) [[unlikely]]
      return forward(call);
    call.object = object_for(element, call.entry);
    call.owner = ThreadOwner::of(element).key;
    objects_.run_entry(call);
  }

  // The functions that get an id of an array are for PEs too that have not heard of it yet.
  static void send_early(PeObjects& objects, CkArrayID array, std::uint64_t id, const CkArrayIndex& index,
                         Message message);
  static void broadcast(CkArrayID array, Message message);
  static void order(ArrayRouting::Order what, CkArrayID array, std::uint64_t id, const CkArrayIndex& index, int to);
  // A message for an array that is not known here: it waits for it.
  static void keep(PeObjects& objects, CkArrayID array, Message message);
  // The array of a call; or null, and the call is kept until the array is there.
  static ArrayManager* of(Pe& pe, Delivery& call);
  static ArrayManager* of(Pe& pe, Delivery& call, CkArrayID array);

  // --- elements ---
  // One of the elements that the array is created with, of those that this PE makes. `message`: its arguments, shared
  // with other elements. `at_home`: it is known that this PE is its home.
  void create_first(const CkArrayIndex& index, int ep, const Message& message, bool at_home = false);
  // Makes an element on `pe` (-1: where the map says) because a message to it says so.
  void create_on_demand(const CkArrayIndex& index, int pe);
  static void insert(CkArrayID array, const CkArrayIndex& index, int ep, int pe, Message message);
  static void tell_inserting(CkArrayID array, bool begins);
  int populate_entry() const { return populate_entry_; }
  void destroy(ArrayElement* element);

  // From ArrayElement's constructor and destructor.
  void adopt(ArrayElement* element);
  void drop(ArrayElement* element);
  // The element that `base` is a base of: itself, but where a class has several array bases (further_bases.cpp).
  ArrayElement* element_of(ArrayElement* base) { return further_.empty() ? base : main_base(base); }
  // Of an element that is in AtSync(): the base that has called it, which says its load and hears that it goes on.
  ArrayElement* in_sync(ArrayElement* element) { return further_.empty() ? element : base_in_sync(element); }
  // Whether `base` is a further base that has called AtSync().
  void set_in_sync(ArrayElement* base, bool is_in_sync);
  bool is_in_sync(const ArrayElement* base) const;
  // Whether its constructor runs, or that of one that is bound to it.
  bool is_being_made(std::uint64_t id) const { return making_of(id) != nullptr; }
  // If so, it is moved or destroyed when that has returned.
  bool keep_while_made(ArrayRouting::Order what, std::uint64_t id, int to);
  // Whether none of its bases has said setMigratable(false).
  bool may_move(ArrayElement* element) const {
    return element->ckIsMigratable() && (further_.empty() || further_may_move(element));
  }
  // impl_runs() and impl_leaves() of all of its bases: each may have bodies of its own.
  bool runs(ArrayElement* element, int to) const {
    return element->impl_runs(to) || (!further_.empty() && further_run(element, to));
  }
  void leaves(ArrayElement* element) const {
    element->impl_leaves();
    if (!further_.empty()) [[unlikely]]
      further_leave(element);
  }

  // --- elements that move, for array_migration.cpp ---
  // Listeners hear that it is about to be packed, and that it has been unpacked.
  void tell_leaving(ArrayElement* element) {
    if (listeners_) [[unlikely]]
      listeners_->leaving(element);
  }
  void tell_arriving(std::uint64_t id) {
    if (listeners_) [[unlikely]]
      listeners_->arriving(id);
  }
  // What the element is to bring along. The balancer gives it up.
  ElementTravel prepare_travel(ArrayElement* element);
  // It has been packed, and will have this age where it comes to: it is gone from here.
  void leave(ArrayElement* element, Age age);
  // Makes an element that comes from PE `from` with this age out of the bytes of its pup().
  void arrive(std::uint64_t id, int from, Age age, const ElementTravel& travel, const char* bytes, std::size_t size);

  // --- elements that come back from a checkpoint, for runtime/checkpoint ---
  // The array, without elements. No reduction ends here before remade().
  static ArrayManager& remake(PeObjects& objects, CkArrayID id, int type, CkArrayOptions options, bool inserting);
  // With copies of its listeners: what it is remade from.
  CkArrayOptions options_with_listeners() const;
  // An element of it that has given all contributions below `contributions`; its pup() is to be called.
  ArrayElement* remake(const CkArrayIndex& index, std::uint32_t contributions);
  // All elements of this PE are there.
  void remade();
  void expect(std::size_t elements) {
    elements_.expect(elements);
    elements_.expect_any(elements);
  }
  static std::uint32_t contributions_of(const ArrayElement* element) { return element->next_reduction_; }
  bool inserting() const { return inserting_; }
  void done_inserting();  // on this PE
  void begin_inserting();

  Age age_of(const ArrayElement* element) const { return {element->life_, element->migrations_}; }
  void set_age(ArrayElement* element, Age age) {
    element->life_ = age.life;
    element->migrations_ = age.migrations;
  }

 private:
  bool keep_order(ArrayRouting::Order what, std::uint64_t id, int to);
  Message kept_order(ArrayRouting::Order what, std::uint64_t id, int to);
  void made(std::uint64_t id);

  // An element on its way to where it is to be made.
  struct Insertion {
    CkArrayIndex index;
    std::int32_t ep;      // its constructor
    std::int32_t to;      // the PE; -1: where the map says
    bool beside = false;  // ... but those that it is bound to decide, if there are any
    std::int32_t born =
        -1;  // the PE that counts it as born and as one that has left, if it was not made where it is told
    ElementTravel travel{};  // what it has from there
    Age age{};               // its home knows of none that it is bound to: it begins this life
    std::uint32_t hops = 0;
    bool stamped = false;  // by listeners, where insert() was called
    ListenerInts stamp{};
  };
  // An element whose constructor runs.
  struct Making {
    std::uint64_t id;
    std::size_t further = 0;      // so many of its further bases have been made: the memory of the others is as it was
    std::vector<Message> kept{};  // orders to it
  };
  // Of the element, or of one that is bound to it; null: none runs.
  Making* making_of(std::uint64_t id) const;
  // What the element whose constructor runs is to become.
  struct Construction {
    void* object = nullptr;
    Age age;
    const ElementTravel* travel = nullptr;  // not null: it comes from another PE
    const ListenerInts* stamp = nullptr;    // null: it is no new element, or there are no listeners
    bool adopted = false;                   // its first base has come to adopt()
  };

  ArrayElement* main_base(ArrayElement* base);
  std::span<const std::ptrdiff_t> further_of(const ArrayElement* element) const;
  ArrayElement* base_in_sync(ArrayElement* element) const;
  bool further_may_move(ArrayElement* element) const;
  bool further_run(ArrayElement* element, int to) const;
  void further_leave(ArrayElement* element) const;
  void adopt_further(ArrayElement* base);
  // An element whose further base sets usesAtSync does.
  void ask_further(ArrayElement* element);

  // Its own, or those of the array it is bound to.
  static std::shared_ptr<BoundArrays> shared_for(PeObjects& objects, CkArrayID id, const CkArrayOptions& options);
  static ArrayManager* make_empty(PeObjects& objects, CkArrayID id, int type, const CkArrayOptions& options);
  static void make(PeObjects& objects, CkArrayID id, int type, int ep, CkArrayOptions options, Message constructor);
  static GroupRecord* missing_collection(PeObjects& objects, const CkArrayOptions& options);
  // The message carries its index: an index too large to be an id.
  void deliver_named(Delivery& call);
  // The element is not here.
  void forward(Delivery& call);
  template <auto part>
  static void for_part(Pe& pe, Delivery& call);
  static void on_create(Pe&, Delivery&);
  static void on_insert(Pe&, Delivery&);
  static void on_inserting(Pe&, Delivery&);

  void populate(int ep, Message& constructor);
  void end_filling();
  void populate_run(const chare::Placement& placement, const chare::IndexRange& range, int ep,
                    const Message& constructor);
  void insert(Insertion insertion, Message arguments);
  void bear_unmade(Insertion& insertion);
  static Message insertion_message(CkArrayID array, const Insertion& insertion, Message arguments);
  void send_insertion(int to, Insertion& insertion, Message arguments);
  // The element goes where those are that it is bound to, and is made there.
  void create_beside(Insertion insertion, Message arguments);
  void create_inserted(const Insertion& insertion, std::uint64_t id, Age age, Message arguments);
  // Runs constructor `ep` for a new element here. `travel`: not null: what it has as one of the first of another PE.
  // `stamp`: null: listeners are to stamp it here.
  void create(const CkArrayIndex& index, std::uint64_t id, Age age, int ep, const Message& message,
              const ListenerInts* stamp = nullptr, const ElementTravel* travel = nullptr);
  template <class Constructor>
  void construct(std::uint64_t id, const Construction& construction, const Constructor& constructor);
  PERIAPT_COLD void create_after_bound(const CkArrayIndex& index, std::uint64_t id, int ep, const Message& message);
  void remove(ArrayElement* element);

  PeObjects& objects_;
  Pe& pe_;
  const CkArrayID id_;
  const int type_;
  const CkArrayOptions options_;
  CkArray face_;
  ElementIds ids_;
  LocalElements elements_;
  const std::shared_ptr<BoundArrays> shared_;
  ArrayRouting routing_;
  ArrayBroadcasts broadcasts_;
  Reduction reduction_;
  std::unique_ptr<ArrayListeners> listeners_;
  Construction construction_;
  std::vector<Making> making_;
  std::vector<std::ptrdiff_t> further_;  // where in an object its further array bases are, in the order of their making
  int populate_entry_ = -1;              // constructor of the first elements
  bool inserting_ = false;               // between beginInserting() and doneInserting()
  bool filling_first_ = true;  // its first elements are being made: they contribute to the callback of its creation
};

// The part of an array on the PE; null when it is not there (yet).
inline ArrayManager* find_array(PeObjects& objects, CkArrayID id) {
  return static_cast<ArrayManager*>(objects.array(id));
}
ArrayManager& array_manager(CkArrayID id);
[[noreturn]] void no_such_array(CkArrayID id);

}  // namespace periapt
