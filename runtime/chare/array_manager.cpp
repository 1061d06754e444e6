// Elements of an array: creation, messages, broadcasts, migration. See array_manager.h.
#include "runtime/chare/array_manager.h"

#include <algorithm>
#include <cstdlib>

#include "base/fatal.h"
#include "runtime/chare/zero_copy_entries.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
int entry_create, entry_insert, entry_arrive, entry_arrived, entry_hint, entry_moved, entry_chase, entry_floor,
    entry_inserting, entry_migrate, entry_destroy;

// Kept broadcasts are looked through for ones that can go once in so many.
constexpr std::uint32_t floor_interval = 16;
// Elements that a broadcast asks the memory for ahead of their turn.
constexpr std::size_t prefetch_ahead = 8;
// Hops of one message before it goes by way of the home: hints of an element that has died may point in a circle.
constexpr int hops_astray = 8;
// Hops of one message before it is looked at whether it comes nearer. An element that moves with each message that it
// gets, and has thousands of them behind it, leads the last of them as often from PE to PE as it has moved.
constexpr int hops_chase = 64;
// Hops before it is clear that something is wrong: so many since hops_chase brought no younger place.
constexpr int hops_max = 200;

struct CreateHeader {
  std::int32_t type, ep;
  CkArrayOptions options;
};
struct InsertHeader {
  CkArrayIndex index;
  std::int32_t ep;
  std::int32_t to;  // the PE; -1: where the map says
};
struct ArriveHeader {
  std::uint64_t id;
  CkArrayIndex index;
  Age age;
  std::int32_t from;
  std::uint32_t members;  // elements of bound arrays in it
  std::uint32_t follows;  // not 0: it goes after those it is bound to, for so many PEs
};
struct MemberHeader {
  std::int32_t array;
  std::uint32_t next_reduction, broadcast_epoch;
  BalanceTravel balance;
  std::uint64_t bytes;
};
// An order to an element that may be elsewhere.
struct OrderCall {
  CkArrayIndex index;
  std::int32_t to;  // the PE it is to migrate to
};
struct HintCall {
  Age age;
  std::int32_t pe;
};
// A message that has been forwarded often. Its envelope has no room for what it must know then.
struct ChaseHeader {
  Age youngest;  // of the places it has been sent on to
};
// A message inside another one, behind a header.
template <class Header>
Message wrap(const Header& header, Message inner) {
  static_assert(std::is_trivially_copyable_v<Header>);
  const std::size_t at = (sizeof(Header) + 15) & ~std::size_t{15};
  std::size_t bytes = 0;
  if (inner) {
    pack(inner);
    bytes = message_bytes(inner->size, inner->priority_bits);
  }
  // The outer message waits for the groups that the inner one waits for.
  const bool waits = inner && (inner->flags & envelope_waits);
  const int groups = waits ? GroupDependencies(inner.envelope()).count() : 0;
  Message outer = Message::make(GroupDependencies::padded(at + bytes, groups));
  std::memcpy(outer.payload(), &header, sizeof header);
  if (bytes) std::memcpy(static_cast<char*>(outer.payload()) + at, inner.envelope(), bytes);
  if (waits) {
    GroupDependencies wanted(outer.envelope(), groups);
    for (int i = 0; i < groups; ++i) wanted.set(i, GroupDependencies(inner.envelope()).get(i));
  }
  return outer;
}
template <class Header>
Message unwrap(const RuntimeCall& call, Header& header) {
  const std::size_t at = (sizeof(Header) + 15) & ~std::size_t{15};
  header = call.read<Header>();
  if (call.length <= at) return Message();
  const char* bytes = static_cast<const char*>(call.arguments) + at;
  Envelope* copy = static_cast<Envelope*>(Pe::current()->heap.allocate(call.length - at));
  std::memcpy(copy, bytes, call.length - at);
  return Message(copy);  // still packed, if it was
}
Message runtime_message(Message message, int entry, std::uint32_t collection, std::uint64_t element = 0) {
  message->target = Target::runtime;
  message->entry = static_cast<std::uint16_t>(entry);
  message->collection = collection;
  message->element = element;
  return message;
}
}  // namespace

void ArrayManager::register_entries() {
  Location::register_entries();
  entry_create = register_runtime_entry("create array", on_create);
  entry_insert = register_runtime_entry("insert element", on_insert);
  entry_arrive = register_runtime_entry("element arrives", on_arrive);
  entry_arrived = register_runtime_entry("element has arrived", on_arrived);
  entry_hint = register_runtime_entry("where an element is", on_hint);
  entry_moved = register_runtime_entry("where an element has come to", on_moved);
  entry_chase = register_runtime_entry("a message follows its element", on_chase);
  entry_floor = register_runtime_entry("broadcasts seen", on_floor);
  entry_inserting = register_runtime_entry("insertion begins or ends", on_inserting);
  entry_migrate = register_runtime_entry("migrate element", on_order);
  entry_destroy = register_runtime_entry("destroy element", on_order);
}

ArrayManager& array_manager(CkArrayID id) {
  ArrayManager* manager = PeObjects::current().array(id);
  if (!manager) no_such_array(id);
  return *manager;
}

void no_such_array(CkArrayID id) {
  if (id.isZero())
    fatal("an array proxy is used that was never set", describe_running(*Pe::current()),
          "a proxy is empty until ckNew() or an assignment gives it an array",
          "if it is a readonly, set it in the mainchare's constructor");
  fatal("array " + std::to_string(id.index()) + " is not known on PE " + std::to_string(Pe::current()->index),
        describe_running(*Pe::current()), "its creation has not reached this PE yet, or its id is not an array's",
        "use the proxy only from what its creation leads to");
}

// --- creation --------------------------------------------------------------------------------------------------------

ArrayManager::ArrayManager(PeObjects& objects, CkArrayID id, int type, const CkArrayOptions& options)
    : objects_(objects),
      pe_(objects.pe),
      id_(id),
      type_(type),
      options_(options),
      face_(*this),
      reduction_(objects, id.index(), Reduction::Tree::pes, false) {
  if (options.getBoundTo().isZero()) {
    location_ = std::make_shared<Location>(objects, options, id);
  } else {
    location_ = array_manager(options.getBoundTo()).location_;
  }
  location_->bound.push_back(this);
  if (!options.getReductionClient().isInvalid()) reduction_.set_client(options.getReductionClient());
}
ArrayManager::~ArrayManager() = default;

// An array is made on all PEs by one broadcast, here at once.
CkArrayID new_array(int type, int ep, const CkArrayOptions& options, void* message) {
  PeObjects& objects = PeObjects::current();
  const CkArrayID id(objects.new_group_id());
  ArrayManager::announce(objects, id, type, ep, options, message);
  return id;
}

void new_array_async(int type, int ep, const CkArrayOptions& options, const CkCallback& cb, void* message) {
  CkArrayID id = new_array(type, ep, options, message);
  cb.send(new CkArrayCreatedMsg(id));
}

void ArrayManager::announce(PeObjects& objects, CkArrayID id, int type, int ep, const CkArrayOptions& options,
                            void* message) {
  Pe& pe = objects.pe;
  Message constructor = message ? Message::from_payload(message) : Message();
  if (constructor) pack(constructor);  // every element gets a copy
  if (pe.process.pes() > 1) {
    Message news = wrap(CreateHeader{type, ep, options}, constructor ? constructor.copy() : Message());
    news = runtime_message(std::move(news), entry_create, static_cast<std::uint32_t>(id.index()));
    pe.created += pe.process.pes() - 1;
    pe.broadcast(news);
  }
  make(objects, id, type, ep, options, std::move(constructor));
}

void ArrayManager::make(PeObjects& objects, CkArrayID id, int type, int ep, const CkArrayOptions& options,
                        Message constructor) {
  auto* manager = new ArrayManager(objects, id, type, options);
  GroupRecord& record = objects.group(id.index());
  record.array = manager;
  record.type = type;
  if (objects.balance) objects.balance->arrays_known += CkArrayIndex1D(id.index()).hash64();
  // An array that begins empty is being filled until doneInserting().
  if (!options.populated()) {
    manager->inserting_ = 1;
    manager->reduction_.hold();
  } else if (ep >= 0)
    manager->populate(ep, constructor);
  if (objects.pe.index == 0 && !options.getInitCallback().isInvalid()) options.getInitCallback().send();
  objects.group_ready(id);
}

void ArrayManager::on_create(Pe& pe, const RuntimeCall& call) {
  PeObjects& objects = *pe.objects;
  CreateHeader header;
  Message constructor = unwrap(call, header);
  const CkArrayID id(CkGroupID{static_cast<int>(call.collection)});
  for (int needed : {header.options.getMap().idx, header.options.getBoundTo().index()}) {
    if (needed == 0) continue;
    GroupRecord& group = objects.group(needed);
    if (group.object || group.array) continue;
    // The map, or the array this one is bound to, is still on its way.
    group.waiting.push_back(Message(call.envelope).share());
    static_cast<void>(Message(call.envelope).release());
    return;
  }
  objects.count_processed();
  make(objects, id, header.type, header.ep, header.options, std::move(constructor));
}

void ArrayManager::populate(int ep, Message& constructor) {
  if (CkArrayMap* map = location_->map()) {
    CkArrayOptions options = options_;
    Message own = constructor.copy();
    unpack(own);
    populate_entry_ = ep;
    map->populateInitial(location_->map_handle(), options, payload_of(own.release()), &face_);
    return;
  }
  const int me = pe_.index;
  const int pes = pe_.process.pes();
  const chare::IndexRange range(options_.getStart(), options_.getEnd(), options_.getStep());
  elements_.reserve(range.size() / pes + 1);
  const chare::Placement& placement = location_->placement();
  if (placement.is_contiguous() && range.size() > 0 && range.size() == placement.count() &&
      placement.position_of(range[0]) == 0 && placement.position_of(range[range.size() - 1]) == range.size() - 1)
    return populate_run(placement, range, ep, constructor);
  local_.reserve(range.size() / pes + 1);
  for (const CkArrayIndex& index : range)
    if (location_->place(index) == me) create(index, ep, constructor);
}

// The first elements fill the bounds, and ours are a run of positions: nobody else's are looked at.
void ArrayManager::populate_run(const chare::Placement& placement, const chare::IndexRange& range, int ep,
                                const Message& constructor) {
  const std::int64_t first = placement.first_on(pe_.index);
  const std::int64_t end = pe_.index + 1 < pe_.process.pes() ? placement.first_on(pe_.index + 1) : range.size();
  if (range.dimension() == 1 && first < end) {
    run_first_ = number(range[first]);
    run_.resize(static_cast<std::size_t>(end - first));
  } else {
    local_.reserve(static_cast<std::size_t>(end - first));
  }
  constexpr bool at_home = true;
  if (range.dimension() == 1) {  // begins at 0, in steps of 1
    for (std::int64_t i = first; i < end; ++i) create(CkArrayIndex1D(static_cast<int>(i)), ep, constructor, at_home);
    return;
  }
  for (std::int64_t position = first; position < end; ++position) create(range[position], ep, constructor, at_home);
}

void ArrayManager::create(const CkArrayIndex& index, int ep, const Message& message, bool at_home) {
  const std::uint64_t id = number(index);
  if (find(id)) location_->refuse_second(*this, index, pe_.index);
  birth_age_ = location_->birth(*this, id, index, at_home);

  const EntryInfo& entry = entry_info(ep);
  void* object = allocate_object(registry().chares[type_].size);
  const Creation outer = objects_.creating;
  const Arrival* outer_arrival = arrival_;
  arrival_ = nullptr;
  objects_.creating = {};
  objects_.creating.manager = this;
  objects_.creating.element = id;
  creating_object_ = object;
  if (entry.runtime_frees()) {
    ++pe_.created;
    objects_.enter(ep, object, message.payload(), static_cast<char*>(message.payload()) + message->size, Message());
  } else {
    ++pe_.created;
    Message own = message.copy();
    own->flags &= ~envelope_tree;
    objects_.enter(ep, object, own.payload(), nullptr, std::move(own));
  }
  objects_.creating = outer;
  arrival_ = outer_arrival;
  announce_birth(objects_.balance, find(id));
  release_waiting(id);
}

void ArrayManager::adopt(ArrayElement* element) {
  const std::uint64_t id = objects_.creating.element;
  element->manager_ = this;
  element->thisArrayID = id_;
  element->id_ = id;
  element_offset_ = reinterpret_cast<char*>(element) - static_cast<char*>(creating_object_);
  element->position_ = static_cast<std::uint32_t>(elements_.size());
  elements_.push_back(element);
  if (id - run_first_ < run_.size())
    run_[id - run_first_] = element;
  else
    local_[id] = element;
  if (arrival_) {
    element->next_reduction_ = arrival_->next_reduction;
    element->broadcast_epoch_ = arrival_->broadcast_epoch;
    set_age(element, arrival_->age);
    reduction_.arrived(element->next_reduction_);
  } else {
    set_age(element, birth_age_);
    element->next_reduction_ = reduction_.born();
    element->broadcast_epoch_ = epoch_;
  }
}

void ArrayManager::remove_local(ArrayElement* element) {
  // One that has not had the broadcast being given may come to a place that has been passed.
  if (giving_ && element->position_ < giving_at_) disordered_ = true;
  ArrayElement* last = elements_.back();
  elements_[element->position_] = last;
  last->position_ = element->position_;
  elements_.pop_back();
  if (element->id_ - run_first_ < run_.size())
    run_[element->id_ - run_first_] = nullptr;
  else
    local_.erase(element->id_);
}

namespace {
void free_element(ArrayElement* element, void* object) {
  element->~ArrayElement();
  free_object(object);
}
}  // namespace

// The destructor of an element that is deleted by the program itself.
void ArrayManager::drop(ArrayElement* element) {
  if (find(element->id_) != element) return;
  if (element->load_slot_ >= 0) objects_.balance->died(*element);
  remove_local(element);
  keeps_up(element->id_);
  reduction_.died(element->next_reduction_);
  location_->died(element->id_, index_of(element->id_), age_of(element));
}

void ArrayManager::destroy(ArrayElement* element) {
  void* object = object_of(element);
  element->~ArrayElement();  // virtual; ends in drop()
  free_object(object);
}

void insert_element(const CProxyElement_ArrayBase& proxy, int ep, int pe, void* message) {
  ArrayManager::insert(proxy.ckGetArrayID(), proxy.ckGetIndex(), ep, pe, Message::from_payload(message));
}

void ArrayManager::insert(CkArrayID id, const CkArrayIndex& index, int ep, int to, Message message) {
  PeObjects& objects = PeObjects::current();
  if (ArrayManager* manager = objects.array(id)) return manager->insert(index, ep, to, std::move(message));
  if (objects.balance) ++objects.balance->elements_sent;
  keep(objects, id,
       runtime_message(wrap(InsertHeader{index, ep, to}, std::move(message)), entry_insert,
                       static_cast<std::uint32_t>(id.index())));
}

void ArrayManager::insert(const CkArrayIndex& index, int ep, int to, Message message) {
  if (to < 0) to = location_->place(index);
  if (to >= pe_.process.pes())
    fatal("element " + index.toString() + " is to be inserted on PE " + std::to_string(to) + ", but there are " +
              std::to_string(pe_.process.pes()) + " PEs",
          describe_running(pe_));
  if (to == pe_.index) return create(index, ep, message);
  ++pe_.created;
  if (objects_.balance) ++objects_.balance->elements_sent;
  send_to(pe_, to,
          runtime_message(wrap(InsertHeader{index, ep, to}, std::move(message)), entry_insert,
                          static_cast<std::uint32_t>(id_.index())));
}

// A proxy may come to a PE before the creation of its array does. What is sent through it waits here.
void ArrayManager::keep(PeObjects& objects, CkArrayID id, Message message) {
  if (id.isZero()) no_such_array(id);
  ++objects.pe.created;
  objects.group(id.index()).waiting.push_back(std::move(message));
}
void ArrayManager::send_early(PeObjects& objects, CkArrayID array, std::uint64_t id, const CkArrayIndex& index,
                              Message message) {
  message->target = Target::array;
  message->collection = static_cast<std::uint32_t>(array.index());
  message->element = id;
  if (id == 0) put_index(message, index);
  keep(objects, array, std::move(message));
}

// The array of a call; or null, and the call is kept until the array is there.
ArrayManager* ArrayManager::of(Pe& pe, const RuntimeCall& call) {
  ArrayManager* manager = pe.objects->array(CkArrayID(CkGroupID{static_cast<int>(call.collection)}));
  if (manager) return manager;
  pe.objects->group(static_cast<int>(call.collection)).waiting.push_back(set_aside(pe, call));
  return nullptr;
}

void ArrayManager::on_insert(Pe& pe, const RuntimeCall& call) {
  ArrayManager* manager = of(pe, call);
  if (!manager) return;
  pe.objects->count_processed();
  if (pe.objects->balance) ++pe.objects->balance->elements_received;
  InsertHeader header;
  Message message = unwrap(call, header);
  manager->insert(header.index, header.ep, header.to, std::move(message));
}

void ArrayManager::tell_inserting(CkArrayID id, bool begins) {
  if (id.isZero()) no_such_array(id);
  Pe& pe = *Pe::current();
  for (int to = 0; to < pe.process.pes(); ++to)
    send_runtime(pe, to, entry_inserting, id.index(), 0, static_cast<std::uint32_t>(begins));
}
void ArrayManager::on_inserting(Pe& pe, const RuntimeCall& call) {
  ArrayManager* manager = of(pe, call);
  if (!manager) return;
  const std::uint32_t begins = call.read<std::uint32_t>();
  if (begins == manager->inserting_) return;
  manager->inserting_ = begins;
  begins ? manager->reduction_.hold() : manager->reduction_.unhold();
}

// --- ids -------------------------------------------------------------------------------------------------------------

// Every index has one number. One that is too large to be its own gets 62 bits of hash, so that all PEs agree without
// talking; should two indices of an array ever collide, the PE that sees both refuses.
std::uint64_t ArrayManager::number(const CkArrayIndex& index) {
  if (auto id = chare::compact_id(index)) return *id;
  auto [known, made] = assigned_.try_emplace(index, 0);
  if (made) {
    known->second = std::uint64_t{1} << 63 | (index.hash64() >> 2);
    auto [slot, fresh] = index_of_assigned_.try_emplace(known->second, index);
    if (!fresh && !(slot->second == index))
      fatal("indices " + index.toString() + " and " + slot->second.toString() + " cannot be told apart",
            describe(known->second), "their 62-bit numbers collide", "change one of the indices");
  }
  return known->second;
}

CkArrayIndex ArrayManager::index_of(std::uint64_t id) const {
  if (chare::is_compact_id(id)) return chare::index_of(id);
  auto found = index_of_assigned_.find(id);
  if (found == index_of_assigned_.end()) fatal("an element id that no index has: " + std::to_string(id));
  return found->second;
}

std::string ArrayManager::describe(std::uint64_t id) const {
  std::string index = chare::is_compact_id(id) || index_of_assigned_.count(id) ? index_of(id).toString() : "[?]";
  return registry().chares[type_].name + index;
}

// --- messages --------------------------------------------------------------------------------------------------------

int ArrayManager::find_destination(std::uint64_t id, const CkArrayIndex& index) {
  // What it is bound to is here: so will it be.
  if (location_->bound.size() > 1)
    for (ArrayManager* other : location_->bound)
      if (other != this && other->find(id)) return pe_.index;
  const int guess = location_->guess(id);
  const int pe = guess >= 0 ? guess : location_->home(index);
  if (location_->map() == nullptr) sent_[id % sent_.size()] = {id, location_->changes(), pe};  // maps may be capricious
  return pe;
}

void ArrayManager::call(std::uint64_t id, const CkArrayIndex& index, int ep, const void* arguments, unsigned length) {
  if (id == 0) [[unlikely]] {
    id = number(index);
  }
  ++pe_.created;
  const std::uint64_t meta = call_meta(static_cast<std::uint16_t>(ep), id_.index(), length);
  if (find(id)) return pe_.enqueue_call(meta, id, arguments);
  if (!chare::is_compact_id(id)) {
    Message message = boxed(pe_, Target::array, ep, id_.index(), id, arguments, length);
    put_index(message, index);
    return send_to(pe_, destination(id, index), std::move(message));
  }
  pe_.send_call(destination(id, index), meta, id, arguments);
}

void ArrayManager::send(std::uint64_t id, const CkArrayIndex& index, Message&& message) {
  if (id == 0) [[unlikely]]
    id = number(index);
  ++pe_.created;
  message->target = Target::array;
  message->collection = static_cast<std::uint32_t>(id_.index());
  message->element = id;
  if (find(id)) return pe_.enqueue(std::move(message));
  if (!chare::is_compact_id(id)) put_index(message, index);
  send_to(pe_, destination(id, index), std::move(message));
}

// An index that is too large to be an id travels whole, in envelope fields that are free then.
void ArrayManager::put_index(Message& message, const CkArrayIndex& index) {
  std::memcpy(&message->element, index.index, 8);
  message->index_rest = static_cast<std::uint32_t>(index.index[2]);
  message->spare = static_cast<std::uint16_t>(index.dimension << 8 | index.nInts);
  message->flags |= envelope_index;
}
std::uint64_t ArrayManager::take_index(Message& message) {
  CkArrayIndex index;
  std::memcpy(index.index, &message->element, 8);
  index.index[2] = static_cast<int>(message->index_rest);
  index.dimension = message->spare >> 8;
  index.nInts = message->spare & 255;
  message->index_rest = 0;
  message->flags &= ~envelope_index;
  return message->element = number(index);
}

void ArrayManager::deliver(Message&& message) {
  if (message->flags & envelope_index) take_index(message);
  const std::uint64_t id = message->element;
  if (ArrayElement* element = find(id)) {
    const int ep = message->entry;
    char* payload = static_cast<char*>(message.payload());
    const char* end = payload + message->size;
    return objects_.run_entry(ep, object_for(element, ep), payload, end, std::move(message));
  }
  forward(std::move(message), id);
}

void ArrayManager::forward(Message message, std::uint64_t id, Age youngest) {
  const CkArrayIndex index = index_of(id);
  int to = destination(id, index);
  if (to == pe_.index) return wait_for(id, std::move(message));
  const int home = location_->home(index);
  const Location::Hint* hint = location_->find(id);
  if (message->hops >= hops_chase && hint && (youngest.unsettled() || hint->age.younger_than(youngest))) {
    youngest = hint->age;
    message->hops = hops_chase;
  }
  ++message->hops;
  if (message->hops % hops_chase == hops_astray && home != pe_.index) to = home;
  if (message->hops > hops_max) refuse_circle(id, entry_name(message->entry));
  // Whoever sent it learns where the element is, if it is there for sure. The home knows as much itself.
  const int source = message->source;
  if (hint && hint->arrived && hint->pe == to && source != pe_.index && source != to && source != home)
    send_runtime(pe_, source, entry_hint, id_.index(), id, HintCall{hint->age, to});
  if (!chare::is_compact_id(id)) put_index(message, index);
  if (message->hops > hops_chase)
    message = runtime_message(wrap(ChaseHeader{youngest}, std::move(message)), entry_chase,
                              static_cast<std::uint32_t>(id_.index()), id);
  send_to(pe_, to, std::move(message));
}

void ArrayManager::on_chase(Pe& pe, const RuntimeCall& call) {
  ArrayManager* manager = of(pe, call);
  if (!manager) return;
  ChaseHeader header;
  Message message = unwrap(call, header);
  if (message->flags & envelope_index) manager->take_index(message);
  const std::uint64_t id = message->element;
  if (!manager->find(id)) return manager->forward(std::move(message), id, header.youngest);
  message->hops = 0;
  pe.enqueue(std::move(message));
}

void ArrayManager::refuse_circle(std::uint64_t id, const std::string& entry) const {
  const std::string what = "a message for " + describe(id) + " goes in a circle";
  if (location_->map())
    fatal(what, entry, "homePe() of the array's map does not name the same PE everywhere",
          "let procNum() and homePe() depend on the index alone");
  fatal(what, entry, "a bug of the runtime: each PE believes the element on another", "please report it");
}

// At home, for an element that doesn't exist (yet).
void ArrayManager::wait_for(std::uint64_t id, Message message) {
  const unsigned flags = entry_info(message->entry).flags;
  const int source = message->source;
  auto& queue = waiting_[id];
  const bool first = queue.empty();
  queue.push_back(std::move(message));
  if (!first || !(flags & (ep_createhere | ep_createhome))) return;
  const int constructor = registry().chares[type_].default_constructor;
  if (constructor < 0)
    fatal(describe(id) + " is to be created by a message to it, but its class has no constructor without arguments",
          "[createhere] or [createhome] entry", "",
          "declare `entry " + std::string(registry().chares[type_].name) + "();`");
  Message none = Message::make(0);
  none->message_type = static_cast<std::uint16_t>(CMessage_CkMarshallMsg::__idx);
  insert(index_of(id), constructor, flags & ep_createhere ? source : pe_.index, std::move(none));
}

void ArrayManager::release_waiting(std::uint64_t id) {
  auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  std::vector<Message> messages = std::move(found->second);
  waiting_.erase(found);
  // Through the queue: the caller may be in the middle of something.
  for (Message& message : messages) pe_.enqueue(std::move(message));
}

void ArrayManager::on_hint(Pe& pe, const RuntimeCall& call) {
  ArrayManager* manager = of(pe, call);
  if (!manager) return;
  const HintCall hint = call.read<HintCall>();
  if (manager->location_->here(call.element) || hint.pe == pe.index) return;
  if (manager->location_->learn(call.element, hint.pe, hint.age, true)) manager->release_waiting(call.element);
}
void ArrayManager::on_moved(Pe& pe, const RuntimeCall& call) {
  ArrayManager* manager = of(pe, call);
  if (!manager) return;
  const HintCall hint = call.read<HintCall>();
  manager->location_->moved(call.element, hint.pe, hint.age);
}

// --- broadcasts ------------------------------------------------------------------------------------------------------

void ArrayManager::broadcast(CkArrayID id, Message message) {
  PeObjects& objects = PeObjects::current();
  message->target = Target::broadcast;
  message->collection = static_cast<std::uint32_t>(id.index());
  message->element = 0;
  ArrayManager* manager = objects.array(id);
  if (!manager && (objects.pe.index == 0 || id.isZero())) return keep(objects, id, std::move(message));
  ++objects.pe.created;
  if (objects.pe.index == 0) return manager->number_broadcast(std::move(message));
  send_to(objects.pe, 0, std::move(message));
}

void ArrayManager::number_broadcast(Message message) {
  if (message.shared()) message = message.copy();
  if (!shareable(message)) pack(message);
  ++pe_.processed;
  pe_.created += pe_.process.pes();
  message->element = ++next_epoch_;
  message->extra = floor_known_;
  message->hops = 0;
  if (!floor_round_ && next_epoch_ % floor_interval == 0 && pe_.process.pes() > 1) {
    floor_round_ = true;
    floors_heard_ = 0;
    floor_least_ = next_epoch_;
    message->hops = 1;
  }
  pe_.broadcast(message);
  pe_.enqueue(std::move(message));
}

void ArrayManager::deliver_broadcast(Message message) {
  if (message->element == 0) return number_broadcast(std::move(message));
  // In the order of their numbers, one after the other.
  if (giving_ || message->element != epoch_ + 1) {
    auto later = [](const Message& a, const Message& b) { return a->element < b->element; };
    delayed_.insert(std::upper_bound(delayed_.begin(), delayed_.end(), message, later), std::move(message));
    return;
  }
  run_broadcast(std::move(message));
  run_delayed();
}

void ArrayManager::run_delayed() {
  while (!delayed_.empty() && delayed_.front()->element == epoch_ + 1) {
    Message next = std::move(delayed_.front());
    delayed_.pop_front();
    run_broadcast(std::move(next));
  }
}

void ArrayManager::run_broadcast(Message message) {
  ++pe_.processed;
  giving_ = true;
  epoch_ = static_cast<std::uint32_t>(message->element);
  const bool alone = pe_.process.pes() == 1;
  if (!alone) {
    drop_history(message->extra);
    history_.push_back(message.share());
  }
  do {
    disordered_ = false;
    give_to_all(message);
  } while (disordered_);
  giving_ = false;
  if (!alone && message->hops) send_runtime(pe_, 0, entry_floor, id_.index(), 0, floor());
}

// Elements may vanish, move and appear while we are at it: the last one takes the place of one that goes, and one that
// appears has seen this epoch.
void ArrayManager::give_to_all(const Message& message) {
  for (std::size_t i = 0; i < elements_.size();) {
    ArrayElement* element = elements_[i];
    giving_at_ = i;
    if (i + prefetch_ahead < elements_.size()) {
      const char* later = reinterpret_cast<const char*>(elements_[i + prefetch_ahead]);
      __builtin_prefetch(later);
      __builtin_prefetch(later + 64);
    }
    if (element->broadcast_epoch_ + 1 == epoch_) [[likely]] {
      give_broadcast(element, message);
    } else if (element->broadcast_epoch_ < epoch_) {
      // Came from a slower PE while this broadcast was being given out.
      const std::uint64_t id = element->id_;
      auto missed = std::find_if(history_.begin(), history_.end(),
                                 [&](const Message& m) { return m->element > element->broadcast_epoch_; });
      if (missed != history_.end()) {
        give_broadcast(element, missed->share());
        keeps_up(id);
        continue;
      }
    }
    if (i < elements_.size() && elements_[i] != element) continue;
    ++i;
  }
}

void ArrayManager::give_broadcast(ArrayElement* element, const Message& message) {
  element->broadcast_epoch_ = static_cast<std::uint32_t>(message->element);
  const int ep = message->entry;
  const EntryInfo& entry = entry_info(ep);
  ++pe_.created;
  char* payload = static_cast<char*>(message.payload());
  void* object = object_for(element, ep);
  if (entry.flags & ep_nocopypost) [[unlikely]]
    return zero_copy::run_for_element(objects_, ep, object, id_.index(), element->id_, message);
  if (entry.runtime_frees() && !(entry.flags & ep_threaded) && !(message->flags & envelope_packed)) [[likely]] {
    objects_.enter(ep, object, payload, payload + message->size, Message());
  } else {
    Message own = message.copy();
    payload = static_cast<char*>(own.payload());
    const char* end = payload + own->size;
    objects_.run_entry(ep, object, payload, end, std::move(own));
  }
}

// What an element that came from a slower PE has missed. giving_ is held: a broadcast that comes meanwhile waits.
void ArrayManager::catch_up(std::uint64_t id) {
  if (giving_) return;  // run_broadcast's loop reaches the element
  giving_ = true;
  giving_at_ = 0;
  for (std::size_t i = 0; i < history_.size(); ++i) {
    ArrayElement* element = find(id);
    if (!element) break;
    if (history_[i]->element > element->broadcast_epoch_) {
      Message message = history_[i].share();
      give_broadcast(element, message);
    }
  }
  giving_ = false;
  keeps_up(id);
  run_delayed();
}

// An element that came here is no longer behind this PE, or is gone: the PE it came from need not count with
// it any more (see floor). One that leaves earlier takes this duty along.
void ArrayManager::keeps_up(std::uint64_t id) {
  auto found = behind_.find(id);
  if (found == behind_.end()) return;
  ArrayElement* element = find(id);
  if (element && element->broadcast_epoch_ < epoch_) return;
  const Duty duty = found->second;
  behind_.erase(found);
  send_runtime(pe_, duty.from, entry_arrived, id_.index(), id, duty.leave);
}

// The oldest broadcast that somebody on the way from here may not have seen, minus one. Whoever left is counted with
// here until it is no longer behind the PE it has come to: that one may have answered before.
std::uint32_t ArrayManager::floor() const {
  std::uint32_t least = epoch_;
  for (const Departure& d : departures_) least = std::min(least, d.leave.epoch);
  return least;
}

void ArrayManager::drop_history(std::uint32_t floor) {
  while (!history_.empty() && history_.front()->element <= floor) history_.pop_front();
}

// PE 0: once all have answered, everybody has seen the least of the answers; the next broadcast says so.
void ArrayManager::on_floor(Pe& pe, const RuntimeCall& call) {
  ArrayManager* manager = of(pe, call);
  if (!manager) return;
  const std::uint32_t floor = call.read<std::uint32_t>();
  manager->floor_least_ = std::min(manager->floor_least_, floor);
  if (++manager->floors_heard_ < static_cast<std::uint32_t>(pe.process.pes())) return;
  manager->floor_known_ = manager->floor_least_;
  manager->floor_round_ = false;
}

// --- migration -------------------------------------------------------------------------------------------------------

void ArrayManager::migrate(ArrayElement* element, int to, std::uint32_t follows) {
  const std::uint64_t id = element->id_;
  if (to < 0 || to >= pe_.process.pes())
    fatal(describe(element->id_) + " is to migrate to PE " + std::to_string(to) + ", but PEs are numbered 0 to " +
              std::to_string(pe_.process.pes() - 1),
          describe_running(pe_));
  if (!follows && age_of(element).unsettled()) return location_->wish(id, to);
  if (to == pe_.index) return;
  if (objects_.posts) [[unlikely]]
    for (ArrayManager* manager : location_->bound)
      if (objects_.posts->holds(manager->id_.index(), id, to)) return;
  const Location::Hint* followed = follows ? location_->find(id) : nullptr;
  const Age age = followed ? followed->age : Age{element->life_, element->migrations_ + 1};
  std::vector<std::pair<ArrayManager*, ArrayElement*>> members;
  for (ArrayManager* manager : location_->bound)
    if (ArrayElement* member = manager->find(id)) members.emplace_back(manager, member);
  if (members.empty())
    fatal(describe(id) + " is to migrate to PE " + std::to_string(to) + ", but it has left this PE already",
          describe_running(pe_), "an element is gone when migrateMe() or ckDestroy() returns",
          "let that be the last thing that the entry method does");

  constexpr std::size_t header_bytes = (sizeof(ArriveHeader) + 15) & ~std::size_t{15};
  constexpr std::size_t member_bytes = (sizeof(MemberHeader) + 15) & ~std::size_t{15};
  std::size_t total = header_bytes;
  std::vector<std::size_t> sizes;
  for (auto& [manager, member] : members) {
    member->ckAboutToMigrate();
    PUP::sizer sizer;
    member->virtual_pup(sizer);
    sizes.push_back(sizer.size());
    total += member_bytes + ((sizer.size() + 15) & ~std::size_t{15});
  }
  Message message = Message::make(total);
  if (objects_.balance) ++objects_.balance->elements_sent;
  char* at = static_cast<char*>(message.payload());
  const ArriveHeader header{id, index_of(id), age, pe_.index, static_cast<std::uint32_t>(members.size()), follows};
  std::memcpy(at, static_cast<const void*>(&header), sizeof header);
  at += header_bytes;
  for (std::size_t i = 0; i < members.size(); ++i) {
    auto [manager, member] = members[i];
    const MemberHeader mine{manager->id_.index(), member->next_reduction_, member->broadcast_epoch_,
                            member->load_slot_ >= 0 ? objects_.balance->left(*member) : BalanceTravel{}, sizes[i]};
    std::memcpy(at, &mine, sizeof mine);
    at += member_bytes;
    PUP::toMem p(at);
    member->virtual_pup(p);
    if (p.size() != sizes[i])
      fatal("pup() of " + manager->describe(id) + " packs " + std::to_string(p.size()) + " bytes after sizing " +
                std::to_string(sizes[i]),
            "migration from PE " + std::to_string(pe_.index) + " to " + std::to_string(to),
            "pup() does something else when packing than when sizing",
            "pup the same members in both, whatever p.isSizing() says");
    at += (sizes[i] + 15) & ~std::size_t{15};
  }
  for (auto [manager, member] : members) {
    manager->remove_local(member);
    manager->reduction_.left(member->next_reduction_);
    manager->depart(member, age);
    void* object = manager->object_of(member);
    free_element(member, object);
  }
  if (!follows) location_->learn(id, to, age, false);
  for (ArrayManager* manager : location_->bound) manager->release_waiting(id);
  ++pe_.created;
  send_to(pe_, to,
          runtime_message(std::move(message), entry_arrive,
                          static_cast<std::uint32_t>(location_->bound.front()->id_.index())));
}

void ArrayManager::depart(ArrayElement* element, Age age) {
  Departure departure{element->id_, {age, element->broadcast_epoch_}, {}};
  if (auto found = behind_.find(element->id_); found != behind_.end()) {
    departure.duty = found->second;
    behind_.erase(found);
  }
  departures_.push_back(departure);
}

void ArrayManager::on_arrive(Pe& pe, const RuntimeCall& call) {
  ArrayManager* leader = of(pe, call);
  if (!leader) return;
  // Arrays that are bound to the leader may not have been made here yet.
  ArriveHeader header;
  const char* at = static_cast<const char*>(call.arguments);
  std::memcpy(&header, at, sizeof header);
  at += (sizeof header + 15) & ~std::size_t{15};
  for (std::uint32_t i = 0; i < header.members; ++i) {
    MemberHeader member;
    std::memcpy(&member, at, sizeof member);
    at += ((sizeof member + 15) & ~std::size_t{15}) + ((member.bytes + 15) & ~std::uint64_t{15});
    RuntimeCall needs_member = call;
    needs_member.collection = static_cast<std::uint32_t>(member.array);
    if (of(pe, needs_member)) continue;
    // What is sent to it meanwhile waits here.
    if (!header.follows) leader->location_->learn(header.id, pe.index, header.age, false);
    return;
  }
  pe.objects->count_processed();
  if (pe.objects->balance) ++pe.objects->balance->elements_received;
  leader->arrive(static_cast<const char*>(call.arguments));
}

void ArrayManager::arrive(const char* at) {
  ArriveHeader header;
  std::memcpy(&header, at, sizeof header);
  at += (sizeof header + 15) & ~std::size_t{15};
  number(header.index);
  if (!header.follows) location_->forget(header.id);
  ArrayManager* host = location_->here(header.id);
  std::vector<ArrayManager*> arrived;
  for (std::uint32_t i = 0; i < header.members; ++i) {
    MemberHeader member;
    std::memcpy(&member, at, sizeof member);
    at += (sizeof member + 15) & ~std::size_t{15};
    ArrayManager* manager = objects_.array(CkArrayID(CkGroupID{member.array}));
    if (!manager) no_such_array(CkArrayID(CkGroupID{member.array}));
    const Arrival arrival{member.next_reduction, member.broadcast_epoch, header.age};
    manager->number(header.index);
    if (manager->find(header.id)) location_->refuse_second(*manager, header.index, header.from);
    manager->rebuild(header.id, arrival, at, member.bytes);
    if (ArrayElement* element = manager->find(header.id))
      if (element->usesAtSync && objects_.balance) objects_.balance->arrived(*element, member.balance);
    const Duty duty{header.from, {header.age, member.broadcast_epoch}};
    if (member.broadcast_epoch < manager->epoch_)
      manager->behind_[header.id] = duty;
    else
      send_runtime(pe_, duty.from, entry_arrived, member.array, header.id, duty.leave);
    arrived.push_back(manager);
    at += (member.bytes + 15) & ~std::size_t{15};
  }
  if (header.follows) return followed(header.id, header.index, header.follows, host, arrived);
  const int wish = location_->joined(header.id, header.age);
  const int home = location_->home(header.index);
  if (home != pe_.index && home != header.from)
    send_runtime(pe_, home, entry_moved, id_.index(), header.id, HintCall{header.age, pe_.index});
  for (ArrayManager* manager : arrived) {
    manager->release_waiting(header.id);
    if (ArrayElement* element = manager->find(header.id)) element->ckJustMigrated();
    manager->catch_up(header.id);
  }
  if (wish >= 0) order_migration(id_, header.id, header.index, wish);
}

// Those that went after what they are bound to have come: is it here?
void ArrayManager::followed(std::uint64_t id, const CkArrayIndex& index, std::uint32_t follows, ArrayManager* host,
                            const std::vector<ArrayManager*>& arrived) {
  if (!host) location_->rejoin(*arrived.front(), id, index, follows);
  for (ArrayManager* manager : arrived) {
    ArrayElement* element = manager->find(id);
    if (host && element) manager->set_age(element, host->age_of(host->find(id)));
  }
  for (ArrayManager* manager : arrived) {
    manager->catch_up(id);
    manager->release_waiting(id);
  }
}

void ArrayManager::rebuild(std::uint64_t id, const Arrival& arrival, const char* bytes, std::size_t size) {
  const ChareInfo& info = registry().chares[type_];
  if (info.migration_constructor < 0)
    fatal("elements of " + std::string(info.name) + " cannot migrate: no migration constructor is registered");
  void* object = allocate_object(info.size);
  const Creation outer = objects_.creating;
  const Arrival* outer_arrival = arrival_;
  objects_.creating = {};
  objects_.creating.manager = this;
  objects_.creating.element = id;
  creating_object_ = object;
  arrival_ = &arrival;
  entry_info(info.migration_constructor).call(nullptr, object);
  arrival_ = outer_arrival;
  objects_.creating = outer;
  ArrayElement* element = find(id);
  PUP::fromMem p(bytes, size);
  element->virtual_pup(p);
  if (p.size() != size)
    fatal(
        "pup() of " + describe(id) + " unpacked " + std::to_string(p.size()) + " of " + std::to_string(size) + " bytes",
        "arrival on PE " + std::to_string(pe_.index), "pup() does something else when unpacking than when packing",
        "pup the same members in both, in the same order");
}

void ArrayManager::on_arrived(Pe& pe, const RuntimeCall& call) {
  ArrayManager* manager = of(pe, call);
  if (!manager) return;
  const Leave leave = call.read<Leave>();
  manager->location_->confirm(call.element, leave.age);
  auto& list = manager->departures_;
  auto found = std::find_if(list.begin(), list.end(), [&](const Departure& d) {
    return d.id == call.element && d.leave.epoch == leave.epoch && d.leave.age == leave.age;
  });
  if (found == list.end()) return;
  const Duty duty = found->duty;
  *found = list.back();
  list.pop_back();
  if (duty.from >= 0) send_runtime(pe, duty.from, entry_arrived, call.collection, call.element, duty.leave);
}

// ckEmigrate and ckDestroy of an element that may be elsewhere: the order goes where it is, like a message, with its
// index, as others may not have met it yet.
void ArrayManager::order_migration(CkArrayID array, std::uint64_t id, const CkArrayIndex& index, int to) {
  order(entry_migrate, array, id, index, to);
}
void ArrayManager::order_destruction(CkArrayID array, std::uint64_t id, const CkArrayIndex& index) {
  order(entry_destroy, array, id, index, 0);
}
void ArrayManager::order(int entry, CkArrayID array, std::uint64_t id, const CkArrayIndex& index, int to) {
  PeObjects& objects = PeObjects::current();
  const OrderCall order{index, to};
  ArrayManager* manager = objects.array(array);
  if (!manager)
    return keep(
        objects, array,
        boxed(objects.pe, Target::runtime, entry, static_cast<std::uint32_t>(array.index()), id, &order, sizeof order));
  if (id == 0) id = manager->number(index);
  if (ArrayElement* element = manager->find(id))
    return entry == entry_migrate ? manager->migrate(element, to) : element->ckDestroy();
  ++objects.pe.created;
  send_runtime(objects.pe, manager->destination(id, index), entry, array.index(), id, order);
}
void ArrayManager::on_order(Pe& pe, const RuntimeCall& call) {
  ArrayManager* manager = of(pe, call);
  if (!manager) return;
  const OrderCall order = call.read<OrderCall>();
  const std::uint64_t id = manager->number(order.index);
  if (!manager->find(id) && manager->destination(id, order.index) == pe.index) {
    if (manager->location_->here(id))  // what it is bound to: it is on its way
      return manager->waiting_[id].push_back(
          boxed(pe, Target::runtime, call.entry, call.collection, id, &order, sizeof order));
    return pe.objects->count_processed();  // gone
  }
  pe.objects->count_processed();
  ArrayManager::order(call.entry, manager->id_, id, order.index, order.to);
}

}  // namespace periapt
