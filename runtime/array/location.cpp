// See location.h.
#include "runtime/array/location.h"

#include <algorithm>

#include "base/fatal.h"
#include "runtime/array/array_manager.h"
#include "runtime/array/array_migration.h"
#include "runtime/array/news.h"
#include "runtime/objects/protocols.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
int entry_claim, entry_probe, entry_found, entry_settled, entry_gone, entry_is_known, entry_known;
// PEs that one goes after what it is bound to before it asks the home again.
constexpr std::uint32_t follows_max = 8;
}  // namespace

void Location::register_entries() {
  entry_claim = register_runtime_entry("an element claims its index", on_claim, ep_uncounted);
  entry_probe = register_runtime_entry("is an index taken", on_probe, ep_uncounted);
  entry_found = register_runtime_entry("whether an index is taken", on_found, ep_uncounted);
  entry_settled = register_runtime_entry("where an element belongs", on_settled);
  entry_gone = register_runtime_entry("element is gone", on_gone, ep_uncounted);
  entry_is_known = register_runtime_entry("may a hint be forgotten", on_is_known, ep_uncounted);
  entry_known = register_runtime_entry("whether a hint may be forgotten", on_known, ep_uncounted);
}

Location::Location(PeObjects& objects, const CkArrayOptions& options, CkArrayID array)
    : objects_(objects), pe_(objects.pe) {
  if (!options.getMap().isZero()) {
    map_ = static_cast<CkArrayMap*>(objects.group(options.getMap().idx).base);
    map_handle_ = map_->registerArray(options.getBounds(), array);
  } else {
    default_.emplace(options.getBounds(), objects.pe.process.pes());
  }
}

int Location::place(const CkArrayIndex& index) const {
  if (!map_) return default_->pe_of(index);
  const int pe = map_->procNum(map_handle_, index);
  const int pes = pe_.process.pes();
  if (pe < 0 || pe >= pes)
    fatal("a map put element " + index.toString() + " on PE " + std::to_string(pe) + " of " + std::to_string(pes),
          "procNum() of the array's map", "", "return a number from 0 to CkNumPes() - 1");
  return pe;
}

int Location::home(const CkArrayIndex& index) const {
  if (!map_) return default_->pe_of(index);
  return map_->homePe(map_handle_, index);
}

ArrayManager* Location::here(std::uint64_t id) const {
  for (ArrayManager* array : bound)
    if (array->find(id)) return array;
  return nullptr;
}

// --- hints -----------------------------------------------------------------------------------------------------------

bool Location::learn(std::uint64_t id, int pe, Age age, bool arrived, int home) {
  const Hint news{pe, age, static_cast<std::uint32_t>(home), arrived};
  auto [hint, made] = hints_.try_emplace(id, news);
  ++changes_;
  if (made) {
    if (home == pe_.index) return true;
    oldest_.push_back(id);
    make_room();
    return true;
  }
  if (!age.younger_than(hint->age)) return false;
  *hint = news;
  return true;
}

// Many at a time, as a message to a home is for all that it is asked about; and twice as many as have come since the
// last time.
void Location::make_room() {
  const std::size_t slack = hints_slack();
  if (oldest_.size() <= hints_kept + slack) return;
  News<Known> questions;
  for (std::size_t i = 0; i < 2 * (slack + 1) && oldest_.size() > hints_kept; ++i) {
    const std::uint64_t id = oldest_.front();
    oldest_.pop_front();
    if (const Hint* hint = find(id)) questions.add(static_cast<int>(hint->home), {id, hint->age, pe_.index, 0});
  }
  questions.send(*objects_.protocols, entry_is_known, collection());
}

// As a home: nothing younger than what is known here will be found by a hint of that age.
bool Location::knows(std::uint64_t id, Age age) const {
  if (ArrayManager* array = here(id)) {
    const Age own = array->age_of(array->find(id));
    if (!own.unsettled()) return !age.younger_than(own);
  }
  const Hint* record = find(id);
  return !record || !age.younger_than(record->age);  // without a record it has died
}

std::size_t Location::hints_of_others() const {
  std::size_t count = 0;
  hints_.for_each([&](std::uint64_t, const Hint& hint) { count += static_cast<int>(hint.home) != pe_.index; });
  return count;
}

// One that has come home is known there from now on.
void Location::confirm(std::uint64_t id, Age age) {
  Hint* hint = hints_.find(id);
  if (!hint || !(hint->age == age)) return;
  if (hint->pe == static_cast<std::int32_t>(hint->home)) return forget(id);
  hint->arrived = true;
}

void Location::set_out(std::uint64_t id, int to) {
  Hint* hint = hints_.find(id);
  if (hint && hint->pe == pe_.index) hint->pe = to;
  ++changes_;
}

// Without a record it has come here meanwhile, or has died.
void Location::moved(std::uint64_t id, int pe, Age age) {
  if (!find(id)) return;
  learn(id, pe, age, true, pe_.index);
  release_waiting(id);
}

void Location::release_waiting(std::uint64_t id) {
  for (ArrayManager* array : bound) array->routing().release_waiting(id);
}

// --- births and deaths: where the element is -------------------------------------------------------------------------

Age Location::birth(ArrayManager& array, std::uint64_t id, const CkArrayIndex& index, bool at_home) {
  if (bound.size() > 1)
    if (ArrayManager* other = here(id)) return other->age_of(other->find(id));
  const bool home_here = at_home || home(index) == pe_.index;
  if (home_here && !find(id) && !is_claimed(id)) return {deaths_, 0};
  if (!home_here) forget(id);
  claim(array, id, index);
  return {};
}

Age Location::begin_life(std::uint64_t id, int pe) {
  const Age age{deaths_, 0};
  if (pe != pe_.index) learn(id, pe, age, true, pe_.index);
  release_waiting(id);
  return age;
}

void Location::claim(ArrayManager& array, std::uint64_t id, const CkArrayIndex& index) {
  set_age(id, {});
  const Claim claim{index, array.id().index(), pe_.index, ++claims_made_};
  unsettled_[id] = {claim.serial, -1, &array};
  pe_.begin_pending();
  if (objects_.balance) ++objects_.balance->elements_sent;
  // Always as a message: the element is not made yet.
  tell(home(index), entry_claim, id, claim);
}

void Location::rejoin(ArrayManager& array, std::uint64_t id, const CkArrayIndex& index, std::uint32_t follows) {
  const Hint* hint = find(id);
  if (hint && hint->pe != pe_.index && follows < follows_max) {
    migrate(array, array.find(id), hint->pe, follows + 1);
  } else {
    claim(array, id, index);
  }
}

void Location::set_age(std::uint64_t id, Age age) {
  for (ArrayManager* array : bound)
    if (ArrayElement* element = array->find(id)) array->set_age(element, age);
}

void Location::wish(std::uint64_t id, int to) {
  Unsettled& one = unsettled_.at(id);
  if (to == pe_.index) to = -1;
  if (one.wish < 0 && to >= 0) pe_.begin_pending();
  if (one.wish >= 0 && to < 0) pe_.end_pending();
  one.wish = to;
}

// It is no longer unsettled. Returns its wish.
int Location::close(std::uint64_t id) {
  auto found = unsettled_.find(id);
  const int wish = found->second.wish;
  unsettled_.erase(found);
  if (wish >= 0) pe_.end_pending();
  if (objects_.balance) ++objects_.balance->elements_received;
  return wish;
}

int Location::joined(std::uint64_t id, Age age) {
  set_age(id, age);
  return unsettled_.count(id) ? close(id) : -1;
}

void Location::settle(std::uint64_t id, const Settled& settled) {
  auto found = unsettled_.find(id);
  if (found == unsettled_.end() || found->second.serial != settled.serial) {
    // It has been joined, or has died: a life that was to begin here is given back.
    if (settled.what == Answer::begins && settled.home != pe_.index)
      tell(settled.home, entry_gone, id, Gone{settled.age, pe_.index, 0});
    return;
  }
  // (One that was joined and has moved on is taken for a second one there: it is not unsettled here any more.)
  const ArrayManager& claimant = *found->second.array;
  if (settled.what == Answer::taken) refuse_second(claimant, here(id)->index_of(id), settled.pe);
  const int wish = close(id);
  ArrayManager* array = here(id);
  if (settled.what == Answer::begins) {
    set_age(id, settled.age);
    if (wish >= 0) migrate(*array, array->find(id), wish);
    return;
  }
  const CkArrayIndex index = array->index_of(id);
  learn(id, settled.pe, settled.age, true, settled.home);
  migrate(*array, array->find(id), settled.pe, 1);
  if (wish >= 0) ArrayRouting::order_migration(array->id(), id, index, wish);
}

void Location::died(std::uint64_t id, const CkArrayIndex& index, Age age) {
  if (here(id)) return;  // what it was bound to remains
  Gone news{age, pe_.index, 0};
  if (age.unsettled()) {
    news.serial = unsettled_.at(id).serial;
    close(id);
  }
  const int to = home(index);
  if (to == pe_.index && !age.unsettled()) return gone(id, news);
  tell(to, entry_gone, id, news);  // behind its claim
}

// --- births and deaths: at home --------------------------------------------------------------------------------------

// The first claim of an index, and those behind it as long as there is an answer.
void Location::consider(std::uint64_t id) {
  for (auto list = claims_.find(id); list != claims_.end(); list = claims_.find(id)) {
    if (list->second.empty()) {
      claims_.erase(list);
      return;
    }
    const Claim claim = list->second.front();
    ArrayManager* array = here(id);
    const Age age = array ? array->age_of(array->find(id)) : Age();
    if (!age.unsettled()) {
      answer(id, taken(id, claim) ? Answer::taken : Answer::joins, pe_.index, age);
    } else if (const Hint* record = find(id)) {
      return tell(record->pe, entry_probe, id, Probe{claim, record->age.life});
    } else {
      answer(id, Answer::begins, claim.pe, {deaths_, 0});
    }
  }
}

// To the first claim.
void Location::answer(std::uint64_t id, Answer what, int pe, Age age) {
  std::deque<Claim>& list = claims_.at(id);
  const Claim claim = list.front();
  list.pop_front();
  if (what == Answer::begins && pe != pe_.index) learn(id, pe, age, true, pe_.index);
  pe_.end_pending();  // of the claim: perhaps on another PE than it began
  const Settled settled{what, claim.serial, pe, pe_.index, age};
  if (claim.pe == pe_.index) {
    settle(id, settled);  // at once: the next claim is looked at with this one settled
  } else {
    tell(claim.pe, entry_settled, id, settled);
  }
  release_waiting(id);
}

void Location::gone(std::uint64_t id, const Gone& gone) {
  if (gone.age.unsettled()) return withdraw(id, gone);
  const Hint* record = find(id);
  if (gone.pe != pe_.index && (!record || record->age.life != gone.age.life)) return;
  forget(id);
  ++deaths_;
  consider(id);
}
void Location::withdraw(std::uint64_t id, const Gone& gone) {
  auto list = claims_.find(id);
  if (list == claims_.end()) return;
  auto claim = std::find_if(list->second.begin(), list->second.end(),
                            [&](const Claim& c) { return c.pe == gone.pe && c.serial == gone.serial; });
  if (claim == list->second.end()) return;  // answered meanwhile
  const bool first = claim == list->second.begin();
  list->second.erase(claim);
  pe_.end_pending();
  if (first) consider(id);
}

bool Location::taken(std::uint64_t id, const Claim& claim) const {
  ArrayPart* array = objects_.array(CkArrayID(CkGroupID{claim.array}));
  return claim.pe != pe_.index && array && array->has(id);
}
void Location::refuse_second(const ArrayManager& array, const CkArrayIndex& index, int first) const {
  fatal("element " + std::string(registry().chares[array.type()].name) + index.toString() +
            " is inserted twice: on PE " + std::to_string(first) + " and on PE " + std::to_string(pe_.index),
        describe_running(pe_), "two insertions of one index, or one of an index that the array was made with",
        "insert it once, or destroy the first element before");
}

// --- messages --------------------------------------------------------------------------------------------------------

int Location::collection() const { return bound.front()->id().index(); }

template <class T>
void Location::tell(int pe, int entry, std::uint64_t id, const T& what) {
  objects_.protocols->send(pe, entry, collection(), id, what);
}
Location* Location::of(Pe& pe, Delivery& call) {
  ArrayManager* array = ArrayManager::of(pe, call);
  return array ? &array->location() : nullptr;
}

void Location::on_claim(Pe& pe, Delivery& call) {
  Location* self = of(pe, call);
  if (!self) return;
  const Claim claim = call.read<Claim>();
  std::deque<Claim>& list = self->claims_[call.element];
  list.push_back(claim);
  if (list.size() == 1) self->consider(call.element);
}

// On the PE of a record: is it there? One that is still unsettled here is another one: its claim waits behind this.
void Location::on_probe(Pe& pe, Delivery& call) {
  Location* self = of(pe, call);
  if (!self) return;
  const Probe probe = call.read<Probe>();
  Found found{probe.claim.pe, probe.claim.serial, -1, false, {}};
  ArrayManager* array = self->here(call.element);
  const Age age = array ? array->age_of(array->find(call.element)) : Age();
  if (!age.unsettled() && age.life == probe.life) {
    found.pe = pe.index;
    found.taken = self->taken(call.element, probe.claim);
    found.age = age;
  }
  self->tell(self->home(probe.claim.index), entry_found, call.element, found);
}

// Not there: it has moved on or died, and the news of that has come before this answer or is on its way.
void Location::on_found(Pe& pe, Delivery& call) {
  Location* self = of(pe, call);
  if (!self) return;
  const Found found = call.read<Found>();
  const std::uint64_t id = call.element;
  auto list = self->claims_.find(id);
  if (list == self->claims_.end() || list->second.empty()) return;
  const Claim& claim = list->second.front();
  if (claim.pe != found.claimant || claim.serial != found.serial) return;  // withdrawn
  if (found.pe >= 0 && self->find(id))
    self->answer(id, found.taken ? Answer::taken : Answer::joins, found.pe, found.age);
  self->consider(id);
}

void Location::on_settled(Pe& pe, Delivery& call) {
  Location* self = of(pe, call);
  if (!self) return;
  self->settle(call.element, call.read<Settled>());
}

void Location::on_gone(Pe& pe, Delivery& call) {
  if (Location* self = of(pe, call)) self->gone(call.element, call.read<Gone>());
}

void Location::on_is_known(Pe& pe, Delivery& call) {
  Location* self = of(pe, call);
  if (!self) return;
  News<Known> answers;
  for_each_item<Known>(call, [&](Known question) {
    question.known = self->knows(question.id, question.age);
    answers.add(question.asker, question);
  });
  answers.send(*pe.objects->protocols, entry_known, self->collection());
}

void Location::on_known(Pe& pe, Delivery& call) {
  Location* self = of(pe, call);
  if (!self) return;
  for_each_item<Known>(call, [&](const Known& answer) { self->heard_known(answer); });
}

void Location::heard_known(const Known& answer) {
  const Hint* hint = find(answer.id);
  if (!hint || static_cast<int>(hint->home) == pe_.index) return;
  // (One that says "here" keeps what is sent to an element that has come, but cannot be made yet.)
  if (answer.known && hint->age == answer.age && hint->pe != pe_.index)
    forget(answer.id);
  else
    oldest_.push_back(answer.id);
}

}  // namespace periapt
