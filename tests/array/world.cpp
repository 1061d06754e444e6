// See world.h.
#include "tests/array/world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "runtime/array/element_ids.h"
#include "runtime/registry/runtime_message.h"

namespace periapt::test {

namespace {
struct Ends {  // of the numbers of each protocol's entries
  int location, routing, broadcasts;
};
const Ends& ends() {
  static const Ends all = [] {
    Location::register_entries(nullptr);
    const int location = register_runtime_entry("", nullptr);
    ArrayRouting::register_entries(nullptr);
    const int routing = register_runtime_entry("", nullptr);
    ArrayBroadcasts::register_entries(nullptr);
    return Ends{location, routing, register_runtime_entry("", nullptr)};
  }();
  return all;
}

struct BroadcastContent {
  int from, serial;
};
template <class Content>
Message message_to(Target target, int entry, int collection, std::uint64_t id, int source, const Content& content) {
  Message message = Message::make(sizeof content);
  std::memcpy(message.payload(), &content, sizeof content);
  message->target = target;
  message->entry = static_cast<std::uint16_t>(entry);
  message->collection = static_cast<std::uint32_t>(collection);
  message->element = id;
  message->source = source;
  return message;
}
}  // namespace

// --- the part of an array on a PE ------------------------------------------------------------------------------------

Host::Host(World& world, int pe, int array, Location& location)
    : world(world),
      pe(pe),
      array(array),
      collection(World::first_collection + array),
      elements(0),
      routing(*this, world.port(pe), location, collection),
      broadcasts(*this, world.port(pe), collection, elements, location) {}

void Host::set_age(std::uint64_t id, Age age) {
  if (!has(id)) return;
  find(id).age = age;
  if (!age.unconfirmed()) world.note_place(id, age, pe);
}

void Host::migrate_element(std::uint64_t id, int to, std::uint32_t follows) {
  Location& location = world.location(pe);
  if (!follows && age_of(id).unconfirmed())
    return location.has_claim(id) ? location.set_pending_migration(id, to)
                                  : location.rejoin(*this, id, index_of(id), 0);
  if (to != pe) world.depart(*this, id, to, follows);
}

void Host::destroy_element(std::uint64_t id) {
  Element& element = find(id);
  const Age age = element.age;
  const CkArrayIndex index = index_of(id);
  broadcasts.removing(&element);
  elements.remove(&element);
  // An order that is under way may be for the next life.
  world.truth(array, element.index) = {false, false, true, -1};
  owned.erase(id);
  broadcasts.died(id);
  world.location(pe).died(id, index, age);
}

void Host::give(ArrayElement* given, const Message& message) {
  auto& element = static_cast<Element&>(*given);
  EXPECT_EQ(message->element, element.seen + 1)
      << "element " << element.index << " missed a broadcast, or got it twice";
  element.seen = static_cast<std::uint32_t>(message->element);
  BroadcastContent content;
  std::memcpy(&content, message.payload(), sizeof content);
  const auto [last, first] = element.heard.try_emplace(content.from, content.serial);
  if (!first) {
    EXPECT_EQ(content.serial, std::exchange(last->second, content.serial) + 1) << "out of order";
  }
  world.stir(*this, element.ckGetID());
}

bool Host::makes_element(const Message& message) const {
  return message->target == Target::array && ElementIds::index_in(message).index[0] >= world.options_.indices;
}
void Host::make_element(int, int source, const CkArrayIndex& index) {
  const int number = index.index[0];
  world.insert(array, number, number % 2 ? source : pe);
}

void Host::requeue(std::vector<Message>&& messages) {
  std::deque<Message>& front = world.at(pe).front;
  for (auto message = messages.rbegin(); message != messages.rend(); ++message) front.push_front(std::move(*message));
}

void Host::send_to_all(Message message) {
  for (int to = 0; to < world.options_.pes; ++to) world.port(pe).send(to, message.share());
}

void Host::refuse_second(const CkArrayIndex& index, int first) const { throw Refused{index.index[0], first, pe}; }
void Host::refuse_circle(const Message& message) const {
  ADD_FAILURE() << "a message for element " << chare::index_of(message->element).index[0] << " goes in a circle";
  throw Refused{};
}

// --- the world -------------------------------------------------------------------------------------------------------

World::World(const Options& options)
    : options_(options),
      chance_(options.seed),
      network_(options.pes, chance_),
      pes_(static_cast<std::size_t>(options.pes)),
      broadcasts_(static_cast<std::size_t>(options.arrays)) {
  ends();
  for (PePart& part : pes_) part.waiting.resize(static_cast<std::size_t>(options.arrays));
  network_.on_packet = [this](int pe, Packet packet) {
    const bool late = packet.call.target == Target::broadcast && packet.call.element != 0 && pick(4) == 0;
    late ? at(pe).late.push_back(std::move(packet)) : take(pe, std::move(packet));
  };
}
World::~World() = default;

void World::make(int pe) {
  PePart& part = at(pe);
  const std::size_t array = part.hosts.size();
  if (array == static_cast<std::size_t>(options_.arrays)) return;
  if (!part.location) part.location.emplace(port(pe), *this);
  part.hosts.push_back(std::make_unique<Host>(*this, pe, static_cast<int>(array), *part.location));
  part.location->bound.push_back(part.hosts.back().get());
  for (Packet& packet : std::exchange(part.waiting[array], {})) take(pe, std::move(packet));
}
void World::make_everywhere() {
  for (int array = 0; array < options_.arrays; ++array)
    for (int pe = 0; pe < options_.pes; ++pe) make(pe);
}

bool World::insert(int array, int index, int pe) {
  Truth& one = truth(array, index);
  if (one.exists) return false;
  one.exists = true;
  insert_again(array, index, pe);
  return true;
}
void World::insert_again(int array, int index, int pe) {
  port(pe).send(pe, insert_entry, first_collection + array, id_of(index), index);
}

bool World::order_migration(int array, int index, int from, int to) {
  Truth& one = truth(array, index);
  if (!one.exists || !made(from, array)) return false;
  // Of two orders that are under way either may come last; and one to an element that its home has not heard of is
  // lost.
  const bool arrives = one.known || place_of(array, index) == from;
  one.goal = !std::exchange(one.ordered, true) && arrives ? to : -1;
  host(from, array).order_migration(id_of(index), CkArrayIndex1D(index), to);
  flush(from);
  return true;
}
bool World::order_destruction(int array, int index, int from) {
  Truth& one = truth(array, index);
  if (!one.exists || !made(from, array)) return false;
  host(from, array).routing.order(ArrayRouting::Order::destroy, id_of(index), CkArrayIndex1D(index), 0);
  flush(from);
  return true;
}

int World::call(int array, int index, int from) {
  const int number = static_cast<int>(calls_.size());
  calls_.push_back({array, index, from});
  const std::uint64_t id = id_of(index);
  Message message = message_to(Target::array, call_entry, first_collection + array, id, from, number);
  if (!made(from, array)) {
    at(from).waiting[static_cast<std::size_t>(array)].push_back({Delivery(std::move(message)), {}});
    return number;
  }
  Host& here = host(from, array);
  const int to = here.has(id) ? from : here.routing.destination(id, CkArrayIndex1D(index));
  port(from).send(to, std::move(message));
  return number;
}

void World::broadcast(int array, int from) {
  const BroadcastContent content{from, broadcasts_of_[{array, from}]++};
  Message message = message_to(Target::broadcast, broadcast_entry, first_collection + array, 0, from, content);
  ++broadcasts_[static_cast<std::size_t>(array)];
  if (made(from, array)) return host(from, array).broadcasts.send(std::move(message));
  if (from != 0) return port(from).send(0, std::move(message));
  at(0).waiting[static_cast<std::size_t>(array)].push_back({Delivery(std::move(message)), {}});
}

void World::disturb(int calls, int broadcasts, int deaths) {
  const int array = pick(options_.arrays), index = pick(options_.indices), pe = pick(options_.pes);
  const int what = pick(100);
  if (what < calls) {
    call(array, pick(2 * options_.indices), pe);
  } else if (what < calls + broadcasts) {
    broadcast(array, pe);
  } else if (what < calls + broadcasts + deaths) {
    order_destruction(array, index, pe);
  } else if (!insert(array, index, pe)) {
    order_migration(array, index, pe, pick(options_.pes));
  }
}

bool World::step() {
  for (int pe = 0; pe < options_.pes; ++pe) flush(pe);
  const int pe = pick(options_.pes);
  std::deque<Packet>& late = at(pe).late;
  if (!late.empty() && pick(4) == 0) {
    Packet packet = std::move(late[static_cast<std::size_t>(pick(static_cast<int>(late.size())))]);
    late.erase(std::find_if(late.begin(), late.end(), [](const Packet& p) { return !p.call.message; }));
    take(pe, std::move(packet));
    return true;
  }
  if (network_.step()) return true;
  return std::any_of(pes_.begin(), pes_.end(), [](const PePart& part) { return !part.late.empty(); });
}
void World::drain() {
  while (step() && !testing::Test::HasFailure()) continue;
  for (auto& [_, one] : truth_) one.known = one.exists, one.ordered = false;
}

// --- what comes to a PE ----------------------------------------------------------------------------------------------

void World::take(int pe, Packet packet) {
  dispatch(pe, std::move(packet));
  flush(pe);
}
void World::flush(int pe) {
  std::deque<Message>& front = at(pe).front;
  while (!front.empty()) {
    Message message = std::move(front.front());
    front.pop_front();
    dispatch(pe, {Delivery(std::move(message)), {}});
  }
}

void World::dispatch(int pe, Packet packet) {
  const auto array = static_cast<std::size_t>(packet.call.collection) - first_collection;
  if (!made(pe, static_cast<int>(array))) return at(pe).waiting[array].push_back(std::move(packet));
  Host& here = *at(pe).hosts[array];
  if (packet.call.target == Target::array) return deliver_call(here, std::move(packet.call.message));
  if (packet.call.target == Target::broadcast) return here.broadcasts.deliver(std::move(packet.call.message));
  if (packet.call.entry == arrive_entry) return arrive(pe, std::move(packet));
  Delivery& call = packet.deliver();
  if (call.entry == insert_entry) return create(here, call.read<int>());
  to_protocol(here, call);
}
void World::to_protocol(Host& here, Delivery& call) {
  if (call.entry < ends().location) return location(here.pe).receive(call);
  if (call.entry < ends().routing) return here.routing.receive(call);
  ASSERT_LT(call.entry, ends().broadcasts);
  here.broadcasts.receive(call);
}

void World::deliver_call(Host& here, Message message) {
  const std::uint64_t id = message->element;
  if (here.has(id) && flights_ > 0) {
    --flights_;
    here.migrate_element(id, (here.pe + 1 + pick(options_.pes - 1)) % options_.pes, 0);
  }
  if (!here.has(id)) return here.routing.forward(std::move(message), id);
  int number;
  std::memcpy(&number, message.payload(), sizeof number);
  Call& one = calls_[static_cast<std::size_t>(number)];
  EXPECT_EQ(id_of(one.index), id);
  EXPECT_EQ(one.array, here.array);
  ++one.delivered;
  one.hops = message->hops;
  stir(here, id);
}

// --- elements --------------------------------------------------------------------------------------------------------

void World::note_place(std::uint64_t id, Age age, int pe) { places_[{id, age.life, age.migrations}] = pe; }

void World::create(Host& here, int index) {
  const std::uint64_t id = id_of(index);
  if (here.has(id)) here.refuse_second(CkArrayIndex1D(index), here.pe);
  const Age age = location(here.pe).birth(here, id, CkArrayIndex1D(index), false);
  next_element = id;
  Element& element = *(here.owned[id] = std::make_unique<Element>(here.array, index));
  here.elements.add(&element, &element);
  here.set_age(id, age);
  here.broadcasts.born(&element);
  element.seen = ArrayBroadcasts::seen_by(&element);
  here.routing.release_waiting(id);
}

// Something that elements do when they run, to themselves or to others.
void World::stir(Host& here, std::uint64_t id) {
  if (!options_.restless || pick(6) != 0) return;
  const std::vector<ArrayElement*>& all = here.elements.all();
  if (pick(2)) id = all[static_cast<std::size_t>(pick(static_cast<int>(all.size())))]->ckGetID();
  const int index = here.find(id).index;
  switch (pick(4)) {
    case 0:
      return static_cast<void>(insert(here.array, pick(options_.indices), here.pe));
    case 1:
      if (pick(3) == 0) return here.destroy_element(id);
      break;
    default:
      break;
  }
  truth(here.array, index).ordered = true;
  truth(here.array, index).goal = -1;
  here.migrate_element(id, pick(options_.pes), 0);
}

void World::leave(Host& here, Element& element, Age age, Travellers& travellers) {
  const std::uint64_t id = element.ckGetID();
  here.broadcasts.removing(&element);
  here.elements.remove(&element);
  here.broadcasts.left(&element, age);
  travellers.push_back(std::move(here.owned.at(id)));
  here.owned.erase(id);
}

void World::depart(Host& here, std::uint64_t id, int to, std::uint32_t follows) {
  Location& where = location(here.pe);
  const CkArrayIndex index = here.index_of(id);
  const Age before = here.age_of(id);
  const Location::Hint* followed = follows ? where.find(id) : nullptr;
  Journey journey{here.pe, 0, follows, followed ? followed->age : Age{before.life, before.migrations + 1}, 0};
  journey.travellers = static_cast<std::int32_t>(travellers_.size());
  Travellers& travellers = travellers_.emplace_back();
  for (const auto& host : at(here.pe).hosts)
    if (host->has(id)) journey.members |= 1 << host->array, leave(*host, host->find(id), journey.age, travellers);
  const bool with_others = !follows && options_.restless && pick(2);
  if (with_others) {  // as one of a batch: what is sent to it meanwhile waits
    where.prepare_departure(id, journey.age, home(index));
    call(here.array, index.index[0], here.pe);
    where.set_out(id, to);
  } else if (!follows) {
    where.learn(id, to, journey.age, false, home(index));
  }
  where.release_waiting(id);
  port(here.pe).send(to, arrive_entry, first_collection, id, journey);
}

void World::arrive(int pe, Packet packet) {
  const std::uint64_t id = packet.call.element;
  const auto journey = packet.deliver().read<Journey>();
  const CkArrayIndex index = chare::index_of(id);
  for (int array = 0; array < options_.arrays; ++array) {
    if (!(journey.members >> array & 1) || made(pe, array)) continue;
    if (!journey.follows) location(pe).learn(id, pe, journey.age, false, home(index));
    return at(pe).waiting[static_cast<std::size_t>(array)].push_back(std::move(packet));
  }
  if (!journey.follows) location(pe).forget(id);
  ArrayHost* const host_of_others = location(pe).here(id);
  for (const auto& host : at(pe).hosts) host->broadcasts.hold_acknowledgements();
  std::vector<Host*> arrived;
  for (auto& element : std::exchange(travellers_[static_cast<std::size_t>(journey.travellers)], {})) {
    Host& here = host(pe, element->array);
    if (here.has(id)) here.refuse_second(index, journey.from);
    here.elements.add(element.get(), element.get());
    here.owned[id] = std::move(element);
    here.set_age(id, journey.age);
    here.broadcasts.arrived(id, here.find(id).seen, journey.from, journey.age);
    arrived.push_back(&here);
  }
  journey.follows ? join_host(id, journey, host_of_others, arrived) : join(pe, id, journey, arrived);
  for (const auto& host : at(pe).hosts) host->broadcasts.release_acknowledgements();
}

void World::join(int pe, std::uint64_t id, const Journey& journey, const std::vector<Host*>& arrived) {
  const CkArrayIndex index = chare::index_of(id);
  const int pending = location(pe).joined(id, journey.age);
  News<ArrayRouting::Place> news;
  const int its_home = home(index);
  if (its_home != pe && its_home != journey.from) news.add(its_home, {id, journey.age, pe, its_home});
  for (Host* here : arrived) {
    here->routing.release_waiting(id);
    here->broadcasts.catch_up(id);
  }
  if (pending >= 0) host(pe, 0).order_migration(id, index, pending);
  host(pe, 0).routing.tell_homes(news);
}

void World::join_host(std::uint64_t id, const Journey& journey, ArrayHost* others, const std::vector<Host*>& arrived) {
  Location& where = location(arrived.front()->pe);
  if (!others) where.rejoin(*arrived.front(), id, chare::index_of(id), journey.follows);
  for (Host* here : arrived)
    if (others && here->has(id)) here->set_age(id, others->age_of(id));
  for (Host* here : arrived) {
    here->broadcasts.catch_up(id);
    here->routing.release_waiting(id);
  }
}

// --- the end ---------------------------------------------------------------------------------------------------------

int World::place_of(int array, int index) const {
  for (int pe = 0; pe < options_.pes; ++pe)
    for (const auto& host : at(pe).hosts)
      if (host->array == array && host->has(id_of(index))) return pe;
  return -1;
}

void World::come_to_an_end() {
  make_everywhere();
  drain();
  for (Call& one : calls_)
    if (one.delivered == 0) insert(one.array, one.index, pick(options_.pes));
  drain();
  for (int again = 0; again < 50 && std::any_of(calls_.begin(), calls_.end(), [](auto& c) { return !c.delivered; });
       ++again) {  // those that made the elements run may have had them die
    for (Call& one : calls_)
      if (one.delivered == 0) insert(one.array, one.index, pick(options_.pes));
    drain();
  }
  if (testing::Test::HasFailure()) return;
  check_places();
  check_calls();
  check_broadcasts();
}

void World::check_places() {
  std::uint64_t begun = 0, ended = 0;
  for (int pe = 0; pe < options_.pes; ++pe) {
    begun += port(pe).created;
    ended += port(pe).processed;
    for (const auto& host : at(pe).hosts) EXPECT_EQ(host->claims, 0) << "PE " << pe;
  }
  EXPECT_EQ(begun, ended) << "quiescence waits for something, or for too little";
  for (int index = 0; index < 2 * options_.indices; ++index) {
    const std::uint64_t id = id_of(index);
    SCOPED_TRACE("element " + std::to_string(index));
    int place = -1;
    Age age;
    for (int array = 0; array < options_.arrays; ++array) {
      const Truth& one = truth(array, index);
      const int pe = place_of(array, index);
      EXPECT_EQ(pe >= 0, one.exists) << "of array " << array;
      if (pe < 0) continue;
      if (one.goal >= 0 && options_.arrays == 1) {
        EXPECT_EQ(pe, one.goal) << "it has not gone where it was ordered to";
      }
      EXPECT_FALSE(host(pe, array).age_of(id).unconfirmed());
      EXPECT_FALSE(location(pe).has_claim(id));
      if (place >= 0) {
        EXPECT_EQ(pe, place) << "bound elements are apart";
        EXPECT_EQ(host(pe, array).age_of(id), age);
      }
      place = pe;
      age = host(pe, array).age_of(id);
    }
    check_record(id, index, place, age);
    for (int from = 0; from < options_.pes && place >= 0; ++from) check_way(id, from, place);
  }
}

void World::check_record(std::uint64_t id, int index, int place, Age age) {
  const int its_home = home(CkArrayIndex1D(index));
  const Location::Hint* record = location(its_home).find(id);
  if (place < 0 || place == its_home) {
    EXPECT_EQ(record, nullptr) << "the home, PE " << its_home << ", believes it on PE " << record->pe;
    return;
  }
  ASSERT_NE(record, nullptr) << "the home, PE " << its_home << ", knows nothing of it";
  EXPECT_EQ(record->pe, place);
  EXPECT_EQ(record->age, age);
}

// As a message goes: hints lead to it, or astray, where an old one has come late; then by way of the home.
void World::check_way(std::uint64_t id, int from, int to) {
  const CkArrayIndex index = chare::index_of(id);
  for (int pe = from, hops = 0; pe != to; ++hops) {
    ASSERT_LE(hops, 8 + 3 * options_.pes) << "from PE " << from;
    const Location::Hint* hint = location(pe).find(id);
    if (hint && hint->arrived) {  // (One that has died with its claim under way has got no age.)
      const auto known = places_.find({id, hint->age.life, hint->age.migrations});
      EXPECT_TRUE(known == places_.end() || known->second == hint->pe) << "it was never there";
    }
    if (!hint || ArrayRouting::asks_home(hops + 1)) {
      ASSERT_TRUE(hint || pe != home(index)) << "the home knows nothing";
      pe = pe == home(index) ? hint->pe : home(index);
    } else {
      pe = hint->pe;
    }
  }
}

void World::check_calls() {
  for (std::size_t number = 0; number < calls_.size(); ++number)
    EXPECT_EQ(calls_[number].delivered, 1)
        << "call " << number << " to element " << calls_[number].index << " of array " << calls_[number].array
        << " from PE " << calls_[number].from;
  for (int pe = 0; pe < options_.pes; ++pe)
    for (const auto& host : at(pe).hosts)
      for (const auto& [id, messages] :
           host->routing.waiting())  // orders to one that has died may wait for the next life
        for (const Message& message : messages) EXPECT_EQ(message->target, Target::runtime);
}

void World::check_broadcasts() {
  for (const PePart& part : pes_)
    for (const auto& host : part.hosts)
      for (const auto& [id, element] : host->owned)
        EXPECT_EQ(element->seen, broadcasts_[static_cast<std::size_t>(host->array)]) << "element " << element->index;
}

}  // namespace periapt::test
