// See array_routing.h.
#include "runtime/array/array_routing.h"

#include "base/fatal.h"
#include "runtime/array/array_manager.h"
#include "runtime/array/array_migration.h"
#include "runtime/objects/protocols.h"
#include "runtime/registry/runtime_message.h"

namespace periapt {

namespace {
int entry_hint, entry_moved, entry_chase, entry_migrate, entry_destroy;

// Hops of one message before it goes by way of the home: hints of an element that has died may point in a circle.
constexpr int hops_astray = 8;
// Hops of one message before it is looked at whether it comes nearer. An element that moves with each message that it
// gets, and has thousands of them behind it, leads the last of them as often from PE to PE as it has moved.
constexpr int hops_chase = 64;
// Hops before it is clear that something is wrong: so many since hops_chase brought no younger place.
constexpr int hops_max = 200;

// A message that has been forwarded often. Its envelope has no room for what it must know then.
struct ChaseHeader {
  Age youngest;  // of the places it has been sent on to
};
}  // namespace

struct ArrayRouting::OrderCall {
  CkArrayIndex index;
  std::int32_t to;  // the PE it is to migrate to
  std::uint32_t hops = 0;
};

ArrayRouting::ArrayRouting(ArrayManager& array, Pe& pe, Location& location)
    : array_(array), pe_(pe), location_(location) {}

void ArrayRouting::register_entries() {
  entry_hint = register_runtime_entry("where an element is", on_hint, ep_uncounted);
  entry_moved = register_runtime_entry("where an element has come to", on_moved, ep_uncounted);
  entry_chase = register_runtime_entry("a message follows its element", on_chase);
  entry_migrate = register_runtime_entry("migrate element", on_order);
  entry_destroy = register_runtime_entry("destroy element", on_order);
}

ArrayRouting* ArrayRouting::of(Pe& pe, Delivery& call) {
  ArrayManager* array = ArrayManager::of(pe, call);
  return array ? &array->routing() : nullptr;
}
std::uint32_t ArrayRouting::collection() const { return static_cast<std::uint32_t>(array_.id().index()); }

int ArrayRouting::find_destination(std::uint64_t id, const CkArrayIndex& index) {
  // What it is bound to is here: so will it be.
  if (location_.bound.size() > 1)
    for (ArrayManager* other : location_.bound)
      if (other != &array_ && other->find(id)) return pe_.index;
  const int guess = location_.guess(id);
  const int pe = guess >= 0 ? guess : location_.home(index);
  if (location_.map() == nullptr) sent_[id % sent_.size()] = {id, location_.changes(), pe};  // maps may be capricious
  return pe;
}

// --- sending on ------------------------------------------------------------------------------------------------------

void ArrayRouting::forward(Message message, std::uint64_t id, Age youngest) {
  const CkArrayIndex index = ElementIds::index_in(message);
  int to = destination(id, index);
  if (to == pe_.index) return wait_for(id, std::move(message));
  const int home = location_.home(index);
  const Location::Hint* hint = location_.find(id);
  if (message->hops >= hops_chase && hint && (youngest.unsettled() || hint->age.younger_than(youngest))) {
    youngest = hint->age;
    message->hops = hops_chase;
  }
  ++message->hops;
  if (message->hops % hops_chase == hops_astray && home != pe_.index) to = home;
  if (message->hops > hops_max) refuse_circle(message);
  if (hint && hint->arrived && hint->pe == to) tell_sender(message, id, *hint, home);
  if (message->hops > hops_chase)
    message = runtime_message(wrap(ChaseHeader{youngest}, std::move(message)), entry_chase, collection(), id);
  send_to(pe_, to, std::move(message));
}

// The sender learns where the element is: it is there for sure. The home knows as much itself.
void ArrayRouting::tell_sender(const Message& message, std::uint64_t id, const Location::Hint& hint, int home) {
  const int source = message->source;
  if (source != pe_.index && source != hint.pe && source != home)
    send_runtime(pe_, source, entry_hint, collection(), id, Place{id, hint.age, hint.pe, home});
}

void ArrayRouting::on_chase(Pe& pe, Delivery& call) {
  ArrayRouting* self = of(pe, call);
  if (!self) return;
  ChaseHeader header;
  Message message = unwrap(call, header);
  const std::uint64_t id = ElementIds::id_of(ElementIds::index_in(message));
  if (!self->array_.find(id)) return self->forward(std::move(message), id, header.youngest);
  message->hops = 0;
  pe.send(pe.index, std::move(message));
}

void ArrayRouting::refuse_circle(const Message& message) const {
  const std::string what = "a message for " + array_.ids().describe_receiver(message) + " goes in a circle";
  const std::string entry = entry_name(message->entry);
  if (location_.map())
    fatal(what, entry, "homePe() of the array's map does not name the same PE everywhere",
          "let procNum() and homePe() depend on the index alone");
  fatal(what, entry, "a bug of the runtime: each PE believes the element on another", "please report it");
}

// --- waiting ---------------------------------------------------------------------------------------------------------

// At home, for an element that doesn't exist (yet).
void ArrayRouting::wait_for(std::uint64_t id, Message message) {
  const unsigned flags = entry_info(message->entry).flags;
  const int source = message->source;
  const CkArrayIndex index = ElementIds::index_in(message);
  auto& queue = waiting_[id];
  const bool first = queue.empty();
  pe_.count(message);
  queue.push_back(std::move(message));
  if (first && (flags & (ep_createhere | ep_createhome)))
    array_.create_on_demand(index, flags & ep_createhere ? source : pe_.index);
}

void ArrayRouting::release_waiting(std::uint64_t id) {
  auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  std::vector<Message> messages = std::move(found->second);
  waiting_.erase(found);
  // Through the queue: the caller may be in the middle of something.
  pe_.enqueue_front(std::move(messages));
}

// --- news of places --------------------------------------------------------------------------------------------------

void ArrayRouting::on_hint(Pe& pe, Delivery& call) {
  ArrayRouting* self = of(pe, call);
  if (!self) return;
  const Place hint = call.read<Place>();
  Location& location = self->location_;
  if (location.here(call.element) || hint.pe == pe.index) return;
  if (location.learn(call.element, hint.pe, hint.age, true, hint.home)) self->release_waiting(call.element);
}

void ArrayRouting::tell_homes(News<Place>& arrivals) {
  arrivals.send(*pe_.objects->protocols, entry_moved, static_cast<int>(collection()));
}
void ArrayRouting::on_moved(Pe& pe, Delivery& call) {
  ArrayRouting* self = of(pe, call);
  if (!self) return;
  for_each_item<Place>(call, [&](const Place& place) { self->location_.moved(place.id, place.pe, place.age); });
}

// --- orders ----------------------------------------------------------------------------------------------------------

// With the index, as others may not have met it yet.
void ArrayRouting::order_migration(CkArrayID array, std::uint64_t id, const CkArrayIndex& index, int to) {
  order(entry_migrate, array, id, {index, to});
}
void ArrayRouting::order_destruction(CkArrayID array, std::uint64_t id, const CkArrayIndex& index) {
  order(entry_destroy, array, id, {index, 0});
}

void ArrayRouting::order_migration_later(std::uint64_t id, const CkArrayIndex& index, int to) {
  send_runtime(pe_, pe_.index, entry_migrate, collection(), id, OrderCall{index, to});
}

void ArrayRouting::order(int entry, CkArrayID array, std::uint64_t id, OrderCall order) {
  PeObjects& objects = PeObjects::current();
  ArrayManager* manager = find_array(objects, array);
  if (!manager)
    return ArrayManager::keep(
        objects, array,
        message_of_call(Target::runtime, entry, static_cast<std::uint32_t>(array.index()), id, &order, sizeof order));
  if (ArrayElement* element = manager->find(id, order.index))
    return entry == entry_migrate ? migrate(*manager, element, order.to) : element->ckDestroy();
  if (id == 0) id = ArrayManager::id_of(order.index);
  int next = manager->routing().destination(id, order.index);
  if (asks_home(++order.hops) && next != objects.pe.index) next = manager->location().home(order.index);
  send_runtime(objects.pe, next, entry, array.index(), id, order);
}

void ArrayRouting::on_order(Pe& pe, Delivery& call) {
  ArrayRouting* self = of(pe, call);
  if (!self) return;
  ArrayManager& array = self->array_;
  const OrderCall order = call.read<OrderCall>();
  const std::uint64_t id = array.id_of(order.index);
  if (!array.find(id) && self->destination(id, order.index) == pe.index) {
    if (self->location_.here(id))  // what it is bound to: it is on its way
      return self->wait_until_known(
          id, message_of_call(Target::runtime, call.entry, call.collection, id, &order, sizeof order));
    return;  // gone
  }
  ArrayRouting::order(call.entry, array.id(), id, order);
}

}  // namespace periapt
