// See array_routing.h.
#include "runtime/array/array_routing.h"

#include <algorithm>
#include <utility>

#include "runtime/array/element_ids.h"

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

ArrayRouting::ArrayRouting(ArrayHost& host, Sender& sender, Location& location, int collection)
    : host_(host), sender_(sender), location_(location), collection_(collection) {}

void ArrayRouting::register_entries(RuntimeFunction function) {
  entry_hint = register_runtime_entry("where an element is", function, ep_uncounted);
  entry_moved = register_runtime_entry("where an element has come to", function, ep_uncounted);
  entry_chase = register_runtime_entry("a message follows its element", function);
  entry_migrate = register_runtime_entry("migrate element", function);
  entry_destroy = register_runtime_entry("destroy element", function);
}

void ArrayRouting::receive(Delivery& call) {
  if (call.entry == entry_hint) return on_hint(call.read<Place>());
  if (call.entry == entry_chase) return on_chase(call);
  if (call.entry == entry_migrate || call.entry == entry_destroy) return on_order(call);
  for_each_item<Place>(call, [&](const Place& place) { location_.moved(place.id, place.pe, place.age); });
}

int ArrayRouting::find_destination(std::uint64_t id, const CkArrayIndex& index) {
  // What it is bound to is here: so will it be.
  if (location_.bound.size() > 1)
    for (ArrayHost* other : location_.bound)
      if (other != &host_ && other->has(id)) return sender_.me;
  const int guess = location_.guess(id);
  const int pe = guess >= 0 ? guess : location_.home(index);
  if (!location_.homes().of_program())
    sent_[id % sent_.size()] = {id, location_.changes(), pe};  // maps may be capricious
  return pe;
}

// --- sending on ------------------------------------------------------------------------------------------------------

void ArrayRouting::forward(Message message, std::uint64_t id, Age youngest) {
  const CkArrayIndex index = ElementIds::index_in(message);
  int to = destination(id, index);
  if (to == sender_.me) return wait_for(id, std::move(message));
  const int home = location_.home(index);
  const Location::Hint* hint = location_.find(id);
  if (message->hops >= hops_chase && hint && (youngest.unconfirmed() || hint->age.younger_than(youngest))) {
    youngest = hint->age;
    message->hops = hops_chase;
  }
  ++message->hops;
  if (message->hops % hops_chase == hops_astray && home != sender_.me) to = home;
  if (message->hops > hops_max) host_.refuse_circle(message);
  if (hint && hint->arrived && hint->pe == to) tell_sender(message, {id, hint->age, hint->pe, home});
  if (!hint) tell_sender(message, {id, Age(), sender_.me, home});
  if (message->hops > hops_chase)
    message = runtime_message(wrap(ChaseHeader{youngest}, std::move(message)), entry_chase,
                              static_cast<std::uint32_t>(collection_), id);
  sender_.send(to, std::move(message));
}

// The sender learns where the element is: it is there for sure. The home knows as much itself.
void ArrayRouting::tell_sender(const Message& message, const Place& place) {
  const int source = message->source;
  if (source != sender_.me && source != place.pe && source != place.home)
    sender_.send(source, entry_hint, collection_, place.id, place);
}

void ArrayRouting::on_chase(Delivery& call) {
  ChaseHeader header;
  Message message = unwrap(call, header);
  const std::uint64_t id = ElementIds::id_of(ElementIds::index_in(message));
  if (!host_.has(id)) return forward(std::move(message), id, header.youngest);
  message->hops = 0;
  sender_.send(sender_.me, std::move(message));
}

// --- waiting ---------------------------------------------------------------------------------------------------------

// At home, for an element that doesn't exist (yet). Quiescence does not wait for it: a program may make the element
// after that. What is on its way to make the element, or to say that it is made elsewhere, is counted itself.
void ArrayRouting::wait_for(std::uint64_t id, Message message) {
  const int entry = message->entry, source = message->source;
  const CkArrayIndex index = ElementIds::index_in(message);
  auto& queue = waiting_[id];
  const auto makes = [this](const Message& m) { return host_.makes_element(m); };
  const bool first = makes(message) && std::none_of(queue.begin(), queue.end(), makes);
  queue.push_back(std::move(message));
  if (first) host_.make_element(entry, source, index);
}

void ArrayRouting::requeue_waiting(std::uint64_t id) {
  auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  std::vector<Message> messages = std::move(found->second);
  waiting_.erase(found);
  // Those of the runtime's own were counted when they began to wait.
  for (const Message& message : messages)
    if (message->target != Target::runtime) host_.count_kept(message);
  // Through the queue: the caller may be in the middle of something.
  host_.requeue(std::move(messages));
}

// --- news of places --------------------------------------------------------------------------------------------------

void ArrayRouting::on_hint(const Place& hint) {
  if (location_.here(hint.id) || hint.pe == sender_.me) return;
  if (hint.age.unconfirmed()) return location_.doubt(hint.id, hint.pe);
  if (location_.learn(hint.id, hint.pe, hint.age, true, hint.home)) release_waiting(hint.id);
}

void ArrayRouting::tell_homes(News<Place>& arrivals) { arrivals.send(sender_, entry_moved, collection_); }

// --- orders ----------------------------------------------------------------------------------------------------------

// With the index, as others may not have met it yet.
Message ArrayRouting::order_message(Order what, CkArrayID array, std::uint64_t id, const OrderCall& order) {
  return runtime_message({bytes_of(order)}, what == Order::migrate ? entry_migrate : entry_destroy,
                         static_cast<std::uint32_t>(array.index()), id);
}

void ArrayRouting::order_migration_later(std::uint64_t id, const CkArrayIndex& index, int to) {
  sender_.send(sender_.me, entry_migrate, collection_, id, OrderCall{index, to});
}

void ArrayRouting::order(Order what, std::uint64_t id, OrderCall order) {
  if (host_.has(id)) return what == Order::migrate ? host_.migrate_element(id, order.to, 0) : host_.destroy_element(id);
  int next = destination(id, order.index);
  if (asks_home(++order.hops) && next != sender_.me) next = location_.home(order.index);
  sender_.send(next, what == Order::migrate ? entry_migrate : entry_destroy, collection_, id, order);
}

void ArrayRouting::on_order(const Delivery& call) {
  const OrderCall ordered = call.read<OrderCall>();
  const Order what = call.entry == entry_migrate ? Order::migrate : Order::destroy;
  const std::uint64_t id = ElementIds::id_of(ordered.index);
  if (!host_.has(id) && destination(id, ordered.index) == sender_.me) {
    if (location_.here(id))  // what it is bound to: it is on its way
      wait_until_known(id, order_message(what, host_.id(), id, ordered));
    return;  // else it is gone
  }
  order(what, id, ordered);
}

}  // namespace periapt
