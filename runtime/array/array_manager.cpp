// See array_manager.h.
#include "runtime/array/array_manager.h"

#include "base/fatal.h"
#include "runtime/array/array_migration.h"
#include "runtime/array/packing_attempt.h"
#include "runtime/objects/announce.h"
#include "runtime/objects/protocols.h"
#include "runtime/objects/shown_branches.h"
#include "runtime/registry/packing.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/nested_scheduling.h"
#include "runtime/scheduler/process.h"
#include "runtime/zero_copy/zero_copy_entries.h"

namespace periapt {

namespace {
int entry_create, entry_insert, entry_inserting;

// In front of the options, packed, which the constructor's message follows.
struct CreateHeader {
  std::int32_t type, ep;
  std::uint64_t options_bytes;
};

Message creation_message(int type, int ep, CkArrayOptions options, Message constructor) {
  PUP::sizer sizer;
  sizer | options;
  const CreateHeader header{type, ep, sizer.size()};
  std::vector<char> front(sizeof header + sizer.size());
  std::memcpy(front.data(), &header, sizeof header);
  PUP::toMem p(front.data() + sizeof header);
  p | options;
  return enclosing::wrap(front.data(), front.size(), std::move(constructor));
}
struct InsertingCall {
  bool begins;
  bool for_all;  // it has waited for the array on the PE of the call: all PEs are to be told
};
}  // namespace

Message ArrayManager::insertion_message(CkArrayID array, const Insertion& insertion, Message arguments) {
  return runtime_message(wrap(insertion, std::move(arguments)), entry_insert,
                         static_cast<std::uint32_t>(array.index()));
}

void ArrayManager::register_entries() {
  entry_create = register_runtime_entry("create array", on_create, ep_creation);
  entry_insert = register_runtime_entry("insert element", on_insert);
  entry_inserting = register_runtime_entry("insertion begins or ends", on_inserting);
  PUPable_reg(CkVerboseListener);
  Location::register_entries(for_part<&ArrayManager::location>);
  ArrayRouting::register_entries(for_part<&ArrayManager::routing>);
  ArrayBroadcasts::register_entries(for_part<&ArrayManager::broadcasts>);
  register_migration_entries();
}

// Of the array that the call is for, if it is here.
template <auto part>
void ArrayManager::for_part(Pe& pe, Delivery& call) {
  if (ArrayManager* array = of(pe, call)) (array->*part)().receive(call);
}

ArrayManager& array_manager(CkArrayID id) {
  ArrayManager* manager = find_array(PeObjects::current(), id);
  if (!manager) no_such_array(id);
  return *manager;
}

void ArrayManager::for_each_waiting(const WaitingVisitor& visit) const {
  for (const auto& [id, messages] : routing_.waiting()) visit(ids_.describe_receiver(messages.front()), messages);
}

std::string ArrayManager::describe_holder(const void* object) const {
  for (ArrayElement* element : elements())
    if (object_of(element) == object) return describe(element->ckGetID());
  return "";
}

// One that has come here after this PE's report may owe an earlier round than the first that is open here.
std::string ArrayManager::describe_late() const {
  constexpr int most_named = 4;
  const std::uint32_t none = reduction_.first_open() + reduction_.first_has_begun();  // all below it are waited for
  std::uint32_t oldest = none;
  for (const ArrayElement* element : elements()) oldest = std::min(oldest, element->next_reduction_);
  if (oldest == none) return "";
  std::string named;
  int late = 0;
  for (const ArrayElement* element : elements())
    if (element->next_reduction_ == oldest && ++late <= most_named)
      named += (late > 1 ? ", " : "") + describe(element->ckGetID());
  if (late > most_named) named += " and " + std::to_string(late - most_named) + " more";
  return named + (late == 1 ? " has" : " have") + " not contributed to reduction " + std::to_string(oldest) + "\n";
}

CkArrayIndex ArrayManager::index_of_holder(const void* object) const {
  const ArrayElement* const element = bases_have_offsets ? nullptr : elements_.element_of(object);
  return element ? ids_.index_of(element->ckGetID()) : CkArrayIndex();
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

// --- the array -------------------------------------------------------------------------------------------------------

std::shared_ptr<BoundArrays> ArrayManager::shared_for(PeObjects& objects, CkArrayID id, const CkArrayOptions& options) {
  if (!options.getBoundTo().isZero()) return array_manager(options.getBoundTo()).shared_;
  return std::make_shared<BoundArrays>(objects, options, id);
}
BoundArrays::BoundArrays(PeObjects& objects, const CkArrayOptions& options, CkArrayID leader)
    : map(objects, options, leader), location(*objects.protocols, map) {}

ArrayManager::ArrayManager(PeObjects& objects, CkArrayID id, int type, const CkArrayOptions& options)
    : objects_(objects),
      pe_(objects.pe),
      id_(id),
      type_(type),
      options_(options),
      face_(*this),
      ids_(type),
      elements_(type),
      shared_(shared_for(objects, id, options)),
      routing_(*this, *objects.protocols, location(), id.index()),
      broadcasts_(*this, *objects.protocols, id.index(), elements_, location()),
      reduction_(*objects.protocols, id.index(), Reduction::Tree::pes, TreePlace(pe_.index, pe_.process.pes()), false) {
  shared_->arrays.push_back(this);
  location().bound.push_back(this);
  if (!options.getReductionClient().isInvalid()) reduction_.set_client(options.getReductionClient());
}

CkArrayID new_array(int type, int ep, const CkArrayOptions& options, void* message) {
  PeObjects& objects = PeObjects::current();
  const CkArrayID id(objects.new_group_id());
  ArrayManager::announce(objects, id, type, ep, options, message);
  return id;
}

void new_array_async(int type, int ep, const CkArrayOptions& options, const CkCallback& cb, void* message) {
  CkArrayID id = new_array(type, ep, options, message);
  if (!cb.isInvalid()) cb.send(new CkArrayCreatedMsg(id));  // the news may be of no interest
}

void ArrayManager::announce(PeObjects& objects, CkArrayID id, int type, int ep, const CkArrayOptions& options,
                            void* message) {
  Pe& pe = objects.pe;
  Message constructor = message ? given_away(message) : Message();
  if (constructor) pack(constructor);  // every element gets a copy
  if (pe.process.pes() > 1) {
    Message news = creation_message(type, ep, options, constructor ? constructor.copy() : Message());
    news = runtime_message(std::move(news), entry_create, static_cast<std::uint32_t>(id.index()));
    periapt::announce(pe, news);
    if (GroupRecord* coming = missing_collection(objects, options)) {
      news = news.copy();
      news->flags &= static_cast<std::uint8_t>(~envelope_tree);
      pe.count(news);
      return coming->waiting.push_back(std::move(news));
    }
  }
  make(objects, id, type, ep, options, std::move(constructor));
}

// The map, or the array that this one is bound to, when it is still on its way to this PE.
GroupRecord* ArrayManager::missing_collection(PeObjects& objects, const CkArrayOptions& options) {
  for (int needed : {options.getMap().idx, options.getBoundTo().index()}) {
    if (needed == 0) continue;
    GroupRecord& group = objects.group(needed);
    if (!group.object && !group.array) return &group;
  }
  return nullptr;
}

// No reduction ends here before the first elements are made, as their constructors may contribute.
ArrayManager* ArrayManager::make_empty(PeObjects& objects, CkArrayID id, int type, const CkArrayOptions& options) {
  auto* manager = new ArrayManager(objects, id, type, options);
  GroupRecord& record = objects.group(id.index());
  record.array = manager;
  record.type = type;
  if (objects.balance) objects.balance->arrays_known += CkArrayIndex1D(id.index()).hash64();
  manager->reduction_.hold();
  return manager;
}

void ArrayManager::make(PeObjects& objects, CkArrayID id, int type, int ep, CkArrayOptions options,
                        Message constructor) {
  const std::vector<CkArrayListener*> listeners = options.releaseListeners();
  ArrayManager* manager = make_empty(objects, id, type, options);
  for (CkArrayListener* listener : listeners) manager->add_listener(listener);
  if (manager->listeners_) manager->listeners_->begin_inserting();
  // An array that begins empty is being filled until doneInserting().
  if (options.populated()) {
    if (ep >= 0) manager->populate(ep, constructor);
    manager->end_filling();
  } else {
    manager->inserting_ = true;
    // A map of the program may know elements that the options do not name, and then says doneInserting() itself.
    if (ep >= 0 && manager->map().of_group()) manager->populate(ep, constructor);
  }
  manager->ready();
}
void ArrayManager::ready() {
  show_branch(objects_.pe, id().index(), &face_);
  objects_.group_ready(id());
}

void ArrayManager::on_create(Pe& pe, Delivery& call) {
  PeObjects& objects = *pe.objects;
  const auto header = call.read<CreateHeader>();
  CkArrayOptions options;
  PUP::fromMem p(static_cast<const char*>(call.arguments) + sizeof header, header.options_bytes);
  p | options;
  const CkArrayID id(CkGroupID{static_cast<int>(call.collection)});
  if (GroupRecord* coming = missing_collection(objects, options))
    return coming->waiting.push_back(periapt::keep(pe, call));
  Message constructor = enclosing::unwrap(call, part_bytes(sizeof header + header.options_bytes));
  make(objects, id, header.type, header.ep, std::move(options), std::move(constructor));
}

void ArrayManager::add_listener(CkArrayListener* listener) {
  if (!listeners_) listeners_ = std::make_unique<ArrayListeners>(*this);
  listeners_->add(listener);
}

CkArrayOptions ArrayManager::options_with_listeners() const {
  CkArrayOptions options = options_;
  if (listeners_)
    for (const CkArrayListener* listener : listeners_->all())
      options.addListener(static_cast<CkArrayListener*>(listener->clone()));
  return options;
}

// --- its first elements ----------------------------------------------------------------------------------------------

void ArrayManager::populate(int ep, Message& constructor) {
  if (CkArrayMap* of_program = map().of_group()) {
    CkArrayOptions options = options_;
    Message own = constructor.copy();
    unpack(own);
    populate_entry_ = ep;
    of_program->populateInitial(map().handle(), options, payload_of(own.release()), &face_);
    return;
  }
  const int me = pe_.index;
  const int pes = pe_.process.pes();
  const chare::IndexRange range(options_.getStart(), options_.getEnd(), options_.getStep());
  elements_.expect(range.size() / pes + 1);
  const chare::Placement& placement = map().blocks();
  if (placement.is_contiguous() && range.size() > 0 && range.size() == placement.count() &&
      placement.position_of(range[0]) == 0 && placement.position_of(range[range.size() - 1]) == range.size() - 1)
    return populate_run(placement, range, ep, constructor);
  elements_.expect_any(range.size() / pes + 1);
  for (const CkArrayIndex& index : range)
    if (map().place(index) == me) create_first(index, ep, constructor);
}

// The first elements fill the bounds, and ours are a run of positions: those of other PEs are not looked at.
void ArrayManager::populate_run(const chare::Placement& placement, const chare::IndexRange& range, int ep,
                                const Message& constructor) {
  const std::int64_t first = placement.first_on(pe_.index);
  const std::int64_t end = pe_.index + 1 < pe_.process.pes() ? placement.first_on(pe_.index + 1) : range.size();
  if (range.dimension() == 1 && first < end)
    elements_.expect_run(ids_.id_of(range[first]), static_cast<std::size_t>(end - first));
  else
    elements_.expect_any(static_cast<std::size_t>(end - first));
  constexpr bool at_home = true;
  if (range.dimension() == 1) {  // begins at 0, in steps of 1
    for (std::int64_t i = first; i < end; ++i)
      create_first(CkArrayIndex1D(static_cast<int>(i)), ep, constructor, at_home);
    return;
  }
  for (std::int64_t position = first; position < end; ++position)
    create_first(range[position], ep, constructor, at_home);
}

// --- life of an element ----------------------------------------------------------------------------------------------

// Runs `constructor(object)` for an element that is to have this number and age; adopt() is called within.
template <class Constructor>
void ArrayManager::construct(std::uint64_t id, const Construction& construction, const Constructor& constructor) {
  void* object = allocate_object(registry().chares[type_].size);
  const Creation outer = objects_.creating;
  const Construction outer_construction = construction_;
  objects_.creating = {};
  objects_.creating.manager = this;
  objects_.creating.element = id;
  construction_ = construction;
  construction_.object = object;
  making_.push_back({id});
  constructor(object);
  made(id);
  construction_ = outer_construction;
  objects_.creating = outer;
}

void ArrayManager::made(std::uint64_t id) {
  // (The last one, but for threads whose constructors wait: they end in any order.)
  auto making = making_.end() - 1;
  while (making->id != id) --making;
  std::vector<Message> kept = std::move(making->kept);
  making_.erase(making);
  for (Message& order : kept) pe_.enqueue(std::move(order));
}

void ArrayManager::create_first(const CkArrayIndex& index, int ep, const Message& message, bool at_home) {
  const std::uint64_t id = ids_.id_of(index);
  if (location().bound.size() == 1 || location().here(id)) [[likely]]
    return create(index, id, location().birth(*this, id, index, at_home), ep, message);
  create_after_bound(index, id, ep, message);
}

// Those it is bound to have left before it could be made.
void ArrayManager::create_after_bound(const CkArrayIndex& index, std::uint64_t id, int ep, const Message& message) {
  Insertion insertion{index, ep, pe_.index, true};
  bear_unmade(insertion);
  if (listeners_) insertion.stamp = listeners_->stamp();
  create_beside(insertion, message.copy());
}

// Counted as born here, and as one that has left: of what is sent to all, and of reductions, it gets and gives what an
// element that is here now would, however late it is made.
void ArrayManager::bear_unmade(Insertion& insertion) {
  if (insertion.born >= 0) return;
  insertion.born = pe_.index;
  insertion.travel.next_reduction = reduction_.born();
  insertion.travel.broadcast_epoch = broadcasts_.leaves_unmade();
  reduction_.left(insertion.travel.next_reduction);
}

void ArrayManager::create(const CkArrayIndex& index, std::uint64_t id, Age age, int ep, const Message& message,
                          const ListenerInts* stamp, const ElementTravel* travel) {
  ListenerInts own;
  if (listeners_ && !stamp) [[unlikely]] {
    own = listeners_->stamp();
    stamp = &own;
  }
  ids_.came(id, index);
  if (find(id)) refuse_second(index, pe_.index);
  construct(id, {nullptr, age, travel, stamp}, [&](void* object) {
    if (entry_info(ep).runtime_frees() && (message->flags & envelope_packed) == 0) {
      Delivery call = Delivery::view(message);
      call.entry = static_cast<std::uint16_t>(ep);
      call.object = object;
      objects_.enter(call);
    } else {
      Message own = message.copy();  // which enter() unpacks, or the constructor frees
      objects_.construct(ep, object, std::move(own));
    }
  });
  if (ArrayElement* element = find(id)) {
    ask_further(element);
    if (element->load_slot_ < 0 && objects_.balance && objects_.balance->takes_part(*element))
      objects_.balance->born(*element);
    const bool stays = !listeners_ || listeners_->created(id);
    if (stays && filling_first_ && !options_.getInitCallback().isInvalid())
      element->contribute(options_.getInitCallback());
  }
  routing_.release_waiting(id);
}

void ArrayManager::create_on_demand(const CkArrayIndex& index, int pe) {
  const int constructor = registry().chares[type_].default_constructor;
  if (constructor < 0)
    fatal(ids_.describe(index) +
              " is to be created by a message to it, but its class has no constructor without arguments",
          "[createhere] or [createhome] entry", "",
          "declare `entry " + std::string(registry().chares[type_].name) + "();`");
  Message none = Message::make(0);
  none->message_type = static_cast<std::uint16_t>(CMessage_CkMarshallMsg::__idx);
  insert({index, constructor, pe}, std::move(none));
}

bool ArrayManager::makes_element(const Message& message) const {
  return message->target == Target::array && entry_info(message->entry).flags & (ep_createhere | ep_createhome);
}

void ArrayManager::make_element(int entry, int source, const CkArrayIndex& index) {
  create_on_demand(index, entry_info(entry).flags & ep_createhere ? source : pe_.index);
}

void ArrayManager::adopt(ArrayElement* element) {
  element->thisArray = &face_;
  element->thisArrayID = id_;
  element->myRec.id_ = objects_.creating.element;
  if (construction_.adopted) return adopt_further(element);  // of an object that has several: the first is the element
  construction_.adopted = true;
  elements_.add(element, construction_.object);
  set_age(element, construction_.age);
  if (const ElementTravel* travel = construction_.travel) {
    element->next_reduction_ = travel->next_reduction;
    ArrayBroadcasts::set_seen(element, travel->broadcast_epoch);
    reduction_.arrived(element->next_reduction_);
  } else {
    element->next_reduction_ = reduction_.born();
    broadcasts_.born(element);
  }
  if (listeners_) [[unlikely]]
    listeners_->came(element, construction_.stamp);
}

void ArrayManager::remove(ArrayElement* element) {
  broadcasts_.removing(element);
  elements_.remove(element);
}

// The destructor of an element that is deleted by the program itself.
void ArrayManager::drop(ArrayElement* element) {
  if (find(element->myRec.id_) != element) return;
  objects_.running_threads.owner_dies(ThreadOwner::of(element), [&] { return describe(element->myRec.id_); });
  if (element->load_slot_ >= 0) objects_.balance->died(*element);
  remove(element);
  broadcasts_.died(element->myRec.id_);
  reduction_.died(element->next_reduction_);
  if (listeners_) listeners_->went(element->myRec.id_);
  const CkArrayIndex index = index_of(element->myRec.id_);
  ids_.went(element->myRec.id_);
  location().died(element->myRec.id_, index, age_of(element));
}

void ArrayManager::destroy(ArrayElement* element) {
  if (listeners_ && find(element->myRec.id_) == element) [[unlikely]]
    listeners_->died(element);
  void* object = object_of(element);
  element->~ArrayElement();  // virtual; ends in drop()
  free_object(object);
}

void ArrayManager::refuse_second(const CkArrayIndex& index, int first) const {
  fatal("element " + ids_.describe(index) + " is inserted twice: on PE " + std::to_string(first) + " and on PE " +
            std::to_string(pe_.index),
        describe_running(pe_), "two insertions of one index, or one of an index that the array was made with",
        "insert it once, or destroy the first element before");
}

// --- elements that move ----------------------------------------------------------------------------------------------

void ArrayManager::migrate_element(std::uint64_t id, int to, std::uint32_t follows) {
  if (follows || !keep_order(ArrayRouting::Order::migrate, id, to)) migrate(*this, find(id), to, follows);
}
void ArrayManager::destroy_element(std::uint64_t id) {
  if (!keep_order(ArrayRouting::Order::destroy, id, 0)) find(id)->ckDestroy();
}
Message ArrayManager::kept_order(ArrayRouting::Order what, std::uint64_t id, int to) {
  Message order = ArrayRouting::order_message(what, id_, id, index_of(id), to);
  count_kept(order);
  return order;
}
// An entry looks after other messages, this order among them.
bool ArrayManager::keep_order(ArrayRouting::Order what, std::uint64_t id, int to) {
  const ThreadOwner around = owner_around(*this, id);
  if (around == ThreadOwner{}) return false;
  scheduler::NestedScheduling::keep(pe_, around.key, kept_order(what, id, to));
  return true;
}
ArrayManager::Making* ArrayManager::making_of(std::uint64_t id) const {
  for (ArrayManager* array : bound())
    for (Making& making : array->making_)
      if (making.id == id) return &making;
  return nullptr;
}
bool ArrayManager::keep_while_made(ArrayRouting::Order what, std::uint64_t id, int to) {
  Making* const making = making_of(id);
  if (making != nullptr) making->kept.push_back(kept_order(what, id, to));
  return making != nullptr;
}
void ArrayManager::set_age(std::uint64_t id, Age age) {
  if (ArrayElement* element = find(id)) set_age(element, age);
}
void ArrayManager::claim_begins() {
  if (objects_.balance) ++objects_.balance->elements_sent;
}
void ArrayManager::claim_ends() {
  if (objects_.balance) ++objects_.balance->elements_received;
}

ElementTravel ArrayManager::prepare_travel(ArrayElement* element) {
  return {element->next_reduction_, ArrayBroadcasts::seen_by(element),
          element->load_slot_ >= 0 ? objects_.balance->left(*element) : BalanceTravel{}};
}

void ArrayManager::leave(ArrayElement* element, Age age) {
  remove(element);
  reduction_.left(element->next_reduction_);
  broadcasts_.left(element, age);
  const std::uint64_t id = element->ckGetID();
  destroy(element);  // drop() finds it gone
  if (listeners_) listeners_->went(id);
  ids_.went(id);
}

void ArrayManager::arrive(std::uint64_t id, int from, Age age, const ElementTravel& travel, const char* bytes,
                          std::size_t size) {
  construct(id, {nullptr, age, &travel, nullptr}, [&](void* object) { construct_migrated(type_, object); });
  ArrayElement* element = find(id);
  const std::string wrong = attempt_pup([&]() -> std::string {
    PUP::fromMem p(bytes, size);
    element->virtual_pup(p);
    if (p.size() == size) return "";
    return "unpacked " + std::to_string(p.size()) + " of " + std::to_string(size) + " bytes";
  });
  if (!wrong.empty())
    fatal("pup() of " + describe(id) + " " + wrong,
          "arrival on PE " + std::to_string(pe_.index) + " from PE " + std::to_string(from),
          "pup() does something else when unpacking than when packing: what was packed is all that is left of the "
          "element",
          "pup the same members in both, in the same order, and throw nothing");
  element = find(id);
  if (element && objects_.balance && objects_.balance->takes_part(*element))
    objects_.balance->arrived(*element, travel.balance);
  broadcasts_.arrived(id, travel.broadcast_epoch, from, age);
}

// --- elements that come back from a checkpoint -----------------------------------------------------------------------

ArrayManager& ArrayManager::remake(PeObjects& objects, CkArrayID id, int type, CkArrayOptions options, bool inserting) {
  const std::vector<CkArrayListener*> listeners = options.releaseListeners();
  ArrayManager* manager = make_empty(objects, id, type, options);
  if (!listeners.empty()) manager->listeners_ = std::make_unique<ArrayListeners>(*manager);
  for (CkArrayListener* listener : listeners) manager->listeners_->restore(listener);
  manager->inserting_ = inserting;
  manager->filling_first_ = false;
  return *manager;
}

ArrayElement* ArrayManager::remake(const CkArrayIndex& index, std::uint32_t contributions) {
  const std::uint64_t id = ids_.id_of(index);
  ids_.came(id, index);
  if (find(id)) refuse_second(index, pe_.index);
  ElementTravel travel{};
  travel.next_reduction = contributions;
  construct(id, {nullptr, location().birth(*this, id, index, false), &travel, nullptr},
            [&](void* object) { construct_migrated(type_, object); });
  return find(id);
}

void ArrayManager::remade() {
  if (objects_.balance)
    for (ArrayElement* element : elements_.all())
      if (ask_further(element); element->load_slot_ < 0 && objects_.balance->takes_part(*element))
        objects_.balance->born(*element);
  // By number: what they do may add or remove some.
  for (std::size_t i = 0; i < elements_.size(); ++i) {
    const std::uint64_t id = elements_.all()[i]->ckGetID();
    tell_arriving(id);
    if (ArrayElement* element = find(id)) element->ckJustRestored();
  }
  if (!inserting_) end_filling();
}

// --- insertion -------------------------------------------------------------------------------------------------------

void insert_element(const CProxyElement_ArrayBase& proxy, int ep, int pe, void* message) {
  ArrayManager::insert(proxy.ckGetArrayID(), proxy.ckGetIndex(), ep, pe, given_away(message));
}

void ArrayManager::insert(CkArrayID id, const CkArrayIndex& index, int ep, int to, Message message) {
  PeObjects& objects = PeObjects::current();
  if (ArrayManager* manager = find_array(objects, id)) return manager->insert({index, ep, to}, std::move(message));
  if (objects.balance) ++objects.balance->elements_sent;
  keep(objects, id, insertion_message(id, {index, ep, to}, std::move(message)));
}

void ArrayManager::insert(Insertion insertion, Message arguments) {
  const CkArrayIndex& index = insertion.index;
  int& to = insertion.to;
  if (to < 0) to = map().place(index);
  if (to >= pe_.process.pes())
    fatal("element " + index.toString() + " is to be inserted on PE " + std::to_string(to) + ", but there are " +
              std::to_string(pe_.process.pes()) + " PEs",
          describe_running(pe_));
  if (listeners_ && !insertion.stamped) [[unlikely]] {
    insertion.stamp = listeners_->stamp();
    insertion.stamped = true;
  }
  if (location().bound.size() > 1) {
    insertion.beside = true;
    return create_beside(insertion, std::move(arguments));
  }
  if (to != pe_.index) return send_insertion(to, insertion, std::move(arguments));
  const std::uint64_t id = ids_.id_of(index);
  create_inserted(insertion, id, location().birth(*this, id, index, false), std::move(arguments));
}

void ArrayManager::send_insertion(int to, Insertion& insertion, Message arguments) {
  bear_unmade(insertion);
  if (objects_.balance) ++objects_.balance->elements_sent;
  send_to(pe_, to, insertion_message(id_, insertion, std::move(arguments)));
}

// Hints lead to those it is bound to. The home knows for sure whether there are any: if not, it begins their life on
// the PE that the insertion names.
void ArrayManager::create_beside(Insertion insertion, Message arguments) {
  const std::uint64_t id = ids_.id_of(insertion.index);
  if (ArrayHost* host = location().here(id))
    return create_inserted(insertion, id, host->age_of(id), std::move(arguments));
  if (!insertion.age.unconfirmed() && insertion.to == pe_.index) {
    location().forget(id);
    return create_inserted(insertion, id, insertion.age, std::move(arguments));
  }
  const Location::Hint* hint = location().find(id);
  const int home = location().home(insertion.index);
  if (ArrayRouting::asks_home(++insertion.hops) && home != pe_.index) hint = nullptr;
  if (hint) return send_insertion(hint->pe, insertion, std::move(arguments));
  if (home != pe_.index) return send_insertion(home, insertion, std::move(arguments));
  if (location().is_claimed(id)) {
    bear_unmade(insertion);
    if (objects_.balance) ++objects_.balance->elements_sent;
    return routing_.wait_until_known(id, insertion_message(id_, insertion, std::move(arguments)));
  }
  insertion.age = location().begin_life(id, insertion.to);
  if (insertion.to == pe_.index) return create_inserted(insertion, id, insertion.age, std::move(arguments));
  send_insertion(insertion.to, insertion, std::move(arguments));
}

void ArrayManager::create_inserted(const Insertion& insertion, std::uint64_t id, Age age, Message arguments) {
  if (!entry_info(insertion.ep).runtime_frees()) pack(arguments);  // the constructor gets a copy
  if (insertion.born < 0) return create(insertion.index, id, age, insertion.ep, arguments, &insertion.stamp);
  create(insertion.index, id, age, insertion.ep, arguments, &insertion.stamp, &insertion.travel);
  broadcasts_.arrived(id, insertion.travel.broadcast_epoch, insertion.born, Age());
  broadcasts_.catch_up(id);
}

void ArrayManager::on_insert(Pe& pe, Delivery& call) {
  ArrayManager* manager = of(pe, call);
  if (!manager) return;
  if (pe.objects->balance) ++pe.objects->balance->elements_received;
  Insertion insertion;
  Message arguments = unwrap(call, insertion);
  if (insertion.beside) return manager->create_beside(insertion, std::move(arguments));
  manager->insert(std::move(insertion), std::move(arguments));
}

void ArrayManager::tell_inserting(CkArrayID id, bool begins) {
  PeObjects& objects = PeObjects::current();
  Pe& pe = objects.pe;
  InsertingCall news{begins, false};
  if (!find_array(objects, id)) {  // behind the insertions that wait for it here
    news.for_all = true;
    return keep(objects, id,
                message_of_call(Target::runtime, entry_inserting, static_cast<std::uint32_t>(id.index()), 0, &news,
                                sizeof news));
  }
  for (int to = 0; to < pe.process.pes(); ++to) send_runtime(pe, to, entry_inserting, id.index(), 0, news);
}
void ArrayManager::on_inserting(Pe& pe, Delivery& call) {
  ArrayManager* manager = of(pe, call);
  if (!manager) return;
  const InsertingCall news = call.read<InsertingCall>();
  if (news.for_all) {
    return tell_inserting(manager->id(), news.begins);
  }
  news.begins ? manager->begin_inserting() : manager->done_inserting();
}
void ArrayManager::begin_inserting() {
  if (inserting_) return;
  inserting_ = true;
  reduction_.hold();
  if (listeners_) listeners_->begin_inserting();
}
void ArrayManager::done_inserting() {
  if (!inserting_) return;
  inserting_ = false;
  end_filling();
}
void ArrayManager::end_filling() {
  filling_first_ = false;
  if (listeners_) listeners_->end_inserting();
  reduction_.unhold();
}

// --- messages --------------------------------------------------------------------------------------------------------

void ArrayManager::call(std::uint64_t id, const CkArrayIndex& index, int ep, const void* arguments, unsigned length,
                        bool together) {
  if (!chare::is_compact_id(id)) [[unlikely]]
    return send(id, index, message_of_call(Target::array, ep, id_.index(), id, arguments, length));
  const int to = locate(id, index);
  note_created(id, to, ep, length);
  pe_.send_call(to, call_meta(static_cast<std::uint16_t>(ep), id_.index(), length), id, arguments, Pe::Counting::yes,
                together);
}

void ArrayManager::send(std::uint64_t id, const CkArrayIndex& index, Message&& message) {
  if (id == 0) [[unlikely]]
    id = id_of(index);
  const int to = locate(id, index);
  note_created(id, to, message->entry, message->size);
  address(message, Target::array, message->entry, static_cast<std::uint32_t>(id_.index()), id);
  // (Also one that stays on this PE: the element may have gone when it is delivered.)
  if (!chare::is_compact_id(id)) ElementIds::put_index(message, index);
  send_to(pe_, to, std::move(message));
}

void ArrayManager::deliver_named(Delivery& call) {
  const CkArrayIndex index = ElementIds::index_in(call.message);
  call.element = id_of(index);
  ids_.check(call.element, index);
  if (!find(call.element)) return forward(call);
  ElementIds::take_index(call.message);
  deliver(call);
}

void ArrayManager::forward(Delivery& call) {
  const std::uint64_t id = call.element;
  routing_.forward(to_message(call), id);
}

void ArrayManager::refuse_circle(const Message& message) const {
  const std::string what = "a message for " + ids_.describe_receiver(message) + " goes in a circle";
  const std::string entry = entry_name(message->entry);
  if (map().of_program())
    fatal(what, entry, "homePe() of the array's map does not name the same PE everywhere",
          "let procNum() and homePe() depend on the index alone");
  fatal(what, entry, "a bug of the runtime: each PE believes the element on another", "please report it");
}

// --- broadcasts ------------------------------------------------------------------------------------------------------

void ArrayManager::send_to_all(Message message) {
  pe_.broadcast(message);
  pe_.send(pe_.index, std::move(message));
}

void ArrayManager::give(ArrayElement* element, const Message& message) {
  const int ep = message->entry;
  const EntryInfo& entry = entry_info(ep);
  void* object = elements_.object_for(element, ep);
  if (entry.flags & ep_nocopypost) [[unlikely]]
    return zero_copy::run_for_element(objects_, ep, object, id_.index(), element->ckGetID(), message);
  if (entry.runtime_frees() && !(entry.flags & ep_threaded) && !(message->flags & envelope_packed)) [[likely]] {
    Delivery call = Delivery::view(message);
    call.object = object;
    call.owner = ThreadOwner::of(element).key;
    objects_.enter(call);
  } else {
    Delivery call(message.copy());
    call.object = object;
    call.owner = ThreadOwner::of(element).key;
    objects_.run_entry(call);
  }
}

// --- before the array is here ----------------------------------------------------------------------------------------

// A proxy may come to a PE before the creation of its array does. What is sent through it waits.
void ArrayManager::keep(PeObjects& objects, CkArrayID id, Message message) {
  if (id.isZero()) no_such_array(id);
  objects.pe.count(message);
  objects.group(id.index()).waiting.push_back(std::move(message));
}

void ArrayManager::send_early(PeObjects& objects, CkArrayID array, std::uint64_t id, const CkArrayIndex& index,
                              Message message) {
  address(message, Target::array, message->entry, static_cast<std::uint32_t>(array.index()), id);
  if (id == 0) ElementIds::put_index(message, index);
  keep(objects, array, std::move(message));
}

void ArrayManager::broadcast(CkArrayID array, Message message) {
  PeObjects& objects = PeObjects::current();
  address(message, Target::broadcast, message->entry, static_cast<std::uint32_t>(array.index()), 0);
  periapt::note_created(objects.pe, Created::all_pes, message->entry, message->size);
  if (ArrayManager* manager = find_array(objects, array)) return manager->broadcasts_.send(std::move(message));
  if (objects.pe.index == 0 || array.isZero()) return keep(objects, array, std::move(message));
  send_to(objects.pe, 0, std::move(message));
}

void ArrayManager::order(ArrayRouting::Order what, CkArrayID array, std::uint64_t id, const CkArrayIndex& index,
                         int to) {
  PeObjects& objects = PeObjects::current();
  ArrayManager* manager = find_array(objects, array);
  if (!manager) return keep(objects, array, ArrayRouting::order_message(what, array, id, index, to));
  if (id == 0) {
    id = id_of(index);
    manager->ids_.check(id, index);
  }
  manager->routing_.order(what, id, index, to);
}

ArrayManager* ArrayManager::of(Pe& pe, Delivery& call) {
  return of(pe, call, CkArrayID(CkGroupID{static_cast<int>(call.collection)}));
}
ArrayManager* ArrayManager::of(Pe& pe, Delivery& call, CkArrayID array) {
  ArrayManager* manager = find_array(*pe.objects, array);
  if (!manager) pe.objects->group(array.index()).waiting.push_back(periapt::keep(pe, call));
  return manager;
}

}  // namespace periapt
